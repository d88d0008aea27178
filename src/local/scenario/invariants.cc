#include "local/scenario/invariants.h"

#include <algorithm>
#include <optional>
#include <set>

#include "api/core.h"
#include "api/names.h"
#include "api/node_recovery.h"
#include "api/pytorch_job.h"
#include "api/recovery_policy.h"
#include "cloud/provider.h"

namespace mainstay::local {
namespace {

constexpr char kLimits[] = "disruptive steps stay within the policy's limits";
constexpr char kOnePerNode[] = "one recovery per node, and only for the node in evidence";
constexpr char kNothingForgotten[] = "no finding that asks for repair is forgotten";
constexpr char kSoundReturn[] = "a node returns only when its evidence is clear";
constexpr char kGroupResume[] =
    "a job is stopped and started as one group, at most its retry count, and only by us if we stopped it";
constexpr char kObserve[] = "Observe changes nothing but our own objects";
constexpr char kOnlyOurs[] = "only our own cordons and taints are taken away";
constexpr char kFenced[] = "pods of a lost node are removed only after the instance is gone";

// A fault must have an incident this long after it could be acted on: several of the controller's retries.
constexpr Duration kNoticed = std::chrono::seconds(60);

template <class T>
std::optional<T> decoded(const Json* object, Result<T> (*decode)(const Json&)) {
  const Result<T> value = object ? decode(*object) : Result<T>(tl::unexpect, Error(Code::kNotFound, ""));
  return value ? std::optional(*value) : std::nullopt;
}

const api::Taint* taintOf(const api::Node& node, const std::string& key) {
  const auto at = std::ranges::find(node.taints, key, &api::Taint::key);
  return at == node.taints.end() ? nullptr : &*at;
}

bool ours(const api::Node& node) {
  return !node.meta.annotation(api::kRecoveryAnnotation).empty();
}

class Inspector {
 public:
  // `entry` is the next one; the world is as it was before.
  void look(const Entry& entry);
  void finish(TimePoint end, bool controllerRuns);
  std::vector<Violation> violations;

 private:
  void add(const char* rule, const std::string& what) { violations.push_back({now_, rule, what}); }
  void lookAtNode(const Entry& entry);
  void lookAtMarks(const api::Node& before, const api::Node& after);
  void lookAtReturn(const api::Node& before, const api::Node& after);
  void lookAtRecovery(const Entry& entry);
  void lookAtBudget(const api::NodeRecovery& begun);
  void lookAtJob(const Entry& entry);
  void lookAtCloud(const Json& deed);
  void lookAtPod(const Entry& entry);

  std::vector<api::RecoveryPolicy> policies() const;
  std::vector<api::NodeRecovery> recoveries() const;
  // The policy that may act on the node; nullopt when none does.
  std::optional<api::RecoveryPolicy> enforcing(const api::Node& node) const;
  int selected(const api::RecoveryPolicy& policy) const;
  int isolated(const api::RecoveryPolicy& policy) const;
  bool faulty(const api::Node& node) const;
  // Some incident that may act waits for a node, which no policy that enforces need select.
  bool awaitsReplacement() const;

