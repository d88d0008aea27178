#include "recovery/planner.h"

#include <algorithm>
#include <charconv>

#include "api/names.h"
#include "recovery/evidence.h"
#include "recovery/incident_plan.h"
#include "recovery/life_cycle.h"
#include "recovery/replacement.h"

namespace mainstay::recovery {
namespace {

// Kubernetes allows 253 bytes for an object's name; the rest is UID and number.
constexpr std::size_t kMaxNodePart = 230;
constexpr std::size_t kUidPart = 8;

class Planner {
 public:
  Planner(const Fleet& fleet, TimePoint now)
      : fleet_(fleet),
        index_(fleet),
        budget_(fleet, index_, now),
        context_{
            .fleet = fleet, .index = index_, .budget = budget_, .now = now, .promised = {}, .steps = {}} {}

  Plan run() {
    tellOfPolicies();
    tellOfUnreadable();
    for (const api::NodeRecovery* incident : openIncidents()) {
      IncidentPlan(context_, *incident).run();
    }
    for (const auto& [name, node] : fleet_.nodes) {
      lookAt(*node);
    }
    freePlaces();
    forgetOld();
    return {std::move(context_.steps), std::min(context_.wake, budget_.wake())};
  }

 private:
  void tellOfPolicies();
  void tellOfUnreadable();
  std::vector<const api::NodeRecovery*> openIncidents() const;
  void lookAt(const api::Node& node);
  bool openWhenFaulty(const api::Node& node, const api::RecoveryPolicy& policy);
  bool released(const api::Node& node, const fault::Finding& fault) const;
  api::Resources allocatableOf(const api::Node& node) const;
  std::string incidentName(const api::Node& node) const;
  void tidy(const api::Node& node);
  void freePlaces();
  void forgetOld();

  void step(const std::string& incident, const std::string& node, Action action, std::string reason) {
    context_.steps.push_back({incident, node, std::move(action), std::move(reason)});
  }
  void tell(kube::EventSubject subject, std::string reason, std::string message) {
    step("", "", PostEvent{std::move(subject), true, std::move(reason), std::move(message)}, "");
  }
  void tellOf(const api::Node& node, std::string reason, std::string message) {
    tell({"v1", "Node", "", node.meta.name, node.meta.uid}, std::move(reason), std::move(message));
  }

