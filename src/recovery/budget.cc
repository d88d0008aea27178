#include "recovery/budget.h"

#include <algorithm>

namespace mainstay::recovery {
namespace {

constexpr Duration kHour = std::chrono::hours(1);
// Names of nodes that a sentence lists.
constexpr std::size_t kNamesInText = 3;

std::string someNames(const std::map<std::string, std::string>& byIncident) {
  std::string text;
  std::size_t count = 0;
  for (const auto& [incident, node] : byIncident) {
    if (count == kNamesInText) {
      return text + " and others";
    }
    text += (count++ == 0 ? "" : ", ") + node;
  }
  return text;
}

int hourlyLimit(const api::RecoveryPolicy& policy, TimePoint now) {
  const bool young = now - policy.meta.created < kYoungPolicy;
  return policy.perHour.value_or(young ? kPerHourWhileYoung : kPerHourLater);
}

}  // namespace

Budget::Budget(const Fleet& fleet, const FleetIndex& index, TimePoint now) : index_(index), now_(now) {
  const auto begin = [&](const std::string& policy, const std::string& incident, TimePoint at) {
    if (at + kHour > now_) {
      begun_[policy].emplace(incident, at);
    }
  };
  for (const auto& [name, policy] : fleet.policies) {
    for (const api::TakenSlot& taken : policy->active) {
      taken_[{name, taken.slot}].byIncident[taken.recovery] = taken.node;
      if (taken.slot == api::Slot::kInRecovery) {
        begin(name, taken.recovery, taken.since);
      }
    }
  }
  for (const auto& [name, incident] : fleet.incidents) {
    if (incident->status.started) {
      begin(incident->policy, name, *incident->status.started);
    }
  }
}

bool Budget::holds(const std::string& policy, const std::string& incident, api::Slot slot) const {
  const auto at = taken_.find({policy, slot});
  return at != taken_.end() && at->second.byIncident.contains(incident);
}

int Budget::limit(const api::RecoveryPolicy& policy, api::Slot slot) const {
  const api::Limit& limit = slot == api::Slot::kIsolated ? policy.isolated : policy.inRecovery;
  return limit.of(index_.governed(policy.meta.name));
}

std::string Budget::take(const api::RecoveryPolicy& policy, const api::NodeRecovery& incident,
                         api::Slot slot) {
  if (holds(policy.meta.name, incident.meta.name, slot)) {
    return "";
  }
  Places& places = taken_[{policy.meta.name, slot}];
  const int allowed = limit(policy, slot);
  if (static_cast<int>(places.byIncident.size()) >= allowed) {
    const std::string what = slot == api::Slot::kIsolated ? "isolated" : "in recovery";
    const std::string who = places.byIncident.empty() ? "" : " (now " + someNames(places.byIncident) + ")";
    return "waits for a place: policy " + policy.meta.name + " allows " + std::to_string(allowed) +
           " of its " + std::to_string(index_.governed(policy.meta.name)) + " nodes to be " + what + who;
  }
  if (slot == api::Slot::kInRecovery) {
    if (std::string wait = hourly(policy, incident.meta.name); !wait.empty()) {
      return wait;
    }
    begun_[policy.meta.name][incident.meta.name] = now_;
  }
  places.byIncident[incident.meta.name] = incident.node.name;
  return "";
}

std::string Budget::hourly(const api::RecoveryPolicy& policy, const std::string& incident) {
  const std::map<std::string, TimePoint>& begun = begun_[policy.meta.name];
  const int allowed = hourlyLimit(policy, now_);
  if (begun.contains(incident) || static_cast<int>(begun.size()) < allowed) {
    return "";
  }
  std::string text = "waits for its hour: policy " + policy.meta.name + " begins " + std::to_string(allowed) +
                     " recoveries an hour";
  if (!begun.empty()) {
    const auto oldest = std::ranges::min_element(begun, {}, [](const auto& entry) { return entry.second; });
    const TimePoint free = oldest->second + kHour;
    wake_ = std::min(wake_, free);
    text += "; the next place is free at " + formatTime(free);
  }
  return text;
}

}  // namespace mainstay::recovery
