// What the node agents leave on a Node: conditions and findings. Taken off when Mainstay is uninstalled. Pure.
#pragma once

#include <optional>

#include "base/json.h"

namespace mainstay::recovery {

// The strategic merge patch of the node's status that takes them off; nullopt when there are none. A condition that
// another field manager has written too stays.
std::optional<Json> withoutAgentTraces(const Json& node);

}  // namespace mainstay::recovery
