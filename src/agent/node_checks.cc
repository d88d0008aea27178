// The part of NodeState that hears checks. A check tells its state at every run, and several may speak of one
// condition: what one of them finds is not undone by another that finds nothing.
#include <algorithm>

#include "agent/node_state.h"
#include "fault/text.h"

namespace mainstay::agent {

void NodeState::judge(const Verdict& verdict) {
  Held* held = find(verdict.condition);
  if (!held) {
    return;
  }
  const std::string id = fault::findingId(verdict.rule, verdict.device);
  const LastWord before = lastWord(*held, id);
  const std::string oldReason = held->condition.reason;
  const std::string message(fault::cutUtf8(verdict.message, kMaxMessage));
  const bool problem = verdict.status == "True";
  if (!problem && before.status == "True" && verdict.clearOn != fault::ClearOn::kEvidence) {
    return;
  }
  if (!held->told) {
    held->told = true;
    held->condition.lastTransition = verdict.time;
    ++revision_;
  }
  const bool reworded = problem && verdict.messageMatters && before.message != message;
  if (before.status != verdict.status || reworded) {
    held->checks[id] = {verdict.status, verdict.reason, message};
    if (problem) {
      takeProblem(*held, verdict);
    } else {
      takeNoProblem(*held, verdict, before);
    }
  }
  if (verdict.countsInMetrics) {
    const std::set<std::string> problems = problemsOf(*held);
    for (const std::string& reason : {before.reason, oldReason, held->condition.reason}) {
      if (!reason.empty()) {
        setGauge(verdict.condition, reason, problems.contains(reason) ? 1 : 0);
      }
    }
  }
}

// What a check said before the restart is known by its finding.
NodeState::LastWord NodeState::lastWord(const Held& held, const std::string& id) const {
  if (const auto seen = seen_.find(id); seen != seen_.end()) {
    const fault::Finding& finding = seen->second.finding;
    return {"True", finding.reason, seen->second.message.empty() ? finding.line : seen->second.message};
  }
  const auto said = held.checks.find(id);
  return said == held.checks.end() ? LastWord{} : said->second;
}

void NodeState::takeProblem(Held& held, const Verdict& verdict) {
  Problem found;
  found.condition = verdict.condition;
  found.reason = verdict.reason;
  found.line = verdict.message;
  found.message = verdict.message;
  found.time = verdict.time;
  found.rule = verdict.rule;
  found.faultClass = verdict.faultClass;
  found.device = verdict.device;
  found.action = verdict.action;
  if (remember(found) != Sight::kFirst) {
    Seen& seen = seen_.at(fault::findingId(verdict.rule, verdict.device));
    seen.message = std::string(fault::cutUtf8(verdict.message, kMaxMessage));
    seen.finding.line = std::string(fault::cutUtf8(verdict.message, fault::kMaxFindingLine));
  }
  count(verdict.reason, verdict.countsInMetrics);
  const bool wasTrue = held.condition.status == "True";
  set(held, "True", verdict.reason, verdict.message, wasTrue ? held.condition.lastTransition : verdict.time,
      verdict.source);
}

void NodeState::takeNoProblem(Held& held, const Verdict& verdict, const LastWord& before) {
  seen_.erase(fault::findingId(verdict.rule, verdict.device));
  if (!problemsOf(held).empty()) {
    sayOthers(held, verdict, before);
    return;
  }
  const LastWord* unknown = unknownOf(held);
  if (held.condition.status == (unknown ? "Unknown" : "False")) {
    return;
  }
  // What could not be told is of use to whoever looks into it; else the condition says its default.
  const bool mine = verdict.status == "Unknown";
  set(held, unknown ? "Unknown" : "False", verdict.reason,
      unknown && !mine ? unknown->message : verdict.message, verdict.time, verdict.source);
}

// The condition stays True, but not in the words of a problem that is over.
void NodeState::sayOthers(Held& held, const Verdict& verdict, const LastWord& before) {
  if (before.status != "True" || held.condition.reason != before.reason) {
    return;
  }
  sayWorst(held);
  if (held.condition.reason != before.reason) {
    tellChange(held, verdict.source, verdict.time);
  }
}

const NodeState::LastWord* NodeState::unknownOf(const Held& held) const {
  const auto at =
      std::ranges::find_if(held.checks, [](const auto& check) { return check.second.status == "Unknown"; });
  return at == held.checks.end() ? nullptr : &at->second;
}

std::set<std::string> NodeState::problemsOf(const Held& held) const {
  std::set<std::string> reasons;
  for (const auto& [id, seen] : seen_) {
    if (seen.finding.type == held.condition.type) {
      reasons.insert(seen.finding.reason);
    }
  }
  for (const auto& [id, word] : held.checks) {  // also those whose finding had to make room
    if (word.status == "True") {
      reasons.insert(word.reason);
    }
  }
  return reasons;
}

}  // namespace mainstay::agent
