#include "recovery/executor.h"

#include <algorithm>

#include "api/names.h"
#include "recovery/life_cycle.h"
#include "recovery/node_marks.h"

namespace mainstay::recovery {
namespace {

constexpr char kComponent[] = "mainstay-controller";

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

Executor::Executor(kube::Api& api, Caches& caches, const Providers& providers, std::string host,
                   std::function<bool()> mayAct)
    : api_(api),
      caches_(caches),
      providers_(providers),
      mayAct_(std::move(mayAct)),
      events_(api, kComponent, std::move(host)) {}

Result<> Executor::execute(const Step& step, TimePoint now) {
  if (!mayAct_()) {
    return fail(Code::kFailedPrecondition, describe(step) + ": this controller does not lead any more");
  }
  now_ = now;
  return std::visit([&](const auto& action) { return run(step, action); }, step.action);
}

// --- Our own objects ---

Result<> Executor::run(const Step& step, const OpenIncident& action) {
  const Json object = api::encodeNodeRecovery(step.incident, action.node, action.allocatable, action.policy);
  Result<Json> written = kube::create(api_, api::kNodeRecoveries, "", object, api::kRecoveryManager);
  if (!written && written.error().code() == Code::kAlreadyExists) {
    written = kube::get(api_, api::kNodeRecoveries, "", step.incident);
  }
  MAINSTAY_ASSIGN(const Json incident, std::move(written));
  caches_.incidents.observe(incident);
  return {};
}

Result<> Executor::run(const Step& step, const UpdateIncident& action) {
  const auto at = caches_.incidents.objects().find(step.incident);
  if (at == caches_.incidents.objects().end()) {
    return fail(Code::kNotFound, "incident " + step.incident + " is gone");
  }
  const api::NodeRecovery& present = *at->second;
  if (!follows(present.status, action.status)) {
    return fail(Code::kFailedPrecondition, "incident " + step.incident + ": there is no way from " +
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
  Result<Json> written = kube::patch(api_, api::kNodeRecoveries, "", step.incident, kube::Body::kMergePatch,
                                     body, api::kRecoveryManager, "status");
  if (!written && written.error().code() == Code::kConflict) {
    // The next plan starts from what the other writer left.
    MAINSTAY_ASSIGN(const Json newer, kube::get(api_, api::kNodeRecoveries, "", step.incident));
    caches_.incidents.observe(newer);
  }
  MAINSTAY_ASSIGN(const Json incident, std::move(written));
  caches_.incidents.observe(incident);
  return {};
}

Result<> Executor::run(const Step& step, const DeleteIncident& action) {
  return goneIsFine(kube::remove(api_, api::kNodeRecoveries, "", step.incident, action.uid));
}

Result<> Executor::run(const Step& step, const TakeSlots& action) {
  const auto at = caches_.policies.objects().find(action.policy);
  if (at == caches_.policies.objects().end()) {
    return fail(Code::kFailedPrecondition, "policy " + action.policy + " is gone");
  }
  std::vector<api::TakenSlot> active = at->second->active;
  for (const auto& [slot, limit] : action.limits) {
    const auto taken = std::ranges::count(active, slot, &api::TakenSlot::slot);
    if (taken >= limit) {
      return fail(Code::kFailedPrecondition, "policy " + action.policy + " has no place " +
                                                 std::string(slotName(slot)) + " left for " + step.incident);
    }
    active.push_back({slot, step.incident, step.node, action.since});
  }
  return writeSlots(*at->second, active);
}

Result<> Executor::run(const Step& step, const ReleaseSlots& action) {
  const auto at = caches_.policies.objects().find(action.policy);
  if (at == caches_.policies.objects().end()) {
    return {};
  }
  std::vector<api::TakenSlot> active = at->second->active;
  std::erase_if(active, [&](const api::TakenSlot& taken) {
    return taken.recovery == step.incident &&
           std::ranges::find(action.slots, taken.slot) != action.slots.end();
  });
  return active == at->second->active ? Result<>() : writeSlots(*at->second, active);
}

// The policy object is the lock that two leaders share: the write holds only if it is as we saw it.
Result<> Executor::writeSlots(const api::RecoveryPolicy& policy, const std::vector<api::TakenSlot>& active) {
  const Json body = guardedStatus(policy.meta.resourceVersion, {{"active", api::encodeSlots(active)}});
  const std::string name = policy.meta.name;
  Result<Json> written = kube::patch(api_, api::kRecoveryPolicies, "", name, kube::Body::kMergePatch, body,
                                     api::kRecoveryManager, "status");
  if (!written && written.error().code() == Code::kConflict) {
    MAINSTAY_ASSIGN(const Json newer, kube::get(api_, api::kRecoveryPolicies, "", name));
    caches_.policies.observe(newer);
  }
  MAINSTAY_ASSIGN(const Json now, std::move(written));
  caches_.policies.observe(now);
  return {};
}

// --- The node ---

Result<> Executor::run(const Step& step, const IsolateNode& action) {
  return changeNode(step.node, action.node.uid, [&](const Json& node) -> Result<kube::NodeChange> {
    if (!isThisNode(node, action.node)) {
      return fail(Code::kFailedPrecondition, "node " + step.node + " is not the one in evidence any more");
    }
    return isolation(node, step.incident, action.faults);
  });
}

Result<> Executor::run(const Step& step, const RestoreNode& action) {
  return changeNode(step.node, action.uid, [&](const Json& node) -> Result<kube::NodeChange> {
    return restoration(node, action.label);
  });
}

Result<> Executor::run(const Step& step, const SetSchedulable& action) {
  return changeNode(step.node, action.uid, [&](const Json& node) -> Result<kube::NodeChange> {
    // A label that came in between says something, and is left to say it.
    if (!findString(node, "metadata", "labels", api::kHealthStatusLabel).empty()) {
      return kube::NodeChange{};
    }
    return kube::NodeChange{.labels = {{api::kHealthStatusLabel, api::kSchedulable}}};
  });
}

Result<> Executor::changeNode(const std::string& node, const std::string& uid,
                              const kube::DecideNodeChange& decide) {
  MAINSTAY_ASSIGN(const Json changed, kube::changeNode(api_, node, uid, decide, api::kRecoveryManager));
  caches_.nodes.observe(changed);
  return {};
}

Result<> Executor::run(const Step& step, const DeleteNode& action) {
  return goneIsFine(kube::remove(api_, api::kNodes, "", step.node, action.uid));
}

// --- Its pods ---

Result<> Executor::run(const Step&, const EvictPod& action) {
  return goneIsFine(kube::evict(api_, action.pod.ns, action.pod.name, action.pod.uid));
}

Result<> Executor::run(const Step& step, const DeletePod& action) {
  const std::string pod = action.pod.ns + "/" + action.pod.name;
  const std::string budgets = budgetsOver(action.pod);
  MAINSTAY_TRY(goneIsFine(kube::remove(api_, api::kPods, action.pod.ns, action.pod.name, action.pod.uid)));
  const std::string why = budgets.empty() ? "it did not end in time, and no disruption budget stood over it"
                                          : "held by disruption budget " + budgets;
  const auto incident = caches_.incidents.objects().find(step.incident);
  const std::string uid = incident == caches_.incidents.objects().end() ? "" : incident->second->node.uid;
  ignore(events_.record({"v1", "Node", "", step.node, uid}, "Warning", "DrainBlocked",
                        "Pod " + pod + " was deleted when the drain's deadline had passed: " + why, now_),
         "the pod is deleted, with or without an Event about it");
  return {};
}

Result<> Executor::run(const Step&, const ForceDeletePod& action) {
  return goneIsFine(kube::remove(api_, api::kPods, action.pod.ns, action.pod.name, action.pod.uid, 0));
}

// Names of the PodDisruptionBudgets that select the pod, best effort: they are for the Event only.
std::string Executor::budgetsOver(const PodRef& pod) const {
  const auto known = caches_.pods.objects().find(pod.ns + "/" + pod.name);
  const Result<kube::ObjectList> budgets = kube::list(api_, api::kPodDisruptionBudgets, pod.ns);
  if (known == caches_.pods.objects().end() || !budgets) {
    return "";
  }
  std::string names;
  for (const Json& budget : budgets->items) {
    DecodeErrors errors;
    const Json* selector = find(budget, "spec", "selector");
    if (!selector ||
        !api::decodeLabelSelector(Cursor(*selector, errors)).matches(known->second->meta.labels)) {
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

Result<> Executor::run(const Step&, const MarkUnhealthy& action) {
  MAINSTAY_ASSIGN(cloud::Provider * who, provider(action.provider));
  return who->markUnhealthy(action.providerId, action.token);
}

Result<> Executor::run(const Step&, const MarkHealthy& action) {
  MAINSTAY_ASSIGN(cloud::Provider * who, provider(action.provider));
  return who->markHealthy(action.providerId);
}

// --- People ---

Result<> Executor::run(const Step&, const PostEvent& action) {
  return events_.record(action.subject, action.warning ? "Warning" : "Normal", action.reason, action.message,
                        now_);
}

}  // namespace mainstay::recovery
