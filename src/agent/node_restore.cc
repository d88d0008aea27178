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

// The same boot is the same machine: whose instance it is, the Node says later.
void NodeState::recall(const Standing& standing) {
  std::vector<fault::Finding> findings;
  std::ranges::transform(standing.findings, std::back_inserter(findings), &KnownFinding::finding);
  for (Held& held : conditions_) {
    const auto old = std::ranges::find(standing.conditions, held.condition.type, &api::Condition::type);
    if (old == standing.conditions.end()) {
      continue;
    }
    const bool isOver = saysWhatIsOver(*old, findings);
    bool holds = inEvidence(*old, findings);
    for (const KnownFinding& known : standing.findings) {
      if (known.finding.type == old->type && inEvidence(known.finding)) {
        holds = true;
        adoptFinding(known.finding, known.message, known.onNode);
      }
    }
    if (holds) {
      adopt(held, *old, isOver);
    }
  }
  ++restorations_;
  ++revision_;
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
  const bool readable = findings.has_value();
  if (!readable) {
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
    if (!held.owner.empty() || !old) {
      continue;
    }
    if (held.translated) {
      held.condition = *old;  // for its transition time; what it says is translated anew
    } else if (old->status == "True") {
      restoreCondition(held, *old, *findings, now);
    }
  }
  if (readable) {
    endTakenOff(node, *findings, now);
  }
  ended_.clear();
  translate(now);
  if (!expectsUndeclared_) {
    abandonUndeclared(object, node, now);
  }
  hear(object, now);
  ++restorations_;
  ++revision_;
  return {};
}

// A condition that is not True any more takes its findings along.
void NodeState::endTakenOff(const api::Node& node, const std::vector<fault::Finding>& findings,
                            TimePoint now) {
  std::string ids;
  const auto known = seen_;
  for (const auto& [id, seen] : known) {
    const api::Condition* condition = node.condition(seen.finding.type);
    const bool there =
        condition && condition->status == "True" && std::ranges::count(findings, id, &fault::Finding::id) > 0;
    if (!there && !seen.onNode.empty() && seen.onNode == node.meta.uid) {
      ids += (ids.empty() ? "" : ", ") + id;
      resolve(seen.finding.type, seen.finding.rule, seen.finding.device, now);
    }
  }
  if (!ids.empty()) {
    addEvent({kAgentSource, false, "FindingsTakenOff",
              "over, because they were taken off the node while this agent was away: " + ids +
                  ". What is seen again is raised again",
              "", now});
  }
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
  const bool told =
      std::ranges::any_of(events_, [&](const NodeEvent& event) { return event.condition == old.type; });
  const bool isOver = saysWhatIsOver(old, findings);
  bool holds = inEvidence(old, findings);
  for (const fault::Finding& finding : findings) {
    if (finding.type == old.type && inEvidence(finding)) {
      holds = true;
      adoptFinding(finding, finding.reason == old.reason && !isOver ? old.message : "", "");
    }
  }
  if (holds && (!problemNow || held.condition.reason == old.reason)) {
    adopt(held, old, isOver);
  } else if (!holds && held.told && held.condition.status == "False" && !told) {
    set(held, "False", held.spec.reason, held.spec.message, now, held.spec.source);
  }
}

// The condition goes on: its Event was sent before the restart, its counter must not read zero. It goes on in its old
// words unless they are of a finding that is over.
void NodeState::adopt(Held& held, const api::Condition& old, bool isOver) {
  const bool wasTrue = held.condition.status == "True";
  held.condition = old;
  held.told = true;
  if (isOver) {
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

// Known already: from the file, or seen since the start.
void NodeState::adoptFinding(const fault::Finding& finding, const std::string& message,
                             const std::string& onNode) {
  const auto [at, isNew] = seen_.try_emplace(finding.id);
  Seen& seen = at->second;
  if (isNew) {
    seen.finding = finding;
    seen.message = message;
    seen.onNode = onNode;
  } else {
    if (finding.first < seen.finding.first) {
      seen.finding.first = finding.first;
      seen.finding.seq = finding.seq;
    }
    seen.finding.last = std::max(seen.finding.last, finding.last);
    seen.finding.count = std::max(seen.finding.count, finding.count);
  }
  seen.finding.instance = instance_;
  seen.countedUntil = std::max(seen.countedUntil.value_or(TimePoint{}), finding.last + kStampSlack);
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
  const bool sameInstance = finding.instance.empty() || instance_.empty() || finding.instance == instance_;
  if (!sameInstance || ended_.contains(finding.id)) {
    return false;
  }
  const auto spec = reasonSpec(finding.type, finding.reason, finding.device);
  if (!spec) {
    return mayBeUndeclared(finding.type);
  }
  const bool sameBoot = finding.bootId == machine_.bootId;
  return !isOutdated(finding, *spec) && (sameBoot || spec->clearOn == fault::ClearOn::kInstance);
}

bool NodeState::saysWhatIsOver(const api::Condition& old, const std::vector<fault::Finding>& findings) const {
  return !inEvidence(old, findings) || std::ranges::any_of(findings, [&](const fault::Finding& finding) {
    return finding.type == old.type && finding.reason == old.reason && !inEvidence(finding);
  });
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
