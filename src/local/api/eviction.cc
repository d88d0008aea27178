#include "local/api/eviction.h"

#include <algorithm>

#include "local/api/metadata.h"

namespace mainstay::local {
namespace {

constexpr char kServerManager[] = "kube-apiserver";
constexpr char kSchedulerManager[] = "kube-scheduler";
constexpr char kBudgetManager[] = "kube-controller-manager";

void setCondition(Json& pod, const std::string& type, const std::string& reason, const std::string& message,
                  TimePoint now) {
  JsonObject condition{{"type", type}, {"status", "True"}, {"lastTransitionTime", formatTime(now)}};
  if (!reason.empty()) {
    condition["reason"] = reason;
    condition["message"] = message;
  }
  JsonArray& conditions = memberArray(memberObject(pod.as_object(), "status"), "conditions");
  for (Json& present : conditions) {
    if (findString(present, "type") == type) {
      present = std::move(condition);
      return;
    }
  }
  conditions.push_back(std::move(condition));
}

bool isReady(const Json& pod) {
  const JsonArray& conditions = arrayAt(pod, "status", "conditions");
  return std::any_of(conditions.begin(), conditions.end(), [](const Json& condition) {
    return findString(condition, "type") == "Ready" && findString(condition, "status") == "True";
  });
}

// An integer, or a percentage of `whole`, rounded up as the disruption controller does.
std::int64_t scaled(const Json& value, std::int64_t whole) {
  if (value.is_int64()) {
    return value.get_int64();
  }
  const std::string text = value.is_string() ? std::string(value.get_string()) : "";
  const bool percent = text.size() > 1 && text.size() < 6 && text.back() == '%' &&
                       text.find_first_not_of("0123456789") == text.size() - 1;
  return percent ? (std::stol(text) * whole + 99) / 100 : 0;
}

std::vector<ObjectPtr> budgetsFor(const Registry& registry, const Json& pod) {
  std::vector<ObjectPtr> budgets;
  const auto [begin, end] =
      inNamespace(registry.store().all(kBudgetShelf), findString(pod, "metadata", "namespace"));
  for (auto at = begin; at != end; ++at) {
    if (budgetSelects(*at->second, pod)) {
      budgets.push_back(at->second);
    }
  }
  return budgets;
}

// Nobody is harmed by the eviction of a pod that does not run (yet, or any more) or is going anyway.
bool needsNoBudget(const Json& pod) {
  const std::string phase = findString(pod, "status", "phase");
  return phase == "Succeeded" || phase == "Failed" || phase == "Pending" || isDeleting(pod);
}

// A running pod that is not Ready may go when the budget is met without it, or the budget says it always may.
bool unhealthyMayGo(const Json& budget, const BudgetState& state, const Json& pod) {
  if (isReady(pod)) {
    return false;
  }
  return findString(budget, "spec", "unhealthyPodEvictionPolicy") == "AlwaysAllow" ||
         (state.desired > 0 && state.healthy >= state.desired);
}

Outcome<> checkBudget(const Registry& registry, const Json& pod) {
  const std::vector<ObjectPtr> budgets = budgetsFor(registry, pod);
  if (budgets.empty() || needsNoBudget(pod)) {
    return {};
  }
  if (budgets.size() > 1) {
    return refuse(
        {500,
         "InternalError",
         "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
         {},
         std::nullopt});
  }
  const Json& budget = *budgets.front();
  const BudgetState state = budgetState(registry, budget);
  if (state.allowed > 0 || unhealthyMayGo(budget, state, pod)) {
    return {};
  }
  const std::string needs = "The disruption budget " + findString(budget, "metadata", "name") + " needs " +
                            std::to_string(state.desired) + " healthy pods and has " +
                            std::to_string(state.healthy) + " currently";
  return refuse(tooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0,
                                {{"DisruptionBudget", needs, ""}}));
}

}  // namespace

bool budgetSelects(const Json& budget, const Json& pod) {
  const Json* selector = find(budget, "spec", "selector");
  if (!selector || findString(budget, "metadata", "namespace") != findString(pod, "metadata", "namespace")) {
    return false;
  }
  DecodeErrors errors;
  const api::LabelSelector labels = api::decodeLabelSelector(Cursor(*selector, errors));
  return errors.empty() && labels.matches(labelsOf(pod));
}

