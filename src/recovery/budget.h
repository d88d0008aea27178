// Budget: how many nodes of a policy may be isolated, in recovery, and begun within an hour. Counts what is
// taken in the policies' status, and what the plan in the making takes.
#pragma once

#include <map>
#include <set>
#include <string>

#include "recovery/fleet.h"

namespace mainstay::recovery {

// Without spec.limits.perHour: a policy of the first day is carried out one node an hour, so that a mistake
// in it is seen before it has eaten a fleet; later as many as the design's example has.
inline constexpr Duration kYoungPolicy = std::chrono::hours(24);
inline constexpr int kPerHourWhileYoung = 1;
inline constexpr int kPerHourLater = 4;

class Budget {
 public:
  Budget(const Fleet& fleet, const FleetIndex& index, TimePoint now);

  bool holds(const std::string& policy, const std::string& incident, api::Slot slot) const;
  // Takes the place and returns ""; else what it waits for, in a sentence. Holding it already is taking it.
  std::string take(const api::RecoveryPolicy& policy, const api::NodeRecovery& incident, api::Slot slot);
  // How many of a slot the policy allows now.
  int limit(const api::RecoveryPolicy& policy, api::Slot slot) const;
  // When the hourly limit that has held somebody will let go; kNever when it held nobody.
  TimePoint wake() const { return wake_; }

 private:
  struct Places {
    std::map<std::string, std::string> byIncident;  // incident -> node
  };
  std::string hourly(const api::RecoveryPolicy& policy, const std::string& incident);

  const FleetIndex& index_;
  const TimePoint now_;
  std::map<std::pair<std::string, api::Slot>, Places> taken_;  // by policy and slot
  std::map<std::string, std::map<std::string, TimePoint>>
      begun_;  // by policy, then incident: within the last hour
  TimePoint wake_ = kNever;
};

}  // namespace mainstay::recovery
