#include "fault/engine.h"

#include <algorithm>
#include <array>

#include "fault/text.h"

namespace mainstay::fault {
namespace {

constexpr std::size_t kMaxOccurrenceKeys = 64;

std::vector<std::string> allPatterns(const std::vector<Pack>& packs) {
  std::vector<std::string> patterns;
  for (const Pack& pack : packs) {
    for (const PackRule& rule : pack.rules) {
      patterns.insert(patterns.end(), rule.patterns.begin(), rule.patterns.end());
    }
  }
  return patterns;
}

// The packs, without what only tests of them need.
std::vector<Pack> withoutFixtures(std::vector<Pack> packs) {
  for (Pack& pack : packs) {
    for (PackRule& rule : pack.rules) {
      rule.examples = {};
      rule.notMatches = {};
    }
  }
  return packs;
}

bool names(const std::string& ref, std::string_view id) {
  return id.starts_with(ref) && (id.size() == ref.size() || id[ref.size()] == '/');
}

bool names(const std::vector<std::string>& refs, std::string_view id) {
  return std::ranges::any_of(refs, [&](const std::string& ref) { return names(ref, id); });
}

bool agree(const Captures& a, const Captures& b) {
  return std::ranges::all_of(a, [&](const auto& capture) {
    const auto other = b.find(capture.first);
    return other == b.end() || other->second == capture.second;
  });
}

const Variant* fittingVariant(const std::vector<Variant>& variants, const Captures& captures) {
  const auto fits = [&](const Variant& variant) {
    return std::ranges::all_of(variant.when, [&](const CaptureTest& test) { return test.holds(captures); });
  };
  const auto at = std::ranges::find_if(variants, fits);
  return at == variants.end() ? nullptr : &*at;
}

void setEffect(Sighting& sighting, const EffectPtr& effect, const Captures& captures) {
  sighting.effect = effect;
  sighting.condition = effect->condition;
  sighting.reason = expandTemplate(effect->reason, captures);
  sighting.action = effect->action;
  for (const std::string& name : effect->collect) {
    const auto value = captures.find(name);
    if (value != captures.end() && !value->second.empty()) {
      sighting.collected[name].insert(value->second);
    }
  }
}

// Which entry a match is, under which code; nullptr: nobody knows it.
const Entry* entryOf(const std::vector<Pack>& packs, const PackRule& rule, Sighting& sighting,
                     Captures& captures) {
  sighting.id = rule.id;
  if (!rule.implies.empty()) {
    const EntryPlace implied = findEntry(packs, rule.implies);
    sighting.id = rule.implies;
    captures["code"] = sighting.code = implied.entry ? implied.entry->code : "";
    return implied.entry;
  }
  if (rule.codes.empty()) {
    return &rule.own;
  }
  captures["code"] = sighting.code = normalCode(captures["code"]);
  sighting.id += "/" + sighting.code;
  const auto known = rule.codes.find(sighting.code);
  return known != rule.codes.end() ? &known->second : rule.unknown ? &*rule.unknown : nullptr;
}

// What a match means; nullopt when its code is not in the table and the rule says nothing about such.
std::optional<Sighting> meaning(const std::vector<Pack>& packs, const PackRule& rule, std::string_view text,
                                Captures& captures) {
  if (const auto pci = captures.find("pci"); pci != captures.end()) {
    pci->second = normalPciAddress(pci->second);
  }
  Sighting sighting;
  sighting.rule = rule.id;
  sighting.device = expandTemplate(rule.device, captures);
  const Entry* entry = entryOf(packs, rule, sighting, captures);
  if (!entry) {
    return std::nullopt;
  }
  if (entry->detail) {
    entry->detail->match(text, captures);
  }
  const Variant* variant = fittingVariant(rule.variants, captures);
  variant = variant ? variant : fittingVariant(entry->variants, captures);
  if (variant && !variant->id.empty()) {
    sighting.id += "/" + variant->id;
  }
  sighting.name = expandTemplate(variant && !variant->name.empty() ? variant->name : entry->name, captures);
  setEffect(sighting, variant ? variant->effect : entry->effect, captures);
  return sighting;
}

// Takes in that it was seen again. True when the new occurrence says more than was known: a stronger action, or that
// there is a condition at all.
bool seeAgain(Sighting& known, const Sighting& now) {
  known.last = std::max(known.last, now.last);
  known.lastLine = now.lastLine;
  ++known.count;
  for (const auto& [capture, values] : now.collected) {
    std::set<std::string>& all = known.collected[capture];
    for (const std::string& value : values) {
      if (all.size() < Sighting::kMaxCollected) {
        all.insert(value);
      }
    }
  }
  const bool stronger = now.action > known.action || (known.condition.empty() && !now.condition.empty());
  if (stronger) {
    known.effect = now.effect;
    known.name = now.name;
    known.condition = now.condition;
    known.reason = now.reason;
    known.action = now.action;
  }
  return stronger;
}

}  // namespace

std::string_view outcomeName(Outcome::Kind kind) {
  constexpr std::array<std::string_view, 10> kNames = {"raised",  "repeated",      "revised",  "folded",
                                                       "held",    "cancelled",     "resolved", "untrusted",
                                                       "doubted", "uncorroborated"};
  return kNames.at(static_cast<std::size_t>(kind));
}

Engine::Engine(std::vector<Pack> packs, Witness witness)
    : packs_(withoutFixtures(std::move(packs))),
      patterns_(allPatterns(packs_)),
      witness_(std::move(witness)) {
  for (const Pack& pack : packs_) {
    for (const PackRule& rule : pack.rules) {
      for (std::size_t part = 0; part < rule.patterns.size(); ++part) {
        places_.push_back({&rule, part});
      }
    }
  }
}

std::vector<Outcome> Engine::take(const Record& record) {
  std::vector<Outcome> out;
  ++records_;
  release(record.time, out);
  const bool escaped = record.text.find("\\x") != std::string::npos;
  const std::string decoded = escaped ? decodeKernelEscapes(record.text) : std::string();
  const std::string_view text = escaped ? decoded : record.text;
  for (PatternSet::Match& match : patterns_.match(text)) {
    takeMatch(std::move(match), text, record, out);
  }
  forgetOldest();
  return out;
}

std::vector<Outcome> Engine::step(TimePoint now) {
  std::vector<Outcome> out;
  release(now, out);
  settleDoubts(now, out);
  return out;
}

TimePoint Engine::nextWake() const {
  return std::min(nextDue_, nextAsk_);
}

void Engine::forget() {
  begun_.clear();
  remembered_.clear();
  nextDue_ = nextAsk_ = kNever;
}

void Engine::takeMatch(PatternSet::Match match, std::string_view text, const Record& record,
                       std::vector<Outcome>& out) {
  const PatternPlace& place = places_[match.pattern];
  const PackRule& rule = *place.rule;
  const bool trusted = rule.trust == Trust::kAny || record.facility() == 0;
  std::string line = record.text;
  if (rule.patterns.size() > 1 && !(trusted && joinPart(place, record, match.captures, line))) {
    return;
  }
  std::optional<Sighting> sighting = meaning(packs_, rule, text, match.captures);
  if (!sighting) {
    return;
  }
  sighting->first = sighting->last = record.time;
  sighting->seq = record.seq;
  sighting->line = sighting->lastLine = std::move(line);
  if (trusted) {
    occur(*sighting, match.captures, out);
  } else {
    out.push_back({Outcome::Kind::kUntrusted, *std::move(sighting), false, ""});
  }
}

bool Engine::joinPart(const PatternPlace& place, const Record& record, Captures& captures,
                      std::string& line) {
  const PackRule& rule = *place.rule;
  if (place.part == 0) {
    begun_[rule.id] = {1, std::move(captures), std::move(line), record.time, records_};
    return false;
  }
  const auto at = begun_.find(rule.id);
  if (at == begun_.end() || at->second.next != place.part || !agree(captures, at->second.captures)) {
    return false;
  }
  Begun& begun = at->second;
  if (record.time - begun.since > rule.joinWithin || records_ - begun.record > rule.joinLines) {
    begun_.erase(at);
    return false;
  }
  begun.captures.merge(captures);
  begun.line += "\n" + line;
  if (++begun.next < rule.patterns.size()) {
    return false;
  }
  captures = std::move(begun.captures);
  line = std::move(begun.line);
  begun_.erase(at);
  return true;
}

void Engine::occur(const Sighting& sighting, const Captures& captures, std::vector<Outcome>& out) {
  const Effect& effect = *sighting.effect;
  cancel(sighting, out);
  if (effect.revises && revise(sighting, out)) {
    return;
  }
  if (effect.follows && foldIntoRoot(sighting, out)) {
    return;
  }
  const auto [at, isNew] = remembered_.try_emplace({sighting.id, sighting.device});
  Remembered& remembered = at->second;
  bool changed = false;
  if (isNew) {
    remembered.sighting = sighting;
    remembered.held = effect.hold > Duration::zero();
    remembered.due = sighting.last + effect.hold;
  } else {
    changed = seeAgain(remembered.sighting, sighting);
  }
  if (remembered.held && effect.hold > Duration::zero()) {
    nextDue_ = std::min(nextDue_, remembered.due);
    out.push_back({Outcome::Kind::kHeld, remembered.sighting, false, ""});
    return;
  }
  const bool first = isNew || std::exchange(remembered.held, false);
  raiseOrDoubt(remembered,
               first     ? Outcome::Kind::kRaised
               : changed ? Outcome::Kind::kRevised
                         : Outcome::Kind::kRepeated,
               out);
  countRepeat(remembered, sighting, captures, out);
}

void Engine::raise(Remembered& remembered, Outcome::Kind kind, std::vector<Outcome>& out) {
  const Sighting& sighting = remembered.sighting;
  foldPartsOf(sighting, out);
  const bool due = kind == Outcome::Kind::kRevised || !remembered.lastEvent ||
                   sighting.last - *remembered.lastEvent >= sighting.effect->dedupe;
  const bool event = due && !sighting.effect->event.empty();
  if (event) {
    remembered.lastEvent = sighting.last;
  }
  out.push_back(outcomeOf(remembered, kind, ""));
  out.back().event = event;
}

void Engine::countRepeat(Remembered& remembered, const Sighting& now, const Captures& captures,
                         std::vector<Outcome>& out) {
  if (!now.effect->repeat) {
    return;
  }
  const Repeat& repeat = *now.effect->repeat;
  std::string key;
  for (const std::string& name : repeat.by) {
    const std::string value = expandTemplate("{" + name + "}", captures);
    if (value.empty()) {
      return;  // the line does not say where
    }
    key += value + '\n';
  }
  auto& occurrences = remembered.occurrences[key];
  const std::string value = expandTemplate("{" + repeat.distinct + "}", captures);
  std::erase_if(occurrences, [&](const auto& seen) {
    return seen.first < now.last - repeat.within || (!repeat.distinct.empty() && seen.second == value);
  });
  occurrences.emplace_back(now.last, value);
  const bool enough = occurrences.size() >= repeat.count;
  if (occurrences.size() > repeat.count) {
    occurrences.pop_front();
  }
  if (remembered.occurrences.size() > kMaxOccurrenceKeys) {
    remembered.occurrences.erase(remembered.occurrences.begin());
  }
  if (enough) {
    Sighting more = now;
    more.id += "/" + repeat.id;
    more.name = repeat.name.empty() ? now.name : repeat.name;
    setEffect(more, repeat.effect, captures);
    occur(more, captures, out);
    out.push_back({Outcome::Kind::kFolded, remembered.sighting, false, more.id});
  }
}

void Engine::cancel(const Sighting& by, std::vector<Outcome>& out) {
  for (const std::string& ref : by.effect->cancels) {
    for (auto at = remembered_.begin(); at != remembered_.end();) {
      const Sighting& known = at->second.sighting;
      const bool ended = at->second.held || known.effect->clearOn == ClearOn::kEvidence;
      if (!ended || known.device != by.device || known.id == by.id || !names(ref, known.id)) {
        ++at;
        continue;
      }
      out.push_back(
          {at->second.held ? Outcome::Kind::kCancelled : Outcome::Kind::kResolved, known, false, by.id});
      at = remembered_.erase(at);
    }
  }
}

bool Engine::revise(const Sighting& by, std::vector<Outcome>& out) {
  const Revision& revision = *by.effect->revises;
  Remembered* target = findRelated(revision, by);
  if (!target) {
    return false;
  }
  Sighting& known = target->sighting;
  known.action = revision.action.value_or(known.action);
  if (!revision.reason.empty()) {
    known.reason = revision.reason;
  }
  if (known.condition.empty()) {
    known.condition = by.condition;
    known.reason = known.reason.empty() ? by.reason : known.reason;
  }
  known.last = std::max(known.last, by.last);
  out.push_back(outcomeOf(*target, target->held ? Outcome::Kind::kHeld : Outcome::Kind::kRevised, by.id));
  return true;
}

bool Engine::foldIntoRoot(const Sighting& part, std::vector<Outcome>& out) {
  const Remembered* root = findRelated(*part.effect->follows, part);
  if (root) {
    out.push_back({Outcome::Kind::kFolded, part, false, root->sighting.id});
  }
  return root != nullptr;
}

// Those that came before it, and waited for it.
void Engine::foldPartsOf(const Sighting& root, std::vector<Outcome>& out) {
  for (auto at = remembered_.begin(); at != remembered_.end();) {
    const Sighting& part = at->second.sighting;
    const auto& follows = part.effect->follows;
    const bool isPart = at->second.held && follows && part.id != root.id && names(follows->of, root.id) &&
                        (follows->acrossDevices || part.device == root.device) &&
                        root.last - part.last <= follows->within;
    if (isPart) {
      out.push_back({Outcome::Kind::kFolded, part, false, root.id});
      at = remembered_.erase(at);
    } else {
      ++at;
    }
  }
}

// The latest of those that are meant.
Engine::Remembered* Engine::findRelated(const Relation& relation, const Sighting& to) {
  Remembered* latest = nullptr;
  for (auto& [key, remembered] : remembered_) {
    const Sighting& other = remembered.sighting;
    const bool meant = names(relation.of, other.id) &&
                       (relation.acrossDevices || other.device == to.device) &&
                       key != Key(to.id, to.device) && to.last - other.last <= relation.within;
    if (meant && (!latest || other.last >= latest->sighting.last)) {
      latest = &remembered;
    }
  }
  return latest;
}

void Engine::release(TimePoint now, std::vector<Outcome>& out) {
  while (nextDue_ <= now) {
    Remembered* first = nullptr;
    for (auto& [key, remembered] : remembered_) {
      if (remembered.held && (!first || remembered.due < first->due)) {
        first = &remembered;
      }
    }
    nextDue_ = first ? first->due : kNever;
    if (nextDue_ <= now) {
      first->held = false;
      raiseOrDoubt(*first, Outcome::Kind::kRaised, out);
    }
  }
}

void Engine::forgetOldest() {
  while (remembered_.size() > kMaxRemembered) {
    remembered_.erase(std::ranges::min_element(remembered_, {},
                                               [](const auto& entry) { return entry.second.sighting.last; }));
  }
}

}  // namespace mainstay::fault