BudgetState budgetState(const Registry& registry, const Json& budget) {
  BudgetState state;
  const auto [begin, end] =
      inNamespace(registry.store().all(kPodShelf), findString(budget, "metadata", "namespace"));
  for (auto at = begin; at != end; ++at) {
    const Json& pod = *at->second;
    if (budgetSelects(budget, pod)) {
      ++state.expected;
      state.healthy += isReady(pod) && !isDeleting(pod) ? 1 : 0;
    }
  }
  if (const Json* least = find(budget, "spec", "minAvailable")) {
    state.desired = scaled(*least, state.expected);
  } else if (const Json* most = find(budget, "spec", "maxUnavailable")) {
    state.desired = std::max<std::int64_t>(0, state.expected - scaled(*most, state.expected));
  }
  state.allowed = std::max<std::int64_t>(0, state.healthy - state.desired);
  return state;
}

void refreshBudget(Registry& registry, const Json& budget) {
  const BudgetState state = budgetState(registry, budget);
  Json after = budget;
  JsonObject& numbers = memberObject(after.as_object(), "status");
  numbers["expectedPods"] = state.expected;
  numbers["currentHealthy"] = state.healthy;
  numbers["desiredHealthy"] = state.desired;
  numbers["disruptionsAllowed"] = state.allowed;
  if (const Json* generation = find(budget, "metadata", "generation")) {
    numbers["observedGeneration"] = *generation;
  }
  if (after == budget) {
    return;
  }
  const KindPtr kind = registry.kinds().find("policy", "v1", "poddisruptionbudgets");
  const std::string key =
      findString(budget, "metadata", "namespace") + "/" + findString(budget, "metadata", "name");
  registry.rewrite(*kind, key, std::move(after), kBudgetManager, "status");
}

Outcome<Json> evictPod(Registry& registry, const Target& target, const Json& eviction, bool dryRun) {
  Target podTarget = target;
  podTarget.subresource.clear();
  MAINSTAY_ASSIGN(Json pod, registry.get(podTarget));
  const Json* how = findMember(eviction, "deleteOptions");
  MAINSTAY_ASSIGN(DeleteOptions options, parseDeleteOptions(how ? *how : Json(), {}));
  options.dryRun = options.dryRun || dryRun;
  MAINSTAY_TRY(checkUid(podTarget, pod, options.uid));
  MAINSTAY_TRY(checkBudget(registry, pod));
  if (!options.dryRun && !isDeleting(pod)) {
    setCondition(pod, "DisruptionTarget", "EvictionByEvictionAPI", "Eviction API: evicting",
                 registry.clock().now());
    registry.rewrite(*target.kind, target.key(), std::move(pod), kServerManager, "status");
  }
  options.resourceVersion.clear();
  MAINSTAY_TRY(registry.remove(podTarget, options));
  return successStatus();
}

Outcome<Json> bindPod(Registry& registry, const Target& target, const Json& binding) {
  Target podTarget = target;
  podTarget.subresource.clear();
  MAINSTAY_ASSIGN(Json pod, registry.get(podTarget));
  const std::string node = findString(binding, "target", "name");
  const std::string bound = findString(pod, "spec", "nodeName");
  const std::string uid = findString(binding, "metadata", "uid");
  if (node.empty()) {
    return refuse(badRequest("target.name: Required value"));
  }
  const auto refuseBinding = [&](const std::string& why) {
    api::Resource bindings = target.kind->resource;
    bindings.plural = "pods/binding";
    return refuse(conflict(bindings, target.name, why));
  };
  if (!uid.empty() && uid != findString(pod, "metadata", "uid")) {
    return refuseBinding("Precondition failed: UID in precondition: " + uid +
                         ", UID in object meta: " + findString(pod, "metadata", "uid"));
  }
  if (isDeleting(pod)) {
    return refuseBinding("pod " + target.name + " is being deleted, cannot be assigned to a host");
  }
  if (!bound.empty()) {
    return refuseBinding("pod " + target.name + " is already assigned to node \"" + bound + "\"");
  }
  pod.as_object()["spec"].as_object()["nodeName"] = node;
  setCondition(pod, "PodScheduled", "", "", registry.clock().now());
  registry.rewrite(*target.kind, target.key(), std::move(pod), kSchedulerManager, "binding");
  return successStatus();
}

}  // namespace mainstay::local