  const Fleet& fleet_;
  const FleetIndex index_;
  Budget budget_;
  PlanContext context_;
};

kube::EventSubject ours(const api::Resource& resource, const std::string& name, const std::string& uid) {
  return {resource.apiVersion(), resource.kind, "", name, uid};
}

void Planner::tellOfPolicies() {
  for (const auto& [holds, yields] : index_.overlaps()) {
    const api::RecoveryPolicy& policy = *fleet_.policies.at(holds);
    tell(ours(api::kRecoveryPolicies, holds, policy.meta.uid), "PoliciesOverlap",
         "Policies " + holds + " and " + yields + " select the same nodes; there " + holds + " (" +
             std::string(modeName(policy.mode)) + ") holds and " + yields + " is not looked at");
  }
}

void Planner::tellOfUnreadable() {
  for (const auto& [name, why] : fleet_.unreadable.policies) {
    tell(ours(api::kRecoveryPolicies, name, ""), "PolicyUnreadable",
         why + ". Its incidents stay as they are until it is mended");
  }
  for (const auto& [name, why] : fleet_.unreadable.incidents) {
    tell(ours(api::kNodeRecoveries, name, ""), "IncidentUnreadable",
         why + ". Nothing is done about its node until it is mended or deleted");
  }
  for (const auto& [name, why] : fleet_.unreadable.nodes) {
    tell({"v1", "Node", "", name, ""}, "NodeUnreadable", why + ". Nothing is done about it");
  }
}

// The first that was opened is the first to get a place.
std::vector<const api::NodeRecovery*> Planner::openIncidents() const {
  std::vector<const api::NodeRecovery*> open;
  for (const auto& [name, incident] : fleet_.incidents) {
    if (incident->open()) {
      open.push_back(incident.get());
    }
  }
  std::ranges::stable_sort(open, {},
                           [](const api::NodeRecovery* incident) { return incident->meta.created; });
  return open;
}

void Planner::lookAt(const api::Node& node) {
  const api::RecoveryPolicy* policy = index_.policyOf(node);
  const bool spoken = index_.openIncident(node.meta.uid) != nullptr ||
                      fleet_.unreadable.incidents.contains(node.meta.annotation(api::kRecoveryAnnotation));
  if (!policy || spoken) {
    return;
  }
  if (const api::NodeRecovery* end = index_.endOf(node.providerId); end && node.ready()) {
    return tellOf(node, "NodeOutlivesInstance",
                  "Instance " + end->status.provider.instance +
                      " is gone, and yet a kubelet answers under this name; the node is left alone. Delete "
                      "it so that the "
                      "machine registers anew");
  }
  if (!openWhenFaulty(node, *policy) && policy->mode == api::Mode::kEnforce && !managedByHyperPod(node)) {
    tidy(node);
  }
}

bool Planner::openWhenFaulty(const api::Node& node, const api::RecoveryPolicy& policy) {
  Standing standing = standingFaults(node, policy, context_.now);
  context_.wake = std::min(context_.wake, standing.wake);
  if (!standing.trouble.empty()) {
    tellOf(node, "FindingsUnreadable", standing.trouble + ". Only the node's conditions are looked at");
  }
  if (node.meta.label(api::kHealthStatusLabel) == api::kPendingReboot) {
    tellOf(node, "RebootNotImplemented",
           std::string("The label asks for a reboot, and this release can only replace; label the node ") +
               api::kPendingReplacement + " to ask for that");
  }
  std::erase_if(standing.faults, [&](const fault::Finding& fault) { return released(node, fault); });
  if (std::optional<fault::Finding> request = personRequest(node, context_.now)) {
    standing.faults.push_back(*std::move(request));
  }
  if (standing.faults.empty() || node.meta.deleted) {
    return false;
  }
  step(incidentName(node), node.meta.name,
       OpenIncident{identityOf(node), allocatableOf(node), policy.meta.name},
       describeFault(standing.faults.front()));
  return true;
}

// What the node is to offer: a replacement that faults before its devices came owes what the first node offered.
api::Resources Planner::allocatableOf(const api::Node& node) const {
  api::Resources offered = node.allocatable;
  for (const auto& [name, incident] : fleet_.incidents) {
    if (incident->open() && incident->status.replacement.uid == node.meta.uid) {
      for (const auto& [resource, amount] : incident->allocatable) {
        offered[resource] = std::max(offered[resource], amount);
      }
    }
  }
  return offered;
}

// A person called this very fault healthy, and it has not been seen again since.
bool Planner::released(const api::Node& node, const fault::Finding& fault) const {
  return std::ranges::any_of(index_.closedIncidents(node.meta.uid), [&](const api::NodeRecovery* incident) {
    return incident->status.outcome == kReleased && covers(incident->status.evidence, fault);
  });
}

// <node>-<first 8 of UID>-<n>: controllers that race choose the same name, and the second gets AlreadyExists.
std::string Planner::incidentName(const api::Node& node) const {
  std::string part = node.meta.name.substr(0, kMaxNodePart);
  while (!part.empty() && (part.back() == '.' || part.back() == '-')) {
    part.pop_back();
  }
  const std::string prefix = part + "-" + node.meta.uid.substr(0, kUidPart) + "-";
  int highest = 0;
  for (const api::NodeRecovery* incident : index_.closedIncidents(node.meta.uid)) {
    const std::string& name = incident->meta.name;
    int number = 0;
    if (name.starts_with(prefix)) {
      std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
    }
    highest = std::max(highest, number);
  }
  return prefix + std::to_string(highest + 1);
}

// A node without an incident: marks that a closed one left behind come off, and a sound new node may take
// work.
void Planner::tidy(const api::Node& node) {
  if (!node.meta.annotation(api::kRecoveryAnnotation).empty()) {
    step("", node.meta.name, RestoreNode{node.meta.uid, api::kSchedulable},
         "its incident " + node.meta.annotation(api::kRecoveryAnnotation) + " is closed");
  } else if (node.ready() && !node.meta.labels.contains(api::kHealthStatusLabel) &&
             !mayBeAwaited(fleet_, node)) {
    step("", node.meta.name, SetSchedulable{node.meta.uid}, "Ready, and no fault stands");
  }
}

// Places of incidents that are closed or deleted; an escalated one no longer is in recovery.
void Planner::freePlaces() {
  for (const auto& [name, policy] : fleet_.policies) {
    std::map<std::string, std::vector<api::Slot>> over;
    for (const api::TakenSlot& taken : policy->active) {
      const auto at = fleet_.incidents.find(taken.recovery);
      const bool open = (at != fleet_.incidents.end() && at->second->open()) ||
                        fleet_.unreadable.incidents.contains(taken.recovery);
      const bool escalated =
          open && at != fleet_.incidents.end() && at->second->status.phase == api::Phase::kEscalated;
      if (!open || (escalated && taken.slot == api::Slot::kInRecovery)) {
        over[taken.recovery].push_back(taken.slot);
      }
    }
    for (auto& [incident, slots] : over) {
      step(incident, "", ReleaseSlots{name, std::move(slots)}, "its incident no longer needs the place");
    }
  }
}

void Planner::forgetOld() {
  for (const auto& [name, incident] : fleet_.incidents) {
    if (incident->open() || !incident->status.closed) {
      continue;
    }
    const auto node = fleet_.nodes.find(incident->node.name);
    const bool nodeIsThere =
        (node != fleet_.nodes.end() && (node->second->meta.uid == incident->node.uid ||
                                        node->second->providerId == incident->node.providerId)) ||
        fleet_.unreadable.nodes.contains(incident->node.name);
    const std::vector<const api::NodeRecovery*>& all = index_.closedIncidents(incident->node.uid);
    const bool newest = std::ranges::none_of(
        all, [&](const api::NodeRecovery* other) { return other->status.closed > incident->status.closed; });
    const TimePoint due = *incident->status.closed + kKeepClosed;
    if (nodeIsThere && newest) {
      continue;
    }
    if (due <= context_.now) {
      step(name, "", DeleteIncident{incident->meta.uid}, "closed for " + humanDuration(kKeepClosed));
    } else {
      context_.wake = std::min(context_.wake, due);
    }
  }
}

}  // namespace

Plan plan(const Fleet& fleet, TimePoint now) {
  return Planner(fleet, now).run();
}

}  // namespace mainstay::recovery
