// The life of an incident: its phases and the only ways between them, as a table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/node_recovery.h"

namespace mainstay::recovery {

// NodeRecovery.status.outcome of a node that a person called healthy.
inline constexpr char kReleased[] = "Released";

struct Way {
  api::Phase from;
  api::Phase to;
  std::string_view when;
};

std::span<const Way> lifeCycle();
// A status may also be rewritten within its phase.
bool allowed(api::Phase from, api::Phase to);

// The transitions that `next` adds to those of `present` lead from its phase to that of `next`, each by a way of the table.
bool follows(const api::NodeRecoveryStatus& present, const api::NodeRecoveryStatus& next);

// Enters `to`: records the transition with its reason, begins its time, and sets its deadline. An end sets
// `closed` and adds up the time per phase. False, and nothing changed, when there is no such way.
bool enter(api::NodeRecoveryStatus& status, api::Phase to, std::string reason, TimePoint now,
           std::optional<TimePoint> deadline = std::nullopt);

}  // namespace mainstay::recovery
