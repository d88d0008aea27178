#include "recovery/executor.h"

#include <algorithm>

#include "api/names.h"
#include "recovery/life_cycle.h"
#include "recovery/node_marks.h"

namespace mainstay::recovery {
namespace {

constexpr char kComponent[] = "mainstay-controller";
constexpr int kTellers = 8;

// What is to be gone and is not there has been achieved.
Result<> goneIsFine(Result<> result) {
  if (!result && result.error().code() == Code::kNotFound) {
    return {};
  }
  return result;
}

// The part of `next` that differs from `present`; both have every key.
JsonObject changedFields(const JsonObject& present, const JsonObject& next) {
  JsonObject changed;
  for (const auto& [key, value] : next) {
    const Json* old = present.if_contains(key);
    if (!old || *old != value) {
      changed[key] = value;
    }
  }
  return changed;
}

Json guardedStatus(const std::string& resourceVersion, JsonObject status) {
  return JsonObject{{"metadata", JsonObject{{"resourceVersion", resourceVersion}}},
                    {"status", std::move(status)}};
}

bool isThisNode(const Json& node, const api::NodeIdentity& identity) {
  return findString(node, "metadata", "uid") == identity.uid &&
         findString(node, "spec", "providerID") == identity.providerId &&
         (identity.bootId.empty() || findString(node, "status", "nodeInfo", "bootID") == identity.bootId);
}

}  // namespace

Executor::Teller::Teller(kube::Api& api, const std::string& host) : events(api, kComponent, host) {}

Executor::Executor(kube::Api& api, Caches& caches, const Providers& providers, const std::string& host,
                   std::function<bool()> mayAct)
    : api_(api), caches_(caches), providers_(providers), mayAct_(std::move(mayAct)) {
  for (int i = 0; i < kTellers; ++i) {
    tellers_.emplace_back(api, host);
  }
}

Result<> Executor::execute(const Step& step, TimePoint now) {
  if (!mayAct_()) {
    return fail(Code::kFailedPrecondition, describe(step) + ": this controller does not lead any more");
  }
  const Doing doing{step, now};
  return std::visit([&](const auto& action) { return run(doing, action); }, step.action);
}

// --- Our own objects ---

Result<> Executor::run(const Doing& doing, const OpenIncident& action) {
  const Json object =
      api::encodeNodeRecovery(doing.step.incident, action.node, action.allocatable, action.policy);
  Result<Json> written = kube::create(api_, api::kNodeRecoveries, "", object, api::kRecoveryManager);
  if (!written && written.error().code() == Code::kAlreadyExists) {
    written = kube::get(api_, api::kNodeRecoveries, "", doing.step.incident);
  }
  MAINSTAY_ASSIGN(const Json incident, std::move(written));
  caches_.observe(caches_.incidents, incident);
  return {};
}

Result<> Executor::run(const Doing& doing, const UpdateIncident& action) {
  const auto known = caches_.find(caches_.incidents, doing.step.incident);
  if (!known) {
    return fail(Code::kNotFound, "incident " + doing.step.incident + " is gone");
  }
  const api::NodeRecovery& present = *known;
  if (!follows(present.status, action.status)) {
    return fail(Code::kFailedPrecondition, "incident " + doing.step.incident + ": there is no way from " +
                                               std::string(phaseName(present.status.phase)) + " to " +
                                               std::string(phaseName(action.status.phase)));
  }
  // The first status is written whole: what equals a default is not there yet.
  const bool first = present.status.phase == api::Phase::kNew;
  JsonObject changed = changedFields(first ? JsonObject() : api::encodeStatus(present.status),
                                     api::encodeStatus(action.status));
  if (changed.empty()) {
    return {};
  }
  const Json body = guardedStatus(present.meta.resourceVersion, std::move(changed));
  Result<Json> written = kube::patch(api_, api::kNodeRecoveries, "", doing.step.incident,
                                     kube::Body::kMergePatch, body, api::kRecoveryManager, "status");
  if (!written && written.error().code() == Code::kConflict) {
    // The next plan starts from what the other writer left.
    MAINSTAY_ASSIGN(const Json newer, kube::get(api_, api::kNodeRecoveries, "", doing.step.incident));
    caches_.observe(caches_.incidents, newer);
  }
  MAINSTAY_ASSIGN(const Json incident, std::move(written));
  caches_.observe(caches_.incidents, incident);
  return {};
}

Result<> Executor::run(const Doing& doing, const DeleteIncident& action) {
  return goneIsFine(kube::remove(api_, api::kNodeRecoveries, "", doing.step.incident, action.uid));
}

Result<> Executor::run(const Doing& doing, const TakeSlots&) {
  return takeSlots({&doing.step});
}

Result<> Executor::takeSlots(const std::vector<const Step*>& steps) {
  const std::string& name = std::get<TakeSlots>(steps.front()->action).policy;
  const auto policy = caches_.find(caches_.policies, name);
  if (!policy) {
    return fail(Code::kFailedPrecondition, "policy " + name + " is gone");
  }
  if (!mayAct_()) {
    return fail(Code::kFailedPrecondition, "this controller does not lead any more");
  }
  std::vector<api::TakenSlot> active = policy->active;
  for (const Step* step : steps) {
    const auto& action = std::get<TakeSlots>(step->action);
    for (const auto& [slot, limit] : action.limits) {
      if (std::ranges::count(active, slot, &api::TakenSlot::slot) >= limit) {
        return fail(Code::kFailedPrecondition, "policy " + name + " has no place " +
                                                   std::string(slotName(slot)) + " left for " +
                                                   step->incident);
      }
      active.push_back({slot, step->incident, step->node, action.since});
    }
  }
  return writeSlots(*policy, active);
}

Result<> Executor::run(const Doing& doing, const ReleaseSlots& action) {
  const auto policy = caches_.find(caches_.policies, action.policy);
  if (!policy) {
    return {};
  }
  std::vector<api::TakenSlot> active = policy->active;
  std::erase_if(active, [&](const api::TakenSlot& taken) {
    return taken.recovery == doing.step.incident &&
           std::ranges::find(action.slots, taken.slot) != action.slots.end();
  });
  return active == policy->active ? Result<>() : writeSlots(*policy, active);
}

// The policy object is the lock that two leaders share: the write holds only if it is as we saw it.
Result<> Executor::writeSlots(const api::RecoveryPolicy& policy, const std::vector<api::TakenSlot>& active) {
  const Json body = guardedStatus(policy.meta.resourceVersion, {{"active", api::encodeSlots(active)}});
  const std::string name = policy.meta.name;
  Result<Json> written = kube::patch(api_, api::kRecoveryPolicies, "", name, kube::Body::kMergePatch, body,
                                     api::kRecoveryManager, "status");
  if (!written && written.error().code() == Code::kConflict) {
    MAINSTAY_ASSIGN(const Json newer, kube::get(api_, api::kRecoveryPolicies, "", name));
    caches_.observe(caches_.policies, newer);
  }
  MAINSTAY_ASSIGN(const Json now, std::move(written));
  caches_.observe(caches_.policies, now);
  return {};
}

// --- The node ---

Result<> Executor::run(const Doing& doing, const IsolateNode& action) {
  const auto known = caches_.find(caches_.nodes, doing.step.node);
  return changeNode(doing.step.node, action.node.uid, known ? kube::asRead(*known) : std::nullopt,
                    [&](const Json& node) -> Result<kube::NodeChange> {
                      if (!isThisNode(node, action.node)) {
                        return fail(Code::kFailedPrecondition,
                                    "node " + doing.step.node + " is not the one in evidence any more");
                      }
                      return isolation(node, doing.step.incident, action.faults);
                    });
}

Result<> Executor::run(const Doing& doing, const RestoreNode& action) {
  return changeNode(
      doing.step.node, action.uid, std::nullopt,
      [&](const Json& node) -> Result<kube::NodeChange> { return restoration(node, action.label); });
}

Result<> Executor::run(const Doing& doing, const SetSchedulable& action) {
  return changeNode(doing.step.node, action.uid, std::nullopt,
                    [&](const Json& node) -> Result<kube::NodeChange> {
                      // A label that came in between says something, and is left to say it.
                      if (!findString(node, "metadata", "labels", api::kHealthStatusLabel).empty()) {
                        return kube::NodeChange{};
                      }
                      return kube::NodeChange{.labels = {{api::kHealthStatusLabel, api::kSchedulable}}};
                    });
}

Result<> Executor::changeNode(const std::string& node, const std::string& uid, std::optional<Json> known,
                              const kube::DecideNodeChange& decide) {
  MAINSTAY_ASSIGN(const Json changed,
                  kube::changeNode(api_, node, uid, decide, api::kRecoveryManager, std::move(known)));
  caches_.observe(caches_.nodes, changed);
  return {};
}

Result<> Executor::run(const Doing& doing, const DeleteNode& action) {
  return goneIsFine(kube::remove(api_, api::kNodes, "", doing.step.node, action.uid));
}

// --- Its pods ---

Result<> Executor::run(const Doing&, const EvictPod& action) {
  return goneIsFine(kube::evict(api_, action.pod.ns, action.pod.name, action.pod.uid));
}

Result<> Executor::run(const Doing& doing, const DeletePod& action) {
  const std::string pod = action.pod.ns + "/" + action.pod.name;
  const std::string budgets = budgetsOver(action.pod);
  MAINSTAY_TRY(goneIsFine(kube::remove(api_, api::kPods, action.pod.ns, action.pod.name, action.pod.uid)));
  const std::string why = budgets.empty() ? "it did not end in time, and no disruption budget stood over it"
                                          : "held by disruption budget " + budgets;
  const auto incident = caches_.find(caches_.incidents, doing.step.incident);
  const std::string uid = incident ? incident->node.uid : "";
  ignore(tell({{"v1", "Node", "", doing.step.node, uid},
               true,
               "DrainBlocked",
               "Pod " + pod + " was deleted when the drain's deadline had passed: " + why},
              doing.now),
         "the pod is deleted, with or without an Event about it");
  return {};
}

Result<> Executor::run(const Doing&, const ForceDeletePod& action) {
  return goneIsFine(kube::remove(api_, api::kPods, action.pod.ns, action.pod.name, action.pod.uid, 0));
}

// Names of the PodDisruptionBudgets that select the pod, best effort: they are for the Event only.
std::string Executor::budgetsOver(const PodRef& pod) const {
  const auto known = caches_.find(caches_.pods, pod.ns + "/" + pod.name);
  const Result<kube::ObjectList> budgets = kube::list(api_, api::kPodDisruptionBudgets, pod.ns);
  if (!known || !budgets) {
    return "";
  }
  std::string names;
  for (const Json& budget : budgets->items) {
    DecodeErrors errors;
    const Json* selector = find(budget, "spec", "selector");
    if (!selector || !api::decodeLabelSelector(Cursor(*selector, errors)).matches(known->meta.labels)) {
      continue;
    }
    names += (names.empty() ? "" : ", ") + findString(budget, "metadata", "name");
  }
  return names;
}

// --- The provider ---

Result<cloud::Provider*> Executor::provider(const std::string& name) const {
  const auto at = providers_.find(name);
  if (at == providers_.end()) {
    return fail(Code::kUnavailable, "this controller was not told how to reach provider " + name);
  }
  return at->second;
}

Result<> Executor::run(const Doing&, const MarkUnhealthy& action) {
  MAINSTAY_ASSIGN(cloud::Provider * who, provider(action.provider));
  return who->markUnhealthy(action.providerId, action.token);
}

Result<> Executor::run(const Doing&, const MarkHealthy& action) {
  MAINSTAY_ASSIGN(cloud::Provider * who, provider(action.provider));
  return who->markHealthy(action.providerId);
}

// --- People ---

Result<> Executor::run(const Doing& doing, const PostEvent& action) {
  return tell(action, doing.now);
}

Result<> Executor::tell(const PostEvent& event, TimePoint now) {
  Teller& teller = tellers_[std::hash<std::string>()(event.subject.name) % tellers_.size()];
  const std::lock_guard lock(teller.mutex);
  return teller.events.record(event.subject, event.warning ? "Warning" : "Normal", event.reason,
                              event.message, now);
}

}  // namespace mainstay::recovery
