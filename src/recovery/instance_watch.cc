#include "recovery/instance_watch.h"

#include <algorithm>

#include "api/names.h"
#include "recovery/replacement.h"

namespace mainstay::recovery {
namespace {

using api::Phase;

// A first answer comes at once; then the waits double from a quarter of a second, which a person does not
// notice, to fifteen, which Auto Scaling's own pace (tens of seconds) makes enough. A change begins anew.
constexpr Duration kFirstWait = std::chrono::milliseconds(250);
constexpr Duration kLastWait = std::chrono::seconds(15);
// Never sooner than this, whatever happens.
constexpr Duration kLeastWait = std::chrono::milliseconds(200);
// In one step: two calls each, and a step should end within seconds also when each takes 100 ms.
constexpr int kMaxAsked = 20;

bool followsInstance(const api::NodeRecovery& incident) {
  const Phase phase = incident.status.phase;
  return phase == Phase::kReplacing || phase == Phase::kValidating || phase == Phase::kEscalated;
}

// A node has joined that the last answer cannot know.
bool someoneJoined(const Fleet& fleet) {
  return std::ranges::any_of(fleet.nodes, [&](const auto& entry) {
    const api::Node& node = *entry.second;
    return node.ready() && !node.meta.labels.contains(api::kHealthStatusLabel) &&
           unknownToAnswers(fleet, node);
  });
}

bool sameAnswer(const InstanceFacts& a, const InstanceFacts& b) {
  const auto summary = [](const InstanceFacts& facts) {
    std::string text = facts.trouble;
    if (facts.instance) {
      text += facts.instance->lifecycle + (facts.instance->healthy ? "+" : "-");
    }
    for (const cloud::Instance& instance :
         facts.group ? facts.group->instances : std::vector<cloud::Instance>()) {
      text += "/" + instance.id + instance.lifecycle;
    }
    return text;
  };
  return summary(a) == summary(b);
}

}  // namespace

void InstanceWatch::ask(const Fleet& fleet, TimePoint now) {
  wake_ = kNever;
  groups_.clear();
  joined_ = someoneJoined(fleet);
  std::erase_if(facts_, [&](const auto& entry) {
    const auto at = fleet.incidents.find(entry.first);
    return at == fleet.incidents.end() || !at->second->open();
  });
  std::erase_if(rhythms_, [&](const auto& entry) { return !facts_.contains(entry.first); });
  int asked = 0;
  bool troubled = false;
  for (const auto& [name, incident] : fleet.incidents) {
    const auto policy = fleet.policies.find(incident->policy);
    if (!incident->open() || policy == fleet.policies.end() ||
        !providers_.contains(policy->second->provider)) {
      continue;
    }
    if (due(*incident, now)) {
      if (asked++ >= kMaxAsked || troubled) {
        wake_ = now;
        break;
      }
      InstanceFacts answer = describe(*incident, policy->second->provider, now);
      troubled = !answer.trouble.empty();  // perhaps by a timeout: the other nodes shall not wait for several
      const bool changed = !facts_.contains(name) || !sameAnswer(facts_[name], answer);
      facts_[name] = std::move(answer);
      pace(*incident, changed, now);
    }
    if (followsInstance(*incident)) {
      wake_ = std::min({wake_, rhythms_[name].next, joined_ ? facts_[name].at + kLeastWait : kNever});
    }
  }
}

bool InstanceWatch::due(const api::NodeRecovery& incident, TimePoint now) const {
  const auto known = facts_.find(incident.meta.name);
  if (known == facts_.end()) {
    return true;
  }
  if (!followsInstance(incident)) {
    return false;
  }
  const TimePoint asked = known->second.at;
  const api::NodeRecoveryStatus& status = incident.status;
  if (asked < status.since.value_or(TimePoint{}) || asked <= status.provider.marked.value_or(TimePoint{})) {
    return true;
  }
  const auto rhythm = rhythms_.find(incident.meta.name);
  return (rhythm != rhythms_.end() && now >= rhythm->second.next) || (joined_ && now >= asked + kLeastWait);
}

InstanceFacts InstanceWatch::describe(const api::NodeRecovery& incident, const std::string& provider,
                                      TimePoint now) {
  InstanceFacts facts;
  facts.at = now;
  cloud::Provider& who = *providers_.at(provider);
  Result<std::optional<cloud::Instance>> instance = who.describe(incident.node.providerId);
  if (!instance) {
    facts.trouble = instance.error().toString();
    return facts;
  }
  facts.instance = *std::move(instance);
  const std::string group = facts.instance && !facts.instance->group.empty() ? facts.instance->group
                                                                             : incident.status.provider.group;
  if (group.empty()) {
    return facts;
  }
  auto known = groups_.find(group);
  if (known == groups_.end()) {
    known = groups_.emplace(group, who.describeGroup(group)).first;
  }
  if (known->second) {
    facts.group = *known->second;
  } else {
    facts.trouble = known->second.error().toString();
  }
  return facts;
}

void InstanceWatch::pace(const api::NodeRecovery& incident, bool changed, TimePoint now) {
  Rhythm& rhythm = rhythms_[incident.meta.name];
  rhythm.wait = changed || rhythm.wait == Duration{} ? kFirstWait : std::min(rhythm.wait * 2, kLastWait);
  rhythm.next = now + rhythm.wait;
}

}  // namespace mainstay::recovery
