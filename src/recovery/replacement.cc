#include "recovery/replacement.h"

#include <algorithm>

#include "api/names.h"

namespace mainstay::recovery {
namespace {

// Kubernetes' times have whole seconds, cut off.
constexpr Duration kTimeGrain = std::chrono::seconds(1);

const cloud::Instance* instanceOf(const cloud::Group& group, const std::string& providerId) {
  const auto at = std::ranges::find(group.instances, providerId, &cloud::Instance::providerId);
  return at == group.instances.end() ? nullptr : &*at;
}

bool isExtended(const std::string& resource) {
  return resource.find('/') != std::string::npos && resource.find("kubernetes.io/") == std::string::npos;
}

bool awaits(const api::NodeRecovery& incident) {
  const api::Phase phase = incident.status.phase;
  return incident.status.provider.intent && incident.status.replacement.uid.empty() &&
         (phase == api::Phase::kReplacing || phase == api::Phase::kEscalated);
}

TimePoint readySince(const api::Node& node) {
  const api::Condition* ready = node.condition("Ready");
  return ready ? ready->lastTransition : node.meta.created;
}

const InstanceFacts* groupFacts(const Fleet& fleet, const api::NodeRecovery& incident) {
  const auto facts = fleet.facts.find(incident.meta.name);
  return facts != fleet.facts.end() && facts->second.group ? &facts->second : nullptr;
}

// The node may have joined after the incident's last answer.
bool joinedAfterAnswer(const Fleet& fleet, const api::NodeRecovery& incident, const api::Node& node) {
  const InstanceFacts* facts = groupFacts(fleet, incident);
  const bool answered = facts && facts->at > readySince(node) + kTimeGrain;
  return !answered && node.meta.created + kTimeGrain > launchedAfter(incident, incident.status);
}

bool isCandidate(const Fleet& fleet, const api::NodeRecovery& incident, const api::Node& node) {
  const InstanceFacts* facts = groupFacts(fleet, incident);
  const cloud::Instance* instance = facts ? instanceOf(*facts->group, node.providerId) : nullptr;
  return instance && instance->launched > launchedAfter(incident, incident.status);
}

}  // namespace

TimePoint launchedAfter(const api::NodeRecovery& incident, const api::NodeRecoveryStatus& status) {
  if (status.provider.marked) {
    return status.provider.intent.value_or(*status.provider.marked);
  }
  const bool dated = !status.evidence.empty() && status.evidence.front().first != TimePoint{};
  return dated ? status.evidence.front().first : incident.meta.created;
}

const api::Node* findReplacement(const Fleet& fleet, const FleetIndex& index,
                                 const api::NodeRecovery& incident, const api::NodeRecoveryStatus& status,
                                 const std::set<std::string>& promised) {
  const auto facts = fleet.facts.find(incident.meta.name);
  if (facts == fleet.facts.end() || !facts->second.group) {
    return nullptr;
  }
  const TimePoint since = launchedAfter(incident, status);
  const api::Node* best = nullptr;
  TimePoint bestLaunch = kNever;
  for (const auto& [name, node] : fleet.nodes) {
    const cloud::Instance* instance = instanceOf(*facts->second.group, node->providerId);
    const bool fit = instance && instance->launched > since && instance->healthy && !instance->ending() &&
                     node->ready() && node->meta.uid != incident.node.uid && !index.claimed(node->meta.uid) &&
                     !promised.contains(node->meta.uid) && !index.openIncident(node->meta.uid);
    if (fit && instance->launched < bestLaunch) {
      best = node.get();
      bestLaunch = instance->launched;
    }
  }
  return best;
}

bool mayBeAwaited(const Fleet& fleet, const api::Node& node) {
  return std::ranges::any_of(fleet.incidents, [&](const auto& entry) {
    const api::NodeRecovery& incident = *entry.second;
    return incident.open() && (incident.status.replacement.uid == node.meta.uid ||
                               (awaits(incident) && (joinedAfterAnswer(fleet, incident, node) ||
                                                     isCandidate(fleet, incident, node))));
  });
}

bool unknownToAnswers(const Fleet& fleet, const api::Node& node) {
  return std::ranges::any_of(fleet.incidents, [&](const auto& entry) {
    return entry.second->open() && awaits(*entry.second) && joinedAfterAnswer(fleet, *entry.second, node);
  });
}

std::string missingDevices(const api::Resources& old, const api::Resources& now) {
  for (const auto& [resource, amount] : old) {
    const auto at = now.find(resource);
    const std::int64_t offered = at == now.end() ? 0 : at->second;
    if (isExtended(resource) && offered < amount) {
      return resource + ": " + std::to_string(offered / 1000) + " of " + std::to_string(amount / 1000);
    }
  }
  return "";
}

std::string replacementTrouble(const cloud::Group& group, TimePoint since) {
  if (!group.obstacle.empty()) {
    return group.obstacle;
  }
  const auto newest = std::ranges::max_element(group.activities, {}, &cloud::ScalingActivity::started);
  if (newest == group.activities.end() || newest->started < since || newest->status != "Failed") {
    return "";
  }
  return newest->statusMessage;
}

}  // namespace mainstay::recovery