  World world_;
  TimePoint now_{};
  std::set<std::string> gone_;  // ids of instances that the cloud has terminated
};

std::vector<api::RecoveryPolicy> Inspector::policies() const {
  std::vector<api::RecoveryPolicy> all;
  for (const auto& [key, object] : world_.all("recoverypolicies")) {
    if (auto policy = decoded(object, api::decodeRecoveryPolicy)) {
      all.push_back(*std::move(policy));
    }
  }
  return all;
}

std::vector<api::NodeRecovery> Inspector::recoveries() const {
  std::vector<api::NodeRecovery> all;
  for (const auto& [key, object] : world_.all("noderecoveries")) {
    if (auto recovery = decoded(object, api::decodeNodeRecovery)) {
      all.push_back(*std::move(recovery));
    }
  }
  return all;
}

std::optional<api::RecoveryPolicy> Inspector::enforcing(const api::Node& node) const {
  if (node.providerId.find("/sagemaker/cluster/") != std::string::npos) {
    return std::nullopt;
  }
  for (api::RecoveryPolicy& policy : policies()) {
    if (policy.mode == api::Mode::kEnforce && policy.nodes.matches(node.meta.labels)) {
      return std::move(policy);
    }
  }
  return std::nullopt;
}

int Inspector::selected(const api::RecoveryPolicy& policy) const {
  return static_cast<int>(std::ranges::count_if(world_.all("nodes"), [&](const auto& entry) {
    const auto node = decoded(entry.second, api::decodeNode);
    return node && policy.nodes.matches(node->meta.labels);
  }));
}

int Inspector::isolated(const api::RecoveryPolicy& policy) const {
  return static_cast<int>(std::ranges::count_if(world_.all("nodes"), [&](const auto& entry) {
    const auto node = decoded(entry.second, api::decodeNode);
    return node && policy.nodes.matches(node->meta.labels) && ours(*node) &&
           taintOf(*node, api::kHealthTaintKey);
  }));
}

bool Inspector::faulty(const api::Node& node) const {
  const auto stands = [&](const api::RecoveryPolicy& policy, const api::Condition& condition) {
    const bool ready = condition.type == "Ready";
    return ready != (condition.status == "True") &&
           std::ranges::any_of(policy.faults, [&](const api::FaultRule& rule) {
             return rule.matches(ready ? api::kNodeLost : condition.type, condition.reason) &&
                    now_ - condition.lastTransition >= rule.confirm;
           });
  };
  for (const api::RecoveryPolicy& policy : policies()) {
    const bool any = std::ranges::any_of(
        node.conditions, [&](const api::Condition& condition) { return stands(policy, condition); });
    if (any && policy.nodes.matches(node.meta.labels)) {
      return true;
    }
  }
  return false;
}

bool Inspector::awaitsReplacement() const {
  return std::ranges::any_of(recoveries(), [](const api::NodeRecovery& recovery) {
    return recovery.status.mode == api::Mode::kEnforce && recovery.status.phase >= api::Phase::kReplacing &&
           recovery.open();
  });
}

void Inspector::look(const Entry& entry) {
  now_ = entry.at;
  const bool program = !entry.person;
  if (entry.kind == "nodes" && program) {
    lookAtNode(entry);
  } else if (entry.kind == "noderecoveries" && entry.after) {
    lookAtRecovery(entry);
  } else if (entry.kind == "pytorchjobs" && program && entry.before && entry.after) {
    lookAtJob(entry);
  } else if (entry.kind == "pods" && program && !entry.after) {
    lookAtPod(entry);
  } else if (entry.kind == kCloudKind) {
    lookAtCloud(*entry.after);
  }
  world_.apply(entry);
}

void Inspector::lookAtNode(const Entry& entry) {
  const auto before = decoded(entry.before.get(), api::decodeNode);
  const auto after = decoded(entry.after.get(), api::decodeNode);
  if (!before || !after) {
    return;
  }
  if (before->unschedulable && !after->unschedulable &&
      before->meta.annotation(api::kCordonedAnnotation) != "true") {
    add(kOnlyOurs, entry.key + " was uncordoned, and somebody else had cordoned it");
  }
  for (const api::Taint& taint : before->taints) {
    const bool mayGo =
        taint.key.starts_with("node.kubernetes.io/") || (taint.key == api::kHealthTaintKey && ours(*before));
    if (!taintOf(*after, taint.key) && !mayGo) {
      add(kOnlyOurs, entry.key + " lost the taint " + taint.key + ", which was not ours");
    }
  }
  lookAtMarks(*before, *after);
  lookAtReturn(*before, *after);
}

void Inspector::lookAtMarks(const api::Node& before, const api::Node& after) {
  const bool tainted = taintOf(after, api::kHealthTaintKey) && !taintOf(before, api::kHealthTaintKey);
  const bool cordoned = after.unschedulable && !before.unschedulable;
  const std::string& label = after.meta.label(api::kHealthStatusLabel);
  const bool labelled = !label.empty() && label != before.meta.label(api::kHealthStatusLabel);
  const bool released = ours(before) && !ours(after);  // taking back what is ours is always allowed
  const bool awaited = labelled && label == api::kSchedulable && awaitsReplacement();
  if (!tainted && !cordoned && !labelled) {
    return;
  }
  const auto policy = enforcing(after);
  if (!policy && !released && !awaited) {
    add(kObserve, after.meta.name + " was marked, and no policy that enforces selects it");
  }
  // The node itself is not yet counted: the world is as before.
  if (policy && tainted && isolated(*policy) + 1 > policy->isolated.of(selected(*policy))) {
    add(kLimits, after.meta.name + " was isolated as number " + std::to_string(isolated(*policy) + 1) +
                     " of at most " + std::to_string(policy->isolated.of(selected(*policy))));
  }
}

void Inspector::lookAtReturn(const api::Node& before, const api::Node& after) {
  const bool returns = before.meta.label(api::kHealthStatusLabel) != api::kSchedulable &&
                       after.meta.label(api::kHealthStatusLabel) == api::kSchedulable;
  if (!returns || !faulty(after)) {
    return;
  }
  const std::vector<api::NodeRecovery> all = recoveries();
  const bool released = std::ranges::any_of(all, [&](const api::NodeRecovery& recovery) {
    return recovery.node.uid == after.meta.uid && recovery.status.outcome == "Released";
  });
  if (!released) {
    add(kSoundReturn, after.meta.name + " became Schedulable while its fault stands");
  }
}

void Inspector::lookAtRecovery(const Entry& entry) {
  const auto before = decoded(entry.before.get(), api::decodeNodeRecovery);
  const auto after = decoded(entry.after.get(), api::decodeNodeRecovery);
  if (!after) {
    return;
  }
  for (const api::NodeRecovery& other : recoveries()) {
    if (!before && other.open() && other.node.uid == after->node.uid) {
      add(kOnePerNode, entry.key + " was opened beside " + other.meta.name);
    }
  }
  if (after->status.started && !(before && before->status.started)) {
    lookAtBudget(*after);
  }
}

void Inspector::lookAtBudget(const api::NodeRecovery& begun) {
  const auto policy = decoded(world_.find("recoverypolicies", begun.policy), api::decodeRecoveryPolicy);
  if (!policy) {
    return;
  }
  int inRecovery = 1;
  int lastHour = 1;
  for (const api::NodeRecovery& other : recoveries()) {
    if (other.policy != begun.policy || other.meta.name == begun.meta.name || !other.status.started) {
      continue;
    }
    const bool underWay = other.open() && other.status.phase != api::Phase::kEscalated;
    inRecovery += underWay ? 1 : 0;
    lastHour += *begun.status.started - *other.status.started < std::chrono::hours(1) ? 1 : 0;
  }
  if (inRecovery > policy->inRecovery.of(selected(*policy))) {
    add(kLimits, begun.meta.name + " is number " + std::to_string(inRecovery) + " in recovery, of at most " +
                     std::to_string(policy->inRecovery.of(selected(*policy))));
  }
  if (policy->perHour && lastHour > *policy->perHour) {
    add(kLimits, begun.meta.name + " is number " + std::to_string(lastHour) + " within an hour, of at most " +
                     std::to_string(*policy->perHour));
  }
}

int retryOf(const api::PyTorchJob& job) {
  const auto state = parseJson(job.meta.annotation(api::kResumeAnnotation));
  const Json* retry = state ? find(*state, "retry") : nullptr;
  return retry && retry->is_int64() ? static_cast<int>(retry->get_int64()) : 0;
}

void Inspector::lookAtJob(const Entry& entry) {
  const auto before = decoded(entry.before.get(), api::decodePyTorchJob);
  const auto after = decoded(entry.after.get(), api::decodePyTorchJob);
  if (!before || !after) {
    return;
  }
  const int allowed = std::atoi(after->meta.annotation(api::kMaxRetryAnnotation).c_str());
  if (retryOf(*after) > std::max(allowed, retryOf(*before))) {
    add(kGroupResume,
        entry.key + " used retry " + std::to_string(retryOf(*after)) + " of " + std::to_string(allowed));
  }
  if (before->suspend == after->suspend) {
    return;
  }
  if (before->finished() || before->meta.deleted) {
    add(kGroupResume, entry.key + " was touched although it has finished or is being deleted");
  }
  if (before->meta.annotation(api::kAutoResumeAnnotation) != "true") {
    add(kGroupResume, entry.key + " was touched although it has not opted in");
  }
  const api::PyTorchJob& withMark = after->suspend ? *after : *before;
  if (withMark.meta.annotation(api::kResumeAnnotation).empty()) {
    add(kGroupResume,
        entry.key + " was " + (after->suspend ? "stopped" : "started") + " without our mark on it");
  }
  for (const auto& [key, object] : world_.all("pods")) {
    const auto pod = decoded(object, api::decodePod);
    const bool member = pod && pod->meta.ns == after->meta.ns &&
                        pod->meta.label(api::kTrainingJobNameLabel) == after->meta.name;
    if (!after->suspend && member) {
      add(kGroupResume, entry.key + " was started while its old pod " + key + " is still there");
    }
  }
}

void Inspector::lookAtCloud(const Json& deed) {
  const std::string call = findString(deed, "cloud");
  const Json* effect = find(deed, "effect");
  const std::string instance = findString(deed, "id");
  if (!effect || !effect->is_bool() || !effect->get_bool()) {
    return;
  }
  if (call == "TerminateInstance") {
    gone_.insert(instance);
  }
  if (call != "SetInstanceHealth" || findString(deed, "status") != "Unhealthy") {
    return;
  }
  const std::vector<api::NodeRecovery> all = recoveries();
  const auto recovery = std::ranges::find_if(all, [&](const api::NodeRecovery& one) {
    return one.open() && cloud::instanceIdOf(one.node.providerId) == instance;
  });
  if (recovery == all.end() || recovery->status.mode != api::Mode::kEnforce) {
    add(kOnePerNode, "instance " + instance + " was marked without an open incident that enforces");
  } else if (!recovery->status.started) {
    add(kLimits, "instance " + instance + " was marked before its incident had a place in recovery");
  }
}

void Inspector::lookAtPod(const Entry& entry) {
  const auto pod = decoded(entry.before.get(), api::decodePod);
  const auto node = pod ? decoded(world_.find("nodes", pod->nodeName), api::decodeNode) : std::nullopt;
  if (!node || node->ready() || pod->finished()) {
    return;
  }
  if (!gone_.contains(cloud::instanceIdOf(node->providerId))) {
    add(kFenced,
        "pod " + entry.key + " was removed while nobody knows what its node " + pod->nodeName + " does");
  }
}

void Inspector::finish(TimePoint end, bool controllerRuns) {
  now_ = end - kNoticed;
  const std::vector<api::NodeRecovery> all = recoveries();
  for (const auto& [key, object] : world_.all("nodes")) {
    const auto node = decoded(object, api::decodeNode);
    // A Node that outlives its instance is told about and left alone.
    if (!controllerRuns || !node || !faulty(*node) || gone_.contains(cloud::instanceIdOf(node->providerId))) {
      continue;
    }
    const bool known = std::ranges::any_of(all, [&](const api::NodeRecovery& recovery) {
      const bool released = recovery.status.outcome == "Released";
      return recovery.node.uid == node->meta.uid &&
             ((recovery.open() && !recovery.status.message.empty()) || released);
    });
    if (!known) {
      add(kNothingForgotten, key + " has a fault, and no open incident says what becomes of it");
    }
  }
}

}  // namespace

std::vector<Violation> checkInvariants(const Recording& recording, bool controllerRuns) {
  Inspector inspector;
  for (const Entry& entry : recording.entries) {
    inspector.look(entry);
  }
  inspector.finish(recording.end, controllerRuns);
  return std::move(inspector.violations);
}

}  // namespace mainstay::local
