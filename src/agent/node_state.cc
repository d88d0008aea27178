#include "agent/node_state.h"

#include <algorithm>
#include <set>

#include "api/names.h"
#include "fault/text.h"

namespace mainstay::agent {
namespace {

std::string changeText(const api::Condition& condition) {
  return "Node condition " + condition.type + " is now: " + condition.status +
         ", reason: " + condition.reason + ", message: " + fault::quoteLikeGo(condition.message);
}

}  // namespace

NodeState::NodeState(const std::vector<ConditionSpec>& conditions, std::vector<ReasonSpec> reasons,
                     Machine machine, TimePoint now, Vocabulary vocabulary)
    : reasons_(std::move(reasons)), machine_(std::move(machine)), vocabulary_(std::move(vocabulary)) {
  for (const ConditionSpec& spec : conditions) {
    if (!find(spec.type)) {
      conditions_.push_back({spec, {spec.type, "False", spec.reason, spec.message, now, {}}, "", false});
    }
    Held* held = find(spec.type);
    held->told = held->told || !spec.silentAtFirst;
  }
  for (const std::string& type : vocabulary_.types()) {
    if (!find(type)) {
      conditions_.push_back({.spec = {},
                             .condition = {type, "Unknown", "", "", now, {}},
                             .owner = "",
                             .told = false,
                             .translated = true});
    }
  }
  translate(now);
  std::set<std::pair<std::string, std::string>> known;
  for (const ReasonSpec& reason : reasons_) {
    for (const std::string& condition : {std::string(), reason.condition}) {
      if (reason.countsInMetrics && reason.countsFromStart &&
          known.emplace(condition, reason.reason).second) {
        metrics_.push_back({condition, reason.reason, 0});
      }
    }
  }
}

void NodeState::report(const Problem& problem) {
  if (problem.condition.empty()) {
    addEvent({problem.source, true, problem.reason, problem.message, "", problem.time});
    count(problem.reason, problem.countsInMetrics);
    return;
  }
  Held* held = find(problem.condition);
  if (!held) {
    return;
  }
  const Sight sight = remember(problem);
  const bool isTrue = held->condition.status == "True";
  if (isTrue && problem.joins) {
    if (sight != Sight::kAgain) {
      sayWorst(*held);
      if (problem.countsInMetrics) {
        setGauge(problem.condition, problem.reason, 1);
      }
    }
    count(problem.reason, problem.countsInMetrics && sight == Sight::kFirst);
    return;
  }
  if (isTrue && held->condition.reason == problem.reason) {
    return;
  }
  if (problem.countsInMetrics) {
    if (isTrue) {
      setGauge(problem.condition, held->condition.reason, 0);
    }
    setGauge(problem.condition, problem.reason, 1);
  }
  count(problem.reason, problem.countsInMetrics);
  set(*held, "True", problem.reason, problem.message, problem.time, problem.source);
}

void NodeState::resolve(const std::string& type, const std::string& rule, const std::string& device,
                        TimePoint now) {
  const auto at = seen_.find(fault::findingId(rule, device));
  if (at == seen_.end() || at->second.finding.type != type) {
    return;
  }
  endReason(type, forget(at->first));
  if (Held* held = find(type)) {
    settle(*held, now);
  }
}

// Takes a finding away, and what a check said of it; returns its reason.
std::string NodeState::forget(std::string id) {
  const fault::Finding finding = seen_.at(id).finding;
  seen_.erase(id);
  if (Held* held = find(finding.type)) {
    held->checks.erase(id);
  }
  if (instance_.empty() && ended_.size() < fault::kMaxFindings) {
    ended_.insert(std::move(id));
  }
  return finding.reason;
}

// After something is over: the condition says the worst of what is left, else Unknown while a check cannot tell, else
// that there is no problem.
void NodeState::settle(Held& held, TimePoint now) {
  if (!problemsOf(held).empty()) {
    sayWorst(held);
    return;
  }
  if (held.condition.status != "True") {
    return;
  }
  setGauge(held.condition.type, held.condition.reason, 0);
  if (const LastWord* unknown = unknownOf(held)) {
    set(held, "Unknown", unknown->reason, unknown->message, now, held.spec.source);
  } else {
    set(held, "False", held.spec.reason, held.spec.message, now, held.spec.source);
  }
}

// The gauge of a reason that no finding has any more.
void NodeState::endReason(const std::string& type, const std::string& reason) {
  const auto hasReason = [&](const auto& entry) {
    return entry.second.finding.type == type && entry.second.finding.reason == reason;
  };
  if (std::ranges::none_of(seen_, hasReason)) {
    setGauge(type, reason, 0);
  }
}

void NodeState::sayWorst(Held& held) {
  const Seen* worst = nullptr;
  for (const auto& [id, seen] : seen_) {
    const bool ofType = seen.finding.type == held.condition.type;
    if (ofType && (!worst || fault::isWorse(seen.finding, worst->finding))) {
      worst = &seen;
    }
  }
  if (worst) {
    held.condition.reason = worst->finding.reason;
    held.condition.message = worst->message.empty() ? worst->finding.line : worst->message;
    ++revision_;
  }
}

void NodeState::set(Held& held, const std::string& status, const std::string& reason,
                    const std::string& message, TimePoint time, const std::string& source) {
  held.told = true;
  held.condition.status = status;
  held.condition.reason = reason;
  held.condition.message = std::string(fault::cutUtf8(message, kMaxMessage));
  held.condition.lastTransition = time;
  tellChange(held, source, time);
}

void NodeState::tellChange(const Held& held, const std::string& source, TimePoint time) {
  const api::Condition& condition = held.condition;
  addEvent(
      {source, condition.status == "True", condition.reason, changeText(condition), condition.type, time});
  ++revision_;
}

NodeState::Sight NodeState::remember(const Problem& problem) {
  const std::string id = fault::findingId(problem.rule, problem.device);
  const auto [at, isNew] = seen_.try_emplace(id);
  fault::Finding& finding = at->second.finding;
  if (!isNew) {
    const bool readAgain = at->second.countedUntil && problem.time <= *at->second.countedUntil;
    finding.count += readAgain ? 0 : 1;
    finding.last = std::max(finding.last, problem.time);
    refreshes_ += readAgain ? 0 : 1;
    at->second.onNode = readAgain ? at->second.onNode : "";
    return problem.joins && revise(at->second, problem) ? Sight::kChanged : Sight::kAgain;
  }
  ended_.erase(id);
  finding.id = id;
  finding.type = problem.condition;
  finding.reason = problem.reason;
  finding.faultClass = problem.faultClass;
  finding.device = problem.device;
  finding.action = problem.action;
  finding.rule = problem.rule;
  finding.seq = problem.seq;
  finding.bootId = machine_.bootId;
  finding.instance = instance_;
  finding.first = problem.time;
  finding.last = problem.time;
  finding.line = std::string(fault::cutUtf8(problem.line, fault::kMaxFindingLine));
  at->second.message = std::string(fault::cutUtf8(problem.message, kMaxMessage));
  ++revision_;
  dropOldestFinding();
  return Sight::kFirst;
}

// What is known of it now, where a finding says more than when it was first seen. True when something changed.
bool NodeState::revise(Seen& seen, const Problem& problem) {
  fault::Finding& finding = seen.finding;
  if (finding.action == problem.action && finding.reason == problem.reason &&
      seen.message == problem.message) {
    return false;
  }
  finding.action = problem.action;
  const std::string old = std::exchange(finding.reason, problem.reason);
  if (old != finding.reason) {
    endReason(finding.type, old);
  }
  seen.message = std::string(fault::cutUtf8(problem.message, kMaxMessage));
  ++revision_;
  return true;
}

// Of a type that has others: a condition whose last finding went could not be resolved any more.
void NodeState::dropOldestFinding() {
  if (seen_.size() <= fault::kMaxFindings) {
    return;
  }
  std::map<std::string, int> ofType;
  for (const auto& [id, seen] : seen_) {
    ++ofType[seen.finding.type];
  }
  seen_.erase(std::ranges::min_element(seen_, {}, [&](const auto& entry) {
    const fault::Finding& finding = entry.second.finding;
    return std::pair(ofType[finding.type] == 1, finding.last);
  }));
}

void NodeState::addEvent(NodeEvent event) {
  if (events_.size() == kMaxEvents) {
    events_.pop_front();
  }
  events_.push_back(std::move(event));
}

void NodeState::count(const std::string& reason, bool countsInMetrics) {
  if (countsInMetrics) {
    metrics_.push_back({"", reason, 1});
  }
}

void NodeState::translate(TimePoint now) {
  if (vocabulary_.empty()) {
    return;
  }
  std::vector<api::Condition> ours;
  for (const Held& held : conditions_) {
    if (held.told && !held.translated) {
      ours.push_back(held.condition);
    }
  }
  for (api::Condition& said : vocabulary_.translate(ours, findings())) {
    Held* held = find(said.type);
    api::Condition& old = held->condition;
    if (!held->translated || (held->told && old.status == said.status && old.reason == said.reason &&
                              old.message == said.message)) {
      continue;
    }
    said.lastTransition = old.status == said.status ? old.lastTransition : now;
    held->told = true;
    old = std::move(said);
    ++revision_;
  }
}

void NodeState::setGauge(const std::string& type, const std::string& reason, double value) {
  metrics_.push_back({type, reason, value});
}

Json NodeState::patch(TimePoint now) const {
  JsonArray conditions;
  std::vector<fault::Finding> findings;
  for (const Held& held : conditions_) {
    if (!held.owner.empty() || !held.told) {
      continue;
    }
    JsonObject condition{{"type", held.condition.type},
                         {"status", held.condition.status},
                         {"lastHeartbeatTime", formatTime(now)},
                         {"lastTransitionTime", formatTime(held.condition.lastTransition)}};
    if (!held.condition.reason.empty()) {
      condition["reason"] = held.condition.reason;
    }
    if (!held.condition.message.empty()) {
      condition["message"] = held.condition.message;
    }
    conditions.push_back(std::move(condition));
    for (const auto& [id, seen] : seen_) {
      if (seen.finding.type == held.condition.type) {
        findings.push_back(seen.finding);
        findings.back().also = vocabulary_.namesOf(seen.finding);
      }
    }
  }
  for (const std::string& type : abandoned_) {
    conditions.push_back(JsonObject{{"$patch", "delete"}, {"type", type}});
  }
  const Json annotation = findings.empty() ? Json(nullptr) : Json(fault::encodeFindings(std::move(findings)));
  JsonObject annotations{{api::kFindingsAnnotation, annotation}};
  if (!heard_.empty()) {
    annotations[api::kClearAnnotation] = nullptr;
  }
  return JsonObject{{"metadata", JsonObject{{"annotations", std::move(annotations)}}},
                    {"status", JsonObject{{"conditions", std::move(conditions)}}}};
}

void NodeState::onPublished(const Json& node) {
  abandoned_.clear();
  const std::string uid = findString(node, "metadata", "uid");
  const auto there =
      fault::decodeFindings(findString(node, "metadata", "annotations", api::kFindingsAnnotation));
  for (auto& [id, seen] : seen_) {
    const bool isThere = there && std::ranges::count(*there, id, &fault::Finding::id) > 0;
    const std::string before = std::exchange(seen.onNode, isThere ? uid : seen.onNode);
    placings_ += before == seen.onNode ? 0 : 1;
  }
}

std::vector<api::Condition> NodeState::conditions() const {
  std::vector<api::Condition> all;
  for (const Held& held : conditions_) {
    if (held.told) {
      all.push_back(held.condition);
    }
  }
  return all;
}

std::vector<fault::Finding> NodeState::findings() const {
  std::vector<fault::Finding> all;
  for (const auto& [id, seen] : seen_) {
    all.push_back(seen.finding);
  }
  return all;
}

Standing NodeState::standing() const {
  Standing standing;
  for (const Held& held : conditions_) {
    if (held.told && !held.translated && held.condition.status == "True") {
      standing.conditions.push_back(held.condition);
    }
  }
  for (const auto& [id, seen] : seen_) {
    standing.findings.push_back({seen.finding, seen.message, seen.onNode});
  }
  return standing;
}

std::deque<NodeEvent> NodeState::takeEvents() {
  return std::exchange(events_, {});
}

std::vector<MetricStep> NodeState::takeMetrics() {
  return std::exchange(metrics_, {});
}

NodeState::Held* NodeState::find(const std::string& type) {
  const auto at = std::find_if(conditions_.begin(), conditions_.end(),
                               [&](const Held& held) { return held.condition.type == type; });
  return at == conditions_.end() ? nullptr : &*at;
}

}  // namespace mainstay::agent
