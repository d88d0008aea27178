// The part of NodeState that takes over, after a restart of the agent, what the Node says.
#include <algorithm>
#include <set>

#include "agent/node_state.h"
#include "agent/source_health.h"
#include "api/managed_fields.h"
#include "api/names.h"

namespace mainstay::agent {
namespace {

// Two runs of the agent turn one kernel stamp into wall times that differ by the drift of two clocks, and a
// condition's time has whole seconds.
constexpr Duration kStampSlack = std::chrono::milliseconds(100);
constexpr Duration kBootSlack = std::chrono::seconds(2);

}  // namespace

std::map<std::string, std::string> conditionOwners(const Json& node, std::string_view manager) {
  std::map<std::string, std::string> owners;
  for (const auto& [type, managers] : api::conditionManagers(node)) {
    for (const std::string& other : managers) {
      if (other != manager) {
        owners[type] = other;
      }
    }
  }
  return owners;
}

Result<> NodeState::restore(const Json& object, bool takeConditions, TimePoint now) {
  MAINSTAY_ASSIGN(const api::Node node, api::decodeNode(object));
  instance_ = node.providerId.empty() ? node.meta.uid : node.providerId;
  for (auto& [id, seen] : seen_) {
    seen.finding.instance = instance_;
  }
  if (!takeConditions) {
    markOwners(object);
  }
  auto findings = fault::decodeFindings(node.meta.annotation(api::kFindingsAnnotation));
  if (!findings) {
    addEvent({kAgentSource, true, "FindingsUnreadable",
              std::string("the annotation ") + api::kFindingsAnnotation +
                  " is not as this agent wrote it, and is written anew: " + findings.error().toString(),
              "", now});
    findings.emplace();
  }
  if (expectsUndeclared_) {
    holdUndeclared(object, node);
  }
  for (Held& held : conditions_) {
    const api::Condition* old = node.condition(held.condition.type);
    if (held.owner.empty() && old && old->status == "True") {
      restoreCondition(held, *old, *findings, now);
    }
  }
  noteCordon(object);
  restored_ = true;
  if (!expectsUndeclared_) {
    abandonUndeclared(object, node, now);
  }
  ++revision_;
  return {};
}

void NodeState::noteCordon(const Json& node) {
  const Json* unschedulable = mainstay::find(node, "spec", "unschedulable");
  const bool ours = findString(node, "metadata", "annotations", api::kCordonedAnnotation) == "true";
  cordoned_ = unschedulable && unschedulable->is_bool() && unschedulable->get_bool() && !ours;
}

// What only our field manager has written, and nobody of this run declares.
std::vector<api::Condition> NodeState::undeclared(const Json& object, const api::Node& node) {
  std::vector<api::Condition> all;
  for (const auto& [type, managers] : api::conditionManagers(object)) {
    const api::Condition* condition = node.condition(type);
    if (managers == std::set<std::string>{api::kAgentManager} && condition && !find(type)) {
      all.push_back(*condition);
    }
  }
  return all;
}

// A problem goes on with its findings; what was no problem is not said any more, for nobody looks.
void NodeState::holdUndeclared(const Json& object, const api::Node& node) {
  for (const api::Condition& old : undeclared(object, node)) {
    if (old.status == "True") {
      conditions_.push_back(
          {{kAgentSource, old.type, "", ""}, {old.type, "False", "", "", old.lastTransition, {}}, "", false});
    }
  }
}

void NodeState::abandonUndeclared(const Json& object, const api::Node& node, TimePoint now) {
  std::string types;
  for (const api::Condition& old : undeclared(object, node)) {
    abandoned_.push_back(old.type);
    types += (types.empty() ? "" : ", ") + old.type;
  }
  if (!types.empty()) {
    addEvent({kAgentSource, false, "ConditionRemoved",
              "taken off the node, with their findings: " + types +
                  ". An earlier run of this agent wrote them, and no rule or check of its present "
                  "configuration does",
              "", now});
  }
}

void NodeState::markOwners(const Json& node) {
  const auto owners = conditionOwners(node, api::kAgentManager);
  for (Held& held : conditions_) {
    const auto owner = owners.find(held.condition.type);
    if (owner == owners.end() || !held.owner.empty()) {
      continue;
    }
    held.owner = owner->second.empty() ? "an unnamed field manager" : owner->second;
    addEvent({kAgentSource,
              true,
              "ConditionOwnedByOther",
              "the node condition " + held.condition.type + " is kept by \"" + held.owner +
                  "\", so it is left alone: this agent publishes neither it nor its findings. Stop the "
                  "other writer and start the agent with --take-conditions, or remove the condition from "
                  "the agent's config",
              "",
              {}});
  }
}

void NodeState::restoreCondition(Held& held, const api::Condition& old,
                                 const std::vector<fault::Finding>& findings, TimePoint now) {
  const bool problemNow = held.condition.status == "True";
  bool holds = inEvidence(old, findings);
  const bool saysWhatIsOver = !holds || std::ranges::any_of(findings, [&](const fault::Finding& finding) {
    return finding.type == old.type && finding.reason == old.reason && !inEvidence(finding);
  });
  for (const fault::Finding& finding : findings) {
    if (finding.type == old.type && inEvidence(finding)) {
      holds = true;
      adoptFinding(finding, finding.reason == old.reason && !saysWhatIsOver ? old.message : "");
    }
  }
  if (holds && (!problemNow || held.condition.reason == old.reason)) {
    adopt(held, old, saysWhatIsOver);
  } else if (!holds && held.told && held.condition.status == "False") {
    set(held, "False", held.spec.reason, held.spec.message, now, held.spec.source);
  }
}

// The condition goes on: its Event was sent before the restart, its counter must not read zero. It goes on in its old
// words unless they are of a finding that is over.
void NodeState::adopt(Held& held, const api::Condition& old, bool saysWhatIsOver) {
  const bool wasTrue = held.condition.status == "True";
  held.condition = old;
  held.told = true;
  if (saysWhatIsOver) {
    sayWorst(held);
  }
  const std::string& reason = held.condition.reason;
  const auto spec = reasonSpec(old.type, reason, "");
  if (wasTrue) {
    std::erase_if(events_, [&](const NodeEvent& event) { return event.condition == old.type; });
  } else if (spec && spec->countsInMetrics) {
    metrics_.push_back({"", reason, 1});
    metrics_.push_back({old.type, reason, 1});
  }
}

void NodeState::adoptFinding(const fault::Finding& finding, const std::string& message) {
  const auto [at, isNew] = seen_.try_emplace(finding.id);
  Seen& seen = at->second;
  if (isNew) {
    seen.finding = finding;
    seen.message = message;
  } else {
    seen.finding.first = finding.first;
    seen.finding.seq = finding.seq;
    seen.finding.count = std::max(seen.finding.count, finding.count);
  }
  seen.finding.instance = instance_;
  seen.countedUntil = finding.last + kStampSlack;
  dropOldestFinding();
}

// "" as device: of any.
std::optional<ReasonSpec> NodeState::reasonSpec(const std::string& type, const std::string& reason,
                                                const std::string& device) const {
  std::optional<ReasonSpec> strictest;
  for (const ReasonSpec& spec : reasons_) {
    const bool ofDevice = spec.device.empty() || device.empty() || spec.device == device;
    if (spec.condition == type && spec.reason == reason && ofDevice &&
        (!strictest || spec.clearOn > strictest->clearOn)) {
      strictest = spec;
    }
  }
  return strictest;
}

// A check that has spoken since the start is not to be overruled by what it found before, unless that is to stay.
bool NodeState::isOutdated(const fault::Finding& finding, const ReasonSpec& spec) const {
  return spec.clearOn == fault::ClearOn::kEvidence &&
         std::ranges::any_of(conditions_, [&](const Held& held) { return held.checks.contains(finding.id); });
}

// No file of rules speaks of the agent's own eyes.
bool NodeState::mayBeUndeclared(const std::string& type) const {
  return expectsUndeclared_ && type != kMonitorDegraded;
}

bool NodeState::inEvidence(const fault::Finding& finding) const {
  const auto spec = reasonSpec(finding.type, finding.reason, finding.device);
  const bool sameInstance = finding.instance.empty() || finding.instance == instance_;
  if (!spec) {
    return sameInstance && mayBeUndeclared(finding.type);
  }
  const bool sameBoot = finding.bootId == machine_.bootId;
  return sameInstance && !isOutdated(finding, *spec) &&
         (sameBoot || spec->clearOn == fault::ClearOn::kInstance);
}

// By its findings; a condition without one (written by another program) by its time.
bool NodeState::inEvidence(const api::Condition& old, const std::vector<fault::Finding>& findings) const {
  bool hasFinding = false;
  for (const fault::Finding& finding : findings) {
    if (finding.type == old.type && finding.reason == old.reason) {
      hasFinding = true;
      if (inEvidence(finding)) {
        return true;
      }
    }
  }
  const bool checked = std::ranges::any_of(
      conditions_, [&](const Held& held) { return held.condition.type == old.type && !held.checks.empty(); });
  if (hasFinding || checked) {
    return false;
  }
  const auto spec = reasonSpec(old.type, old.reason, "");
  const bool sameBoot = old.lastTransition >= machine_.booted - kBootSlack;
  return spec ? sameBoot || spec->clearOn == fault::ClearOn::kInstance : mayBeUndeclared(old.type);
}

}  // namespace mainstay::agent
