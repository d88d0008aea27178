// The part of the engine that hears a witness: what only a line tells marks nothing where its rule says so.
#include <algorithm>

#include "fault/engine.h"

namespace mainstay::fault {
namespace {

// How often the witness is asked while a fault is in doubt.
constexpr Duration kAskEvery = std::chrono::seconds(1);

Sighting withoutEffect(Sighting sighting) {
  sighting.condition.clear();
  sighting.action = RepairAction::kNone;
  return sighting;
}

}  // namespace

// Raises it, or tells it without its effect while nobody has borne it out.
void Engine::raiseOrDoubt(Remembered& remembered, Outcome::Kind kind, std::vector<Outcome>& out) {
  raise(remembered, isDoubtful(remembered) ? Outcome::Kind::kDoubted : kind, out);
}

bool Engine::isDoubtful(Remembered& remembered) {
  const Sighting& sighting = remembered.sighting;
  const Corroborate wanted = sighting.effect->corroborate;
  if (wanted == Corroborate::kIgnore || sighting.condition.empty() || remembered.believed) {
    return false;
  }
  const Testimony testimony = witness_ ? witness_(sighting) : Testimony{};
  remembered.believed = testimony.answer == Corroboration::kBorneOut ||
                        (wanted == Corroborate::kPrefer && testimony.answer == Corroboration::kUnknown);
  if (remembered.believed) {
    remembered.doubt.reset();
    return false;
  }
  if (!remembered.doubt) {
    remembered.doubt.emplace();
    nextAsk_ = TimePoint{};
  }
  remembered.doubt->testimony = testimony;
  return true;
}

Outcome Engine::outcomeOf(const Remembered& remembered, Outcome::Kind kind, std::string other) const {
  if (!remembered.doubt) {
    return {kind, remembered.sighting, false, std::move(other)};
  }
  return {Outcome::Kind::kDoubted, withoutEffect(remembered.sighting), false,
          remembered.doubt->testimony.why};
}

void Engine::settleDoubts(TimePoint now, std::vector<Outcome>& out) {
  if (now < nextAsk_) {
    return;
  }
  nextAsk_ = kNever;
  for (auto& [key, remembered] : remembered_) {
    if (remembered.doubt) {
      settleDoubt(remembered, now, out);
    }
    if (remembered.doubt) {
      nextAsk_ = now + kAskEvery;
    }
  }
}

// The time runs from the first step after the line: lines that were missed are read long after they came.
void Engine::settleDoubt(Remembered& remembered, TimePoint now, std::vector<Outcome>& out) {
  Doubt& doubt = *remembered.doubt;
  doubt.until = doubt.until.value_or(now + kCorroborateWithin);
  const TimePoint until = *doubt.until;
  if (isDoubtful(remembered) && now < until) {
    return;
  }
  const bool silent = remembered.doubt && remembered.doubt->testimony.answer == Corroboration::kAwaited;
  if (silent && remembered.sighting.effect->corroborate == Corroborate::kPrefer) {
    remembered.believed = true;
    remembered.doubt.reset();
  }
  if (!remembered.doubt) {
    raise(remembered, Outcome::Kind::kRaised, out);
    return;
  }
  Outcome outcome = outcomeOf(remembered, Outcome::Kind::kDoubted, "");
  outcome.kind = Outcome::Kind::kUncorroborated;
  outcome.event =
      !remembered.lastUnborne || now - *remembered.lastUnborne >= remembered.sighting.effect->dedupe;
  if (outcome.event) {
    remembered.lastUnborne = now;
  }
  out.push_back(std::move(outcome));
  remembered.doubt.reset();
}

}  // namespace mainstay::fault
