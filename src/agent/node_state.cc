#include "agent/node_state.h"

#include <algorithm>
#include <set>

#include "api/names.h"
#include "fault/text.h"

namespace mainstay::agent {
namespace {

// A condition's message is made of kernel lines of up to 2 KiB each; ten of them are the default window.
constexpr std::size_t kMaxMessage = 16u << 10;

std::string changeText(const api::Condition& condition) {
  return "Node condition " + condition.type + " is now: " + condition.status +
         ", reason: " + condition.reason + ", message: " + fault::quoteLikeGo(condition.message);
}

}  // namespace

NodeState::NodeState(const std::vector<ConditionSpec>& conditions, std::vector<ReasonSpec> reasons,
                     Machine machine, TimePoint now)
    : reasons_(std::move(reasons)), machine_(std::move(machine)) {
  for (const ConditionSpec& spec : conditions) {
    if (!find(spec.type)) {
      conditions_.push_back({spec, {spec.type, "False", spec.reason, spec.message, now, {}}, ""});
    }
  }
  std::set<std::pair<std::string, std::string>> known;
  for (const ReasonSpec& reason : reasons_) {
    for (const std::string& condition : {std::string(), reason.condition}) {
      if (reason.countsInMetrics && known.emplace(condition, reason.reason).second) {
        metrics_.push_back({condition, reason.reason, 0});
      }
    }
  }
}

void NodeState::report(const Problem& problem) {
  if (problem.condition.empty()) {
    addEvent({problem.source, true, problem.reason, problem.message, ""});
    count(problem.reason, problem.countsInMetrics);
    return;
  }
  Held* held = find(problem.condition);
  if (!held) {
    return;
  }
  remember(problem);
  if (held->condition.status == "True" && held->condition.reason == problem.reason) {
    return;
  }
  if (problem.countsInMetrics) {
    if (held->condition.status == "True") {
      metrics_.push_back({problem.condition, held->condition.reason, 0});
    }
    metrics_.push_back({problem.condition, problem.reason, 1});
  }
  count(problem.reason, problem.countsInMetrics);
  set(*held, true, problem.reason, problem.message, problem.time, problem.source);
}

void NodeState::clear(const std::string& type, TimePoint now) {
  Held* held = find(type);
  if (!held || held->condition.status != "True") {
    return;
  }
  metrics_.push_back({type, held->condition.reason, 0});
  std::erase_if(seen_, [&](const auto& entry) { return entry.second.finding.type == type; });
  set(*held, false, held->spec.reason, held->spec.message, now, held->spec.source);
}

void NodeState::set(Held& held, bool problem, const std::string& reason, const std::string& message,
                    TimePoint time, const std::string& source) {
  held.condition.status = problem ? "True" : "False";
  held.condition.reason = reason;
  held.condition.message = std::string(fault::cutUtf8(message, kMaxMessage));
  held.condition.lastTransition = time;
  addEvent({source, problem, reason, changeText(held.condition), held.condition.type});
  ++revision_;
}

void NodeState::remember(const Problem& problem) {
  const std::string id = problem.rule + "@" + problem.device;
  const auto [at, isNew] = seen_.try_emplace(id);
  fault::Finding& finding = at->second.finding;
  if (!isNew) {
    const bool readAgain = at->second.countedUntil && problem.time <= *at->second.countedUntil;
    finding.count += readAgain ? 0 : 1;
    finding.last = std::max(finding.last, problem.time);
    refreshes_ += readAgain ? 0 : 1;
    return;
  }
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
  ++revision_;
  dropOldestFinding();
}

void NodeState::dropOldestFinding() {
  if (seen_.size() > fault::kMaxFindings) {
    seen_.erase(std::min_element(seen_.begin(), seen_.end(), [](const auto& a, const auto& b) {
      return a.second.finding.last < b.second.finding.last;
    }));
  }
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

Json NodeState::patch(TimePoint now) const {
  JsonArray conditions;
  std::vector<fault::Finding> findings;
  for (const Held& held : conditions_) {
    if (!held.owner.empty()) {
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
      }
    }
  }
  const Json annotation = findings.empty() ? Json(nullptr) : Json(fault::encodeFindings(std::move(findings)));
  return JsonObject{
      {"metadata", JsonObject{{"annotations", JsonObject{{api::kFindingsAnnotation, annotation}}}}},
      {"status", JsonObject{{"conditions", std::move(conditions)}}}};
}

std::vector<api::Condition> NodeState::conditions() const {
  std::vector<api::Condition> all;
  for (const Held& held : conditions_) {
    all.push_back(held.condition);
  }
  return all;
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
