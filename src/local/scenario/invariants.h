// Invariants: what must hold in every run, whatever the scenario says (ARCHITECTURE.md, "Invariants").
// Checked on the recording alone, so that they do not share a mistake with the programs that they watch.
#pragma once

#include <string>
#include <vector>

#include "local/scenario/recording.h"

namespace mainstay::local {

struct Violation {
  TimePoint at{};
  std::string rule;  // "acts only within limits"
  std::string what;  // what was seen
};

// `controllerRuns`: at the end of the recording; a dead controller forgets nothing, it only has not seen it
// yet.
std::vector<Violation> checkInvariants(const Recording& recording, bool controllerRuns);

}  // namespace mainstay::local
