#include "fault/pack_check.h"

#include <algorithm>
#include <set>

#include "fault/engine.h"

namespace mainstay::fault {
namespace {

constexpr int kMaxProgram = 4000;  // instructions of one pattern; the largest of ours has a tenth of that

Complaint complaint(const PackRule& rule, const std::string& what) {
  return rule.place + ": " + rule.id + ": " + what;
}

std::string quoted(const std::string& line) {
  return "\"" + line + "\"";
}

// All that comes of the lines of an example, a millisecond apart, and of the time after them.
std::vector<Outcome> play(Engine& engine, const std::string& lines, Trust trust) {
  engine.forget();
  std::vector<Outcome> all;
  TimePoint time{};
  for (std::size_t begin = 0; begin <= lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    Record record;
    record.priority = trust == Trust::kAny ? 12 : 3;
    record.time = time += std::chrono::milliseconds(1);
    record.text = lines.substr(begin, end - begin);
    std::ranges::move(engine.take(record), std::back_inserter(all));
    begin = end + 1;
  }
  std::ranges::move(engine.step(time + std::chrono::hours(1)), std::back_inserter(all));
  return all;
}

bool isOf(const PackRule& rule, const Outcome& outcome) {
  return outcome.kind != Outcome::Kind::kUntrusted && outcome.sighting.rule == rule.id;
}

std::map<std::string, std::string> given(const Outcome& outcome) {
  const Sighting& sighting = outcome.sighting;
  return {{"device", sighting.device},
          {"code", sighting.code},
          {"condition", sighting.condition},
          {"reason", sighting.reason},
          {"event", sighting.effect->event},
          {"action", std::string(actionName(sighting.action))},
          {"severity", std::string(severityName(sighting.effect->severity))}};
}

void testExample(Engine& engine, const PackRule& rule, const Example& example, std::vector<Complaint>& out) {
  const std::vector<Outcome> outcomes = play(engine, example.line, rule.trust);
  const auto own =
      std::ranges::find_if(outcomes, [&](const Outcome& outcome) { return isOf(rule, outcome); });
  if (own == outcomes.end()) {
    out.push_back(complaint(rule, "its example does not match: " + quoted(example.line)));
    return;
  }
  const auto found = given(*own);
  for (const auto& [key, expected] : example.gives) {
    if (found.at(key) != expected) {
      out.push_back(complaint(rule, key + ": expected " + quoted(expected) + ", found " +
                                        quoted(found.at(key)) + " in its example " + quoted(example.line)));
    }
  }
  for (const Outcome& outcome : outcomes) {
    if (outcome.sighting.rule != rule.id) {
      out.push_back(complaint(
          rule, "its example is a line of " + outcome.sighting.rule + ", too: " + quoted(example.line)));
    }
  }
}

bool sameTest(const CaptureTest& a, const CaptureTest& b) {
  const std::string left = a.pattern ? a.pattern->text() : "";
  return a.capture == b.capture && a.values == b.values && a.bits == b.bits &&
         left == (b.pattern ? b.pattern->text() : "");
}

// Whatever fits `later` fits `earlier`.
bool shadows(const Variant& earlier, const Variant& later) {
  return std::ranges::all_of(earlier.when, [&](const CaptureTest& test) {
    return std::ranges::any_of(later.when, [&](const CaptureTest& other) { return sameTest(test, other); });
  });
}

void lintVariants(const PackRule& rule, const std::vector<Variant>& variants, std::vector<Complaint>& out) {
  for (std::size_t later = 0; later < variants.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      if (shadows(variants[earlier], variants[later])) {
        out.push_back(complaint(rule, "the variant " + quoted(variants[later].name) +
                                          " is never reached: " + quoted(variants[earlier].name) +
                                          " stands before it and fits as well"));
      }
    }
  }
}

bool isKnown(const std::vector<Pack>& packs, const std::string& id) {
  const auto isRule = [&](const PackRule& rule) {
    return rule.id == id || (id.starts_with(rule.id + "/") && findEntry(packs, id).entry) ||
           (rule.own.effect->repeat && id == rule.id + "/" + rule.own.effect->repeat->id);
  };
  return std::ranges::any_of(packs,
                             [&](const Pack& pack) { return std::ranges::any_of(pack.rules, isRule); });
}

void lintEffect(const std::vector<Pack>& packs, const PackRule& rule, const Effect& effect,
                std::set<std::string>& complaints) {
  if (effect.corroborate != Corroborate::kIgnore && effect.faultClass != "neuron") {
    complaints.insert(
        complaint(rule,
                  "corroborate: there are witnesses of Neuron devices only (class neuron), so that "
                  "with require it would never mark a node"));
  }
  std::vector<std::string> ids = effect.cancels;
  if (effect.follows) {
    ids.insert(ids.end(), effect.follows->of.begin(), effect.follows->of.end());
  }
  if (effect.revises) {
    ids.insert(ids.end(), effect.revises->of.begin(), effect.revises->of.end());
  }
  for (const std::string& id : ids) {
    if (!isKnown(packs, id)) {
      complaints.insert(complaint(rule, "no rule is called " + quoted(id)));
    }
  }
}

void lintPatterns(const PackRule& rule, std::vector<Complaint>& out) {
  for (const std::string& text : rule.patterns) {
    const auto pattern = CapturePattern::compile(text);
    if (pattern && pattern->programSize() > kMaxProgram) {
      out.push_back(complaint(rule, "the pattern costs too much (" + std::to_string(pattern->programSize()) +
                                        " instructions, at most " + std::to_string(kMaxProgram) + ")"));
    }
    if (!PatternSet({text}).unfiltered().empty()) {
      out.push_back(
          complaint(rule, "the pattern asks for no text of " + std::to_string(PatternSet::kLiteral) +
                              " characters, so that every line of the log pays for it: " + quoted(text)));
    }
  }
}

void lintRule(const std::vector<Pack>& packs, const PackRule& rule, std::vector<Complaint>& out) {
  if (rule.source.empty() || rule.date.empty()) {
    out.push_back(complaint(rule, "no source and date, neither its own nor the pack's"));
  }
  if (rule.examples.empty()) {
    out.push_back(complaint(rule, "no example"));
  }
  if (!rule.implies.empty() && !findEntry(packs, rule.implies).entry) {
    out.push_back(complaint(rule, "implies " + quoted(rule.implies) + ", which is no entry"));
  }
  lintPatterns(rule, out);
  std::set<std::string> ofEffects;  // each once, though effects are shared
  const auto lintEntry = [&](const Entry& entry) {
    lintVariants(rule, entry.variants, out);
    lintEffect(packs, rule, *entry.effect, ofEffects);
    for (const Variant& variant : entry.variants) {
      lintEffect(packs, rule, *variant.effect, ofEffects);
    }
  };
  lintVariants(rule, rule.variants, out);
  lintEntry(rule.own);
  for (const auto& [code, entry] : rule.codes) {
    lintEntry(entry);
  }
  out.insert(out.end(), ofEffects.begin(), ofEffects.end());
}

}  // namespace

std::vector<Complaint> testPacks(const std::vector<Pack>& packs) {
  std::vector<Complaint> complaints;
  Engine engine(packs, bearOutAll);
  for (const Pack& pack : packs) {
    for (const PackRule& rule : pack.rules) {
      for (const Example& example : rule.examples) {
        testExample(engine, rule, example, complaints);
      }
      for (const std::string& line : rule.notMatches) {
        const std::vector<Outcome> outcomes = play(engine, line, rule.trust);
        if (std::ranges::any_of(outcomes,
                                [&](const Outcome& outcome) { return outcome.sighting.rule == rule.id; })) {
          complaints.push_back(complaint(rule, "must not match, and does: " + quoted(line)));
        }
      }
    }
  }
  return complaints;
}

std::vector<Complaint> lintPacks(const std::vector<Pack>& packs) {
  std::vector<Complaint> complaints;
  for (const Pack& pack : packs) {
    for (const PackRule& rule : pack.rules) {
      lintRule(packs, rule, complaints);
    }
  }
  return complaints;
}

}  // namespace mainstay::fault
