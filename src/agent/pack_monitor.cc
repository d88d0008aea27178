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
    if (outcome.kind == Outcome::Kind::kDoubted) {
      event.message += ". Told, but it marks nothing unless it is borne out: " + outcome.other;
    }
    state.report(event);
  }
  if (!outcome.sighting.condition.empty()) {
    problem.condition = outcome.sighting.condition;
    problem.reason = outcome.sighting.reason;
    state.report(problem);
  }
}

void tellUncorroborated(NodeState& state, const Outcome& outcome, TimePoint now) {
  if (outcome.event) {
    state.tell({kAgentSource, true, "FaultUncorroborated",
                "not borne out within " + humanDuration(fault::kCorroborateWithin) + " (" + outcome.other +
                    "), so that it marks nothing; a program may have printed the line: " +
                    messageOf(outcome.sighting, outcome.sighting.lastLine),
                "", now});
  }
}

// All that a pack's rules may say.
using VisitEffect =
    std::function<void(const std::string& id, const std::string& code, const fault::Effect& effect)>;

void visitEffect(const std::string& id, const std::string& code, const fault::Effect& effect,
                 const VisitEffect& visit) {
  visit(id, code, effect);
  if (effect.repeat) {
    visitEffect(id + "/" + effect.repeat->id, code, *effect.repeat->effect, visit);
  }
}

void visitEntry(const fault::PackRule& rule, const fault::Entry& entry, const VisitEffect& visit) {
  const std::string id = rule.id + (entry.code.empty() ? "" : "/" + entry.code);
  visitEffect(id, entry.code, *entry.effect, visit);
  for (const auto* variants : {&rule.variants, &entry.variants}) {
    for (const fault::Variant& variant : *variants) {
      visitEffect(id + (variant.id.empty() ? "" : "/" + variant.id), entry.code, *variant.effect, visit);
    }
  }
}

void visitEffects(const fault::Pack& pack, const VisitEffect& visit) {
  for (const fault::PackRule& rule : pack.rules) {
    visitEntry(rule, rule.own, visit);
    for (const auto& [code, entry] : rule.codes) {
      visitEntry(rule, entry, visit);
    }
  }
}

fault::ForeignName withCode(fault::ForeignName name, const std::string& code) {
  name.reason = fault::expandTemplate(name.reason, {{"code", code}});
  return name;
}

// Every reason that the rules of a pack may report, each once.
class ReasonList {
 public:
  void add(const fault::Pack& pack) {
    visitEffects(pack, [&](const std::string&, const std::string& code, const fault::Effect& effect) {
      if (!effect.event.empty()) {
        keep({"", effect.event});
      }
      const std::string revised = effect.revises ? effect.revises->reason : "";
      for (const std::string& text : {effect.reason, revised}) {
        addConditional(pack, effect, fault::expandTemplate(text, {{"code", code}}));
      }
    });
  }
  std::vector<ReasonSpec> take() { return std::move(all_); }

 private:
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

PackMonitor::PackMonitor(std::vector<fault::Pack> packs, TimePoint start, Listener listener,
                         fault::Witness witness)
    : engine_(std::move(packs), std::move(witness)), start_(start), listener_(std::move(listener)) {}

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

std::vector<RuleNames> PackMonitor::names() const {
  std::vector<RuleNames> all;
  for (const fault::Pack& pack : engine_.packs()) {
    visitEffects(pack, [&](const std::string& id, const std::string& code, const fault::Effect& effect) {
      RuleNames names{id, effect.condition, effect.action, withCode(effect.hyperpod, code),
                      withCode(effect.eks, code)};
      if (!names.hyperpod.type.empty() || !names.eks.type.empty()) {
        all.push_back(std::move(names));
      }
    });
  }
  return all;
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
      case Outcome::Kind::kDoubted:
        reportTo(state, outcome);
        break;
      case Outcome::Kind::kUncorroborated:
        tellUncorroborated(state, outcome, now);
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
