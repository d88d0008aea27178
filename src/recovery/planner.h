// The recovery planner: pure. What is to be done about the nodes of a fleet, now, and when to look again.
#pragma once

#include <vector>

#include "recovery/fleet.h"
#include "recovery/steps.h"

namespace mainstay::recovery {

// Closed incidents are kept at least this long; the last of a node that still exists for as long as it
// exists.
inline constexpr Duration kKeepClosed = std::chrono::hours(24);

struct Plan {
  std::vector<Step> steps;
  TimePoint wake = kNever;  // when time alone makes something due
};

Plan plan(const Fleet& fleet, TimePoint now);

}  // namespace mainstay::recovery
