// What the API server fills in before an object is stored: the defaults of the built-in kinds, and which part
// of an object a request through the main resource or through its status may change. Pure.
#pragma once

#include <string>

#include "local/api/discovery.h"

namespace mainstay::local {

// Gives a new object of a built-in kind its defaults and its first status. The name is known.
void applyCreateDefaults(const Kind& kind, Json& object);

// Takes back from `after` what a request through `subresource` ("" or "status") may not change. Of built-in
// kinds, also a request to the status may change labels and annotations (the agent's findings travel so); of
// custom kinds it may not.
void restrictToScope(const Kind& kind, const std::string& subresource, const Json& before, Json& after);

// May it be replaced without saying which version was read?
bool mayBeReplacedBlindly(const Kind& kind);

// Do objects of this kind count their generations?
bool countsGenerations(const Kind& kind);
// Does the difference make a new generation? REQUIRES: countsGenerations(kind).
bool isNewGeneration(const Kind& kind, const Json& before, const Json& after);

}  // namespace mainstay::local
