#include "recovery/incident_plan.h"

#include <algorithm>

#include "api/names.h"
#include "recovery/drain.h"
#include "recovery/evidence.h"
#include "recovery/life_cycle.h"
#include "recovery/node_marks.h"

namespace mainstay::recovery {
namespace {

using api::Phase;

// Names of pods that a sentence lists.
constexpr std::size_t kPodsInText = 3;

const api::Node* nodeOf(const Fleet& fleet, const api::NodeRecovery& incident) {
  const auto at = fleet.nodes.find(incident.node.name);
  return at != fleet.nodes.end() && at->second->meta.uid == incident.node.uid ? at->second.get() : nullptr;
}

template <class T>
const T* lookUp(const Objects<T>& objects, const std::string& key) {
  const auto at = objects.find(key);
  return at == objects.end() ? nullptr : at->second.get();
}

PodRef refTo(const api::Pod& pod) {
  return {pod.meta.ns, pod.meta.name, pod.meta.uid};
}

std::string listPods(const std::vector<const api::Pod*>& pods) {
  std::string text = std::to_string(pods.size()) + (pods.size() == 1 ? " pod" : " pods");
  for (std::size_t i = 0; i < std::min(pods.size(), kPodsInText); ++i) {
    text += (i == 0 ? ": " : ", ") + pods[i]->meta.key();
  }
  return pods.size() > kPodsInText ? text + " and others" : text;
}

bool kubeletSilent(const api::Node* node) {
  const api::Condition* ready = node ? node->condition("Ready") : nullptr;
  return !ready || ready->status == "Unknown";
}

bool differs(const api::NodeRecoveryStatus& a, const api::NodeRecoveryStatus& b) {
  return api::encodeStatus(a) != api::encodeStatus(b);
}

}  // namespace

IncidentPlan::IncidentPlan(PlanContext& context, const api::NodeRecovery& incident)
    : context_(context),
      incident_(incident),
      node_(nodeOf(context.fleet, incident)),
      policy_(lookUp(context.fleet.policies, incident.policy)),
      status_(incident.status),
      written_(incident.status) {
  if (!node_ || !policy_) {
    return;
  }
  Standing standing = standingFaults(*node_, *policy_, context.now);
  standing_ = std::move(standing.faults);
  wakeAt(standing.wake);
  if (std::optional<fault::Finding> request = personRequest(*node_, context.now)) {
    standing_.push_back(*std::move(request));
  }
}

void IncidentPlan::run() {
  if (context_.fleet.unreadable.nodes.contains(incident_.node.name)) {
    return;
  }
  if (status_.phase == Phase::kNew) {
    opened();
  }
  rememberGroup();
  if (const std::string stale = whyStale(); !stale.empty()) {
    end(Phase::kStale, "Stale", stale);
  } else if (status_.phase == Phase::kHeld) {
    held();
  } else if (const std::string watched = whyOnlyWatched(); !watched.empty()) {
    say("stays as it is: " + watched + "; to undo what was done: mainstay node release " +
        incident_.node.name);
  } else {
    if (addEvidence(status_.evidence, standing_) && !status_.provider.gone) {
      keepIsolated();
    }
    switch (status_.phase) {
      case Phase::kIsolated:
        isolated();
        break;
      case Phase::kDraining:
        draining();
        break;
      default:
        replacing();
    }
  }
  commit(status_.message);
  std::ranges::move(events_, std::back_inserter(context_.steps));
}

// --- Phases ---

void IncidentPlan::opened() {
  status_.action = fault::actionName(fault::RepairAction::kReplace);
  status_.provider.name = policy_ ? policy_->provider : "";
  status_.provider.instance = cloud::instanceIdOf(incident_.node.providerId);
  status_.provider.token = incident_.meta.uid;
  go(Phase::kHeld, "a fault was seen");
  addEvidence(status_.evidence, standing_);
  if (!status_.evidence.empty()) {
    status_.fault = status_.evidence.front().reason;
    status_.transitions.back().reason = describeFault(status_.evidence.front()) + " was seen";
  }
}

void IncidentPlan::held() {
  addEvidence(status_.evidence, standing_);
  if (!faultStands()) {
    return end(Phase::kResolved, "Cleared",
               "no fault that policy " + incident_.policy + " acts on stands any more");
  }
  status_.mode = policy_ ? policy_->mode : api::Mode::kObserve;
  if (const std::string watched = whyOnlyWatched(); !watched.empty()) {
    say("would take the node out of service and have its instance replaced, but " + watched);
  } else if (const std::string wait = whyNotYet(); !wait.empty()) {
    say(wait);
  } else {
    takePlaces();
  }
}

// Reversible up to here; what follows needs the provider's word on the instance.
void IncidentPlan::isolated() {
  const auto facts = context_.fleet.facts.find(incident_.meta.name);
  if (facts == context_.fleet.facts.end()) {
    return say("asks provider " + status_.provider.name + " about instance " + status_.provider.instance);
  }
  if (facts->second.gone() && node_ && node_->ready()) {
    tell(true, "InstanceUnknown", instanceUnknown());
    return say("waits: " + instanceUnknown());
  }
  go(Phase::kDraining, "its pods are asked to leave", context_.now + policy_->drainDeadline);
}

void IncidentPlan::draining() {
  const Drain drain = planDrain(context_.index, incident_.node.name, policy_->resume, kubeletSilent(node_));
  const TimePoint deadline = status_.deadline.value_or(context_.now);
  if (drain.remaining.empty() || context_.now >= deadline) {
    return endDrain(drain.remaining);
  }
  for (const api::Pod* pod : drain.evict) {
    step(EvictPod{refTo(*pod)}, "the node is drained");
  }
  const std::string jobs =
      drain.jobs.empty() ? "" : "; " + std::to_string(drain.jobs.size()) + " of them stop with their job";
  say("waits until " + formatTime(deadline) + " for " + listPods(drain.remaining) + jobs);
  wakeAt(deadline);
}

// --- Parts of phases ---

// Once the instance is gone nobody tells any more which group it was in.
void IncidentPlan::rememberGroup() {
  const auto facts = context_.fleet.facts.find(incident_.meta.name);
  if (facts != context_.fleet.facts.end() && facts->second.instance &&
      !facts->second.instance->group.empty()) {
    status_.provider.group = facts->second.instance->group;
  }
}

bool IncidentPlan::faultStands() const {
  if (!node_ || !policy_ || !standing_.empty()) {
    return true;
  }
  // Once isolated, the label is ours and no longer tells whether the person still asks.
  return status_.isolated && std::ranges::any_of(status_.evidence, [](const fault::Finding& finding) {
           return finding.type == kPersonRequest;
         });
}

// Past the intent to replace the instance, the node is expected to go.
std::string IncidentPlan::whyStale() const {
  if (const api::NodeRecovery* other = context_.index.openIncident(incident_.node.uid);
      other && other->meta.name != incident_.meta.name) {
    return "incident " + other->meta.name + " of the same node is open";
  }
  if (status_.provider.intent) {
    return "";
  }
  if (!node_) {
    return "its Node was deleted";
  }
  if (node_->providerId != incident_.node.providerId) {
    return "its Node now belongs to another instance (" + node_->providerId + ")";
  }
  if (!incident_.node.bootId.empty() && node_->bootId != incident_.node.bootId) {
    return "the node has been booted since";
  }
  return "";
}

std::string IncidentPlan::whyOnlyWatched() const {
  if (const auto broken = context_.fleet.unreadable.policies.find(incident_.policy);
      broken != context_.fleet.unreadable.policies.end()) {
    return "policy " + incident_.policy + " cannot be read (" + broken->second + ")";
  }
  if (!policy_) {
    return "policy " + incident_.policy + " no longer exists";
  }
  if (policy_->mode == api::Mode::kObserve) {
    return "policy " + incident_.policy + " only observes";
  }
  if (node_ && managedByHyperPod(*node_)) {
    return "it is a HyperPod node, which AWS itself recovers; this release only observes those";
  }
  return "";
}

std::string IncidentPlan::whyNotYet() const {
  if (!context_.fleet.providers.contains(policy_->provider)) {
    return "waits: this controller was not told how to reach provider " + policy_->provider;
  }
  if (status_.provider.instance.empty()) {
    return "waits: the Node has no spec.providerID, so nobody can be asked to replace its instance";
  }
  return "";
}

std::string IncidentPlan::instanceUnknown() const {
  return "instance " + status_.provider.instance +
         " does not exist any more, and yet a kubelet answers under the node's name; delete the Node so that "
         "the "
         "machine registers anew";
}

void IncidentPlan::takePlaces() {
  std::map<api::Slot, int> taken;
  std::string wait = takePlace(api::Slot::kIsolated, taken);
  const bool mayIsolate = wait.empty();
  if (mayIsolate) {
    wait = takePlace(api::Slot::kInRecovery, taken);
  }
  if (!taken.empty()) {
    step(TakeSlots{policy_->meta.name, std::move(taken), context_.now}, "within the limits of the policy");
  }
  if (mayIsolate) {
    keepIsolated();
  }
  if (!wait.empty()) {
    return say(std::move(wait));
  }
  status_.started = context_.now;
  go(Phase::kIsolated, "policy " + incident_.policy + ": " +
                           (status_.evidence.empty() ? "" : describeFault(status_.evidence.front())) +
                           " -> replace");
}

std::string IncidentPlan::takePlace(api::Slot slot, std::map<api::Slot, int>& taken) {
  if (context_.budget.holds(incident_.policy, incident_.meta.name, slot)) {
    return "";
  }
  std::string wait = context_.budget.take(*policy_, incident_, slot);
  if (wait.empty()) {
    taken[slot] = context_.budget.limit(*policy_, slot);
  }
  return wait;
}

// Puts our marks on the node, and renews them when evidence was added. What a person changes there in between
// is left.
void IncidentPlan::keepIsolated() {
  if (!node_ || (node_->meta.annotation(api::kRecoveryAnnotation) == incident_.meta.name &&
                 node_->meta.annotation(api::kFaultDetailsAnnotation) == faultDetails(status_.evidence))) {
    return;
  }
  const std::string fault = status_.evidence.empty() ? "" : describeFault(status_.evidence.front());
  step(IsolateNode{incident_.node, status_.evidence}, fault);
  if (!status_.isolated) {
    status_.isolated = context_.now;
    tell(true, "NodeIsolated",
         "Out of service (label, taint, cordon): " + fault + "; policy " + incident_.policy +
             " has its instance replaced. Undo: mainstay node release " + incident_.node.name);
  }
}

void IncidentPlan::endDrain(const std::vector<const api::Pod*>& remaining) {
  for (const api::Pod* pod : remaining) {
    step(DeletePod{refTo(*pod)}, "the drain's deadline has passed");
  }
  go(Phase::kReplacing,
     remaining.empty() ? "the node is empty"
                       : "the drain's deadline passed with " + listPods(remaining) + " left",
     context_.now + kReplaceDeadline);
}

// --- Writing ---

void IncidentPlan::go(Phase to, std::string reason, std::optional<TimePoint> deadline) {
  enter(status_, to, std::move(reason), context_.now, deadline);
}

void IncidentPlan::end(Phase to, std::string outcome, std::string reason) {
  status_.outcome = std::move(outcome);
  tell(false, "RecoveryClosed", "Incident " + incident_.meta.name + " is closed: " + reason);
  go(to, std::move(reason));
}

void IncidentPlan::step(Action action, std::string reason) {
  context_.steps.push_back({incident_.meta.name, incident_.node.name, std::move(action), std::move(reason)});
}

void IncidentPlan::tell(bool warning, std::string reason, std::string message) {
  PostEvent event{{"v1", "Node", "", incident_.node.name, incident_.node.uid},
                  warning,
                  std::move(reason),
                  std::move(message)};
  events_.push_back({incident_.meta.name, incident_.node.name, std::move(event), ""});
}

void IncidentPlan::commit(std::string reason) {
  if (differs(status_, written_)) {
    step(UpdateIncident{status_}, std::move(reason));
    written_ = status_;
  }
}

}  // namespace mainstay::recovery
