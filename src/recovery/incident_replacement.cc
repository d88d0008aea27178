// Replacing, Validating and Escalated: what the provider is asked, and how the new node takes the old one's place.
#include <algorithm>

#include "api/names.h"
#include "recovery/incident_plan.h"
#include "recovery/replacement.h"

namespace mainstay::recovery {

namespace {

using api::Phase;

const api::Node* nodeNamed(const Fleet& fleet, const std::string& name) {
  const auto at = fleet.nodes.find(name);
  return at == fleet.nodes.end() ? nullptr : at->second.get();
}

}  // namespace

void IncidentPlan::replacing() {
  if (const InstanceFacts* facts = freshFacts()) {
    noteProvider(*facts);
    decideReplacement(*facts);
  }
  const bool clean = cleanUp();
  if (status_.replacement.name.empty()) {
    claim();
  }
  if (!status_.replacement.name.empty()) {
    validate();
  } else if (clean && status_.provider.group.empty()) {
    end(Phase::kResolved, "InstanceGone",
        "the instance was gone before its group was known: no replacement is waited for");
  } else if (clean && groupIsWhole()) {
    end(Phase::kResolved, "InstanceGone",
        "the instance ended before anybody asked for it, and group " + status_.provider.group +
            " is whole without it");
  }
  escalateWhenLate();
}

// The group has as many sound instances as it wants, and none of them came late enough to be waited for: it filled the
// place before the fault was seen, or was made smaller.
bool IncidentPlan::groupIsWhole() const {
  const auto facts = context_.fleet.facts.find(incident_.meta.name);
  if (status_.provider.marked || facts == context_.fleet.facts.end() || !facts->second.group) {
    return false;
  }
  const cloud::Group& group = *facts->second.group;
  const TimePoint since = launchedAfter(incident_, status_);
  const auto sound = std::ranges::count_if(group.instances, [&](const cloud::Instance& instance) {
    return instance.healthy && instance.lifecycle == "InService" && instance.launched <= since;
  });
  return sound >= group.desired;
}

// What was asked since this phase began, and since the mark.
const InstanceFacts* IncidentPlan::freshFacts() {
  const auto at = context_.fleet.facts.find(incident_.meta.name);
  const TimePoint since =
      std::max(status_.since.value_or(TimePoint{}), status_.provider.marked.value_or(TimePoint{}));
  if (at == context_.fleet.facts.end() || at->second.at < since) {
    return nullptr;
  }
  if (!at->second.trouble.empty()) {
    status_.provider.message = at->second.trouble;
    say("waits for provider " + status_.provider.name + ": " + at->second.trouble);
    return nullptr;
  }
  return &at->second;
}

void IncidentPlan::noteProvider(const InstanceFacts& facts) {
  api::ProviderRecord& record = status_.provider;
  const std::string trouble =
      record.intent && facts.group ? replacementTrouble(*facts.group, launchedAfter(incident_, status_)) : "";
  if (!trouble.empty() && trouble != record.message) {
    tell(true, facts.group->obstacle.empty() ? "CapacityRefused" : "ReplacementHeld",
         "Group " + record.group + " has not launched a replacement: " + trouble);
  }
  record.message = trouble;
  if (facts.gone()) {
    record.gone = record.gone.value_or(context_.now);
    say("waits for group " + record.group + " to launch a replacement" +
        (trouble.empty() ? "" : ": " + trouble));
  } else if (record.marked && facts.instance->healthy && !facts.instance->ending()) {
    record.message = "the mark did not stick: group " + record.group + " holds the instance as healthy";
    say(record.message);
  } else {
    const std::string& held = facts.instance->obstacle;
    record.message = held.empty() ? record.message : held;
    say("waits for instance " + record.instance + " to end (" + facts.instance->lifecycle + ")" +
        (held.empty() ? "" : ": " + held));
  }
}

// The instance is marked once, and the intent is written before.
void IncidentPlan::decideReplacement(const InstanceFacts& facts) {
  api::ProviderRecord& record = status_.provider;
  if (facts.gone() || facts.instance->ending() || !facts.instance->healthy) {
    record.intent = record.intent.value_or(context_.now);
    return;
  }
  if (record.marked) {
    return;
  }
  const auto refused = context_.fleet.refused.find(incident_.meta.name);
  if (facts.instance->group.empty() || refused != context_.fleet.refused.end()) {
    record.message = refused != context_.fleet.refused.end()
                         ? refused->second
                         : "instance " + record.instance + " is not in any group that would launch another";
    say(record.message + ". The node stays out of service, nothing was terminated");
    if (status_.phase == Phase::kReplacing) {
      go(Phase::kEscalated, status_.message);
      return tell(true, "RecoveryEscalated", status_.message);
    }
    if (facts.instance->group.empty()) {
      return;
    }
  }
  record.intent = record.intent.value_or(context_.now);
  commit("the intent is written before the call");
  step(MarkUnhealthy{record.name, incident_.node.providerId, record.token}, "to have it replaced");
  record.marked = context_.now;
  commit("the provider has taken the mark");
  tell(false, "ReplacementRequested",
       "Instance " + record.instance + " was marked unhealthy in group " + facts.instance->group);
}

// Removes what the old instance leaves in Kubernetes. True when nothing is left.
bool IncidentPlan::cleanUp() {
  if (!status_.provider.gone) {
    return false;
  }
  if (answersUnderOldName()) {
    say("instance " + status_.provider.instance +
        " is gone, and yet a kubelet answers under the node's name; it is left alone. Delete the Node so "
        "that the "
        "machine registers anew: kubectl delete node " +
        incident_.node.name);
    tell(true, "NodeOutlivesInstance", status_.message);
    return false;
  }
  const api::Node* heir = nodeNamed(context_.fleet, incident_.node.name);
  for (const api::Pod* pod : context_.index.podsOn(incident_.node.name)) {
    const bool stuck = !pod->finished() || pod->meta.deleted;
    const bool ours = node_ || !heir || pod->meta.created < heir->meta.created;
    if (stuck && ours) {
      step(ForceDeletePod{PodRef{pod->meta.ns, pod->meta.name, pod->meta.uid}}, "its instance is gone");
    }
  }
  if (node_) {
    step(DeleteNode{incident_.node.uid}, "its instance is gone");
  }
  return node_ == nullptr;
}

// Just after the end of its instance a Node still looks Ready. Another boot, or a sign of life after the end,
// is another machine.
bool IncidentPlan::answersUnderOldName() const {
  if (!node_ || !node_->ready()) {
    return false;
  }
  const bool otherBoot = !incident_.node.bootId.empty() && node_->bootId != incident_.node.bootId;
  return otherBoot || node_->condition("Ready")->lastHeartbeat > *status_.provider.gone;
}

void IncidentPlan::claim() {
  if (!status_.provider.intent) {
    return;
  }
  const api::Node* node =
      findReplacement(context_.fleet, context_.index, incident_, status_, context_.promised);
  if (!node) {
    return;
  }
  context_.promised.insert(node->meta.uid);
  status_.replacement = {node->meta.name, node->meta.uid, node->providerId, context_.now};
  if (status_.phase == Phase::kReplacing) {
    go(Phase::kValidating, node->meta.name + " joined from group " + status_.provider.group,
       status_.deadline);
  }
}

void IncidentPlan::validate() {
  const std::string name = status_.replacement.name;
  const api::Node* node = nodeNamed(context_.fleet, name);
  const api::NodeRecovery* faulty = context_.index.openIncident(status_.replacement.uid);
  if (faulty && !node_) {
    return end(Phase::kResolved, "Replaced",
               "replaced by " + name + ", which has an incident of its own (" + faulty->meta.name + ")");
  }
  if (!node || node->meta.uid != status_.replacement.uid) {
    status_.replacement = {};
    if (status_.phase == Phase::kValidating) {
      go(Phase::kReplacing, "its replacement " + name + " was lost", context_.now + kReplaceDeadline);
    }
    return;
  }
  const std::string missing = missingDevices(incident_.allocatable, node->allocatable);
  const std::string& label = node->meta.label(api::kHealthStatusLabel);
  if (!node->ready()) {
    say("waits for replacement " + name + " to be Ready");
  } else if (!missing.empty()) {
    say("waits for the devices of replacement " + name + ": " + missing);
  } else if (!label.empty() && label != api::kSchedulable) {
    say("waits: replacement " + name + " was labelled " + label + " by somebody else");
  } else if (!node_) {
    if (label.empty()) {
      step(SetSchedulable{node->meta.uid}, "Ready, and as many devices as the old node");
      context_.steps.back().node = name;
    }
    end(Phase::kResolved, "Replaced", "replaced by " + name);
  }
}

void IncidentPlan::escalateWhenLate() {
  if ((status_.phase != Phase::kReplacing && status_.phase != Phase::kValidating) || !status_.deadline) {
    return;
  }
  if (context_.now < *status_.deadline) {
    return wakeAt(*status_.deadline);
  }
  const std::string text =
      "no sound replacement within " + humanDuration(kReplaceDeadline) + ": " + status_.message;
  go(Phase::kEscalated, text);
  tell(true, "RecoveryEscalated",
       text + ". It is still watched. See: mainstay why node " + incident_.node.name);
}

}  // namespace mainstay::recovery
