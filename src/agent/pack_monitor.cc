#include "agent/pack_monitor.h"

#include <set>
#include <tuple>

#include "base/log.h"
#include "base/text.h"

namespace mainstay::agent {
namespace {

using fault::Outcome;
using fault::Sighting;

constexpr std::size_t kMaxQuotedLine = 512;

Problem problemOf(const Sighting& sighting) {
  Problem problem;
  problem.source = kAgentSource;
  problem.message = messageOf(sighting, sighting.line);
  problem.time = sighting.last;
  problem.joins = true;
  problem.rule = sighting.id;
  problem.faultClass = sighting.effect->faultClass;
  problem.device = sighting.device;
  problem.line = sighting.line;
  problem.action = sighting.action;
  problem.seq = sighting.seq;
  return problem;
}

void reportTo(NodeState& state, const Outcome& outcome) {
  Problem problem = problemOf(outcome.sighting);
  if (outcome.event) {
    Problem event = problem;
    event.reason = outcome.sighting.effect->event;
    event.message = messageOf(outcome.sighting, outcome.sighting.lastLine);
    state.report(event);
  }
  if (!outcome.sighting.condition.empty()) {
    problem.condition = outcome.sighting.condition;
    problem.reason = outcome.sighting.reason;
    state.report(problem);
  }
}

// Every reason that the rules of a pack may report, each once.
class ReasonList {
 public:
  void add(const fault::Pack& pack) {
    for (const fault::PackRule& rule : pack.rules) {
      add(pack, rule.own);
      for (const auto& [code, entry] : rule.codes) {
        add(pack, entry);
      }
    }
  }
  std::vector<ReasonSpec> take() { return std::move(all_); }

 private:
  void add(const fault::Pack& pack, const fault::Entry& entry) {
    add(pack, entry.code, *entry.effect);
    for (const fault::Variant& variant : entry.variants) {
      add(pack, entry.code, *variant.effect);
    }
  }

  void add(const fault::Pack& pack, const std::string& code, const fault::Effect& effect) {
    if (!effect.event.empty()) {
      keep({"", effect.event});
    }
    const std::string revised = effect.revises ? effect.revises->reason : "";
    for (const std::string& text : {effect.reason, revised}) {
      addConditional(pack, effect, fault::expandTemplate(text, {{"code", code}}));
    }
    if (effect.repeat) {
      add(pack, code, *effect.repeat->effect);
    }
  }

  // Without a condition of its own a fault may get one, by what revises it.
  void addConditional(const fault::Pack& pack, const fault::Effect& effect, const std::string& reason) {
    for (const fault::ConditionDefault& condition : pack.conditions) {
      if (!reason.empty() && (effect.condition.empty() || effect.condition == condition.type)) {
        keep({condition.type, reason, effect.clearOn, true, false});
      }
    }
  }

  void keep(ReasonSpec spec) {
    if (known_.emplace(spec.condition, spec.reason, spec.clearOn).second) {
      all_.push_back(std::move(spec));
    }
  }

  std::set<std::tuple<std::string, std::string, fault::ClearOn>> known_;
  std::vector<ReasonSpec> all_;
};

}  // namespace

PackMonitor::PackMonitor(std::vector<fault::Pack> packs, TimePoint start, Listener listener)
    : engine_(std::move(packs)), start_(start), listener_(std::move(listener)) {}

std::vector<ConditionSpec> PackMonitor::conditions() const {
  std::vector<ConditionSpec> specs;
  for (const fault::Pack& pack : engine_.packs()) {
    for (const fault::ConditionDefault& condition : pack.conditions) {
      specs.push_back({kAgentSource, condition.type, condition.reason, condition.message});
    }
  }
  return specs;
}

std::vector<ReasonSpec> PackMonitor::reasons() const {
  ReasonList reasons;
  for (const fault::Pack& pack : engine_.packs()) {
    reasons.add(pack);
  }
  return reasons.take();
}

void PackMonitor::take(const fault::Record& record, NodeState& state) {
  if (record.time >= start_) {
    tell(engine_.take(record), record.time, state);
  }
}

// The engine is to know what it knew: a message that has begun, a fault that is held, one that a later line ends.
void PackMonitor::recall(const fault::Record& record) {
  if (record.time >= start_) {
    engine_.take(record);
  }
}

void PackMonitor::recallUntil(TimePoint time) {
  engine_.step(time);
}

TimePoint PackMonitor::step(TimePoint now, NodeState& state) {
  tell(engine_.step(now), now, state);
  return engine_.nextWake();
}

void PackMonitor::tell(const std::vector<Outcome>& outcomes, TimePoint now, NodeState& state) {
  for (const Outcome& outcome : outcomes) {
    switch (outcome.kind) {
      case Outcome::Kind::kRaised:
      case Outcome::Kind::kRepeated:
      case Outcome::Kind::kRevised:
        reportTo(state, outcome);
        break;
      case Outcome::Kind::kResolved:
        state.resolve(outcome.sighting.condition, outcome.sighting.id, outcome.sighting.device, now);
        break;
      default:
        break;
    }
    listener_(outcome);
  }
}

std::string messageOf(const Sighting& sighting, const std::string& line) {
  std::string text = sighting.name;
  text += sighting.device.empty() ? "" : " (" + sighting.device + ")";
  for (const auto& [capture, values] : sighting.collected) {
    std::string list;
    for (const std::string& value : values) {
      list += (list.empty() ? "" : ", ") + value;
    }
    text += "; " + capture + " " + list;
  }
  text += sighting.effect->advice.empty() ? "" : "; " + sighting.effect->advice;
  return text + ": " + std::string(cutUtf8(line, kMaxQuotedLine));
}

void logOutcome(const Outcome& outcome) {
  const Sighting& sighting = outcome.sighting;
  const bool news = outcome.event || outcome.kind == Outcome::Kind::kRaised ||
                    outcome.kind == Outcome::Kind::kRevised || outcome.kind == Outcome::Kind::kResolved ||
                    outcome.kind == Outcome::Kind::kCancelled;
  if (news) {
    logInfo("fault", {{"what", fault::outcomeName(outcome.kind)},
                      {"finding", sighting.id},
                      {"device", sighting.device},
                      {"condition", sighting.condition},
                      {"action", fault::actionName(sighting.action)},
                      {"by", outcome.other},
                      {"line", sighting.line}});
  }
}

}  // namespace mainstay::agent
