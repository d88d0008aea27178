#include "cli/rules.h"

#include <algorithm>

#include "base/file_system.h"
#include "base/yaml.h"
#include "cli/output.h"
#include "fault/engine.h"
#include "fault/pack_check.h"
#include "fault/shipped_packs.h"

namespace mainstay::cli {
namespace {

using fault::Effect;
using fault::Entry;
using fault::Pack;
using fault::PackRule;
using fault::Variant;

constexpr int kDone = 0;
constexpr int kComplaint = 1;
constexpr int kWrongPack = 2;

Result<std::vector<Pack>> packsOf(const RulesOptions& options) {
  std::vector<std::string> names{"shipped"};
  names.insert(names.end(), options.rules.begin(), options.rules.end());
  return fault::loadPacks(names, RealFileSystem());
}

int refusePack(const Error& error, std::ostream& errors) {
  errors << "mainstay rules: " << error.toString() << "\n";
  return kWrongPack;
}

// One meaning: an entry, or a variant of it.
struct Meaning {
  std::string id;
  std::string code;
  std::string name;
  const Effect* effect;
};

void addMeanings(const std::string& id, const Entry& entry, std::vector<Meaning>& all) {
  const auto add = [&](const std::string& ownId, const std::string& name, const Effect& effect) {
    const std::string shown = fault::expandTemplate(name.empty() ? entry.name : name, {{"code", entry.code}});
    all.push_back({ownId, entry.code, shown, &effect});
    if (effect.repeat) {
      all.push_back(
          {ownId + "/" + effect.repeat->id, entry.code, effect.repeat->name, effect.repeat->effect.get()});
    }
  };
  add(id, "", *entry.effect);
  for (const Variant& variant : entry.variants) {
    add(variant.id.empty() ? id : id + "/" + variant.id, variant.name, *variant.effect);
  }
}

// Codes that are numbers come in the order of numbers.
std::vector<Meaning> meaningsOf(const PackRule& rule) {
  std::vector<const Entry*> entries;
  for (const auto& [code, entry] : rule.codes) {
    entries.push_back(&entry);
  }
  std::ranges::stable_sort(entries, {}, [](const Entry* entry) {
    const bool number = entry->code.find_first_not_of("0123456789") == std::string::npos;
    return number ? std::string(12 - std::min<std::size_t>(12, entry->code.size()), '0') + entry->code
                  : entry->code;
  });
  std::vector<Meaning> all;
  if (entries.empty() && rule.implies.empty()) {
    addMeanings(rule.id, rule.own, all);
  }
  for (const Entry* entry : entries) {
    addMeanings(rule.id + "/" + entry->code, *entry, all);
  }
  if (rule.unknown) {
    all.push_back({rule.id + "/*", "*", fault::expandTemplate(rule.unknown->name, {{"code", "*"}}),
                   rule.unknown->effect.get()});
  }
  return all;
}

std::string reasonOf(const Meaning& meaning) {
  return fault::expandTemplate(meaning.effect->reason, {{"code", meaning.code}});
}

Json meaningJson(const Meaning& meaning) {
  const Effect& effect = *meaning.effect;
  return JsonObject{{"id", meaning.id},
                    {"name", meaning.name},
                    {"severity", fault::severityName(effect.severity)},
                    {"scope", fault::scopeName(effect.scope)},
                    {"condition", effect.condition},
                    {"reason", reasonOf(meaning)},
                    {"event", effect.event},
                    {"action", fault::actionName(effect.action)},
                    {"clearOn", fault::clearOnName(effect.clearOn)},
                    {"corroborate", fault::corroborateName(effect.corroborate)},
                    {"hold", formatDuration(effect.hold)},
                    {"advice", effect.advice},
                    {"hyperpod", foreignJson(effect.hyperpod, "type", meaning.code)},
                    {"eks", foreignJson(effect.eks, "condition", meaning.code)}};
}

Json ruleJson(const PackRule& rule) {
  JsonArray meanings;
  for (const Meaning& meaning : meaningsOf(rule)) {
    meanings.push_back(meaningJson(meaning));
  }
  return JsonObject{{"id", rule.id},
                    {"place", rule.place},
                    {"source", rule.source},
                    {"date", rule.date},
                    {"trust", rule.trust == fault::Trust::kAny ? "any" : "kernel"},
                    {"patterns", JsonArray(rule.patterns.begin(), rule.patterns.end())},
                    {"device", rule.device},
                    {"implies", rule.implies},
                    {"meanings", std::move(meanings)}};
}

Json packsJson(const std::vector<Pack>& packs) {
  JsonArray all;
  for (const Pack& pack : packs) {
    JsonArray rules;
    for (const PackRule& rule : pack.rules) {
      rules.push_back(ruleJson(rule));
    }
    all.push_back(JsonObject{{"pack", pack.name}, {"about", pack.about}, {"rules", std::move(rules)}});
  }
  return all;
}

std::string packsText(const std::vector<Pack>& packs) {
  Table table({"finding", "severity", "condition", "action", "what"});
  for (const Pack& pack : packs) {
    for (const PackRule& rule : pack.rules) {
      for (const Meaning& meaning : meaningsOf(rule)) {
        table.add({meaning.id, std::string(fault::severityName(meaning.effect->severity)),
                   meaning.effect->condition.empty() ? "-" : meaning.effect->condition,
                   std::string(fault::actionName(meaning.effect->action)), meaning.name});
      }
    }
  }
  return table.text();
}

// A cell of a table: a bar would end it.
std::string cell(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) {
    text.insert(at, "\\");
  }
  return text;
}

std::string foreignCell(const fault::ForeignName& name, const std::string& code) {
  const std::string reason = fault::expandTemplate(name.reason, {{"code", code}});
  return name.type + (name.type.empty() || reason.empty() ? "" : "/") + reason;
}

std::string conditionCell(const Meaning& meaning) {
  const Effect& effect = *meaning.effect;
  if (effect.condition.empty()) {
    return "";
  }
  const std::string_view proviso = effect.corroborate == fault::Corroborate::kRequire ? ", if borne out"
                                   : effect.corroborate == fault::Corroborate::kPrefer
                                       ? ", unless contradicted"
                                       : "";
  return effect.condition + " " + reasonOf(meaning) + std::string(proviso);
}

std::string packMarkdown(const Pack& pack) {
  std::string text =
      "\n## " + pack.name + "\n\n" + pack.about + "\n\nSource: " + pack.source + " (" + pack.date +
      ").\n\n| finding | what it is | severity | condition | action | ends by | HyperPod | EKS |\n" +
      "|---|---|---|---|---|---|---|---|\n";
  for (const PackRule& rule : pack.rules) {
    for (const Meaning& meaning : meaningsOf(rule)) {
      const Effect& effect = *meaning.effect;
      const bool marks = !effect.condition.empty();
      text += "| " + meaning.id.substr(pack.name.size() + 1) + " | " + cell(meaning.name) + " | " +
              std::string(fault::severityName(effect.severity)) + " | " + conditionCell(meaning) + " | " +
              std::string(fault::actionName(effect.action)) + " | " +
              (marks ? std::string(fault::clearOnName(effect.clearOn)) : "") + " | " +
              foreignCell(effect.hyperpod, meaning.code) + " | " + foreignCell(effect.eks, meaning.code) +
              " |\n";
    }
  }
  return text;
}

std::string packsMarkdown(const std::vector<Pack>& packs) {
  std::string text =
      "# Faults\n\n"
      "What the rule packs of this release find in the kernel log, and what they say of it. Written by\n"
      "`mainstay rules list -o markdown`; the packs are in [rules/](../rules), and "
      "[add-a-rule.md](add-a-rule.md) tells "
      "how to\nadd to them. A finding without a condition is told by an Event only. A variant of a code has "
      "another "
      "meaning by what else\nthe line says (`mainstay rules show nvidia/xid/64`). \"If borne out\" and "
      "\"unless "
      "contradicted\" stand at conditions for\nwhich another witness than the log is heard (`corroborate`); "
      "none that is shipped has one.\n";
  for (const Pack& pack : packs) {
    text += packMarkdown(pack);
  }
  return text;
}

int tellComplaints(const std::vector<fault::Complaint>& complaints, const std::string& good,
                   std::ostream& out) {
  for (const fault::Complaint& complaint : complaints) {
    out << complaint << "\n";
  }
  if (complaints.empty()) {
    out << good << "\n";
  }
  return complaints.empty() ? kDone : kComplaint;
}

std::string counted(const std::vector<Pack>& packs, std::string_view what) {
  std::size_t rules = 0;
  std::size_t examples = 0;
  for (const Pack& pack : packs) {
    rules += pack.rules.size();
    for (const PackRule& rule : pack.rules) {
      examples += rule.examples.size() + rule.notMatches.size();
    }
  }
  return std::to_string(packs.size()) + " packs, " + std::to_string(rules) + " rules, " +
         std::to_string(examples) + " examples: " + std::string(what);
}

Json outcomeJson(const fault::Outcome& outcome) {
  const fault::Sighting& sighting = outcome.sighting;
  return JsonObject{{"outcome", fault::outcomeName(outcome.kind)},
                    {"id", sighting.id},
                    {"rule", sighting.rule},
                    {"device", sighting.device},
                    {"code", sighting.code},
                    {"name", sighting.name},
                    {"severity", fault::severityName(sighting.effect->severity)},
                    {"condition", sighting.condition},
                    {"reason", sighting.reason},
                    {"event", sighting.effect->event},
                    {"action", fault::actionName(sighting.action)},
                    {"advice", sighting.effect->advice}};
}

}  // namespace

Json foreignJson(const fault::ForeignName& name, const std::string& typeKey, const std::string& code) {
  return JsonObject{{typeKey, name.type}, {"reason", fault::expandTemplate(name.reason, {{"code", code}})}};
}

int lintRules(const RulesOptions& options, std::ostream& out, std::ostream& errors) {
  const auto packs = packsOf(options);
  if (!packs) {
    return refusePack(packs.error(), errors);
  }
  return tellComplaints(fault::lintPacks(*packs), counted(*packs, "nothing to complain about"), out);
}

int testRules(const RulesOptions& options, std::ostream& out, std::ostream& errors) {
  const auto packs = packsOf(options);
  if (!packs) {
    return refusePack(packs.error(), errors);
  }
  return tellComplaints(fault::testPacks(*packs), counted(*packs, "all as they say"), out);
}

int listRules(const RulesOptions& options, std::ostream& out, std::ostream& errors) {
  const auto packs = packsOf(options);
  if (!packs) {
    return refusePack(packs.error(), errors);
  }
  if (options.format == "markdown") {
    out << packsMarkdown(*packs);
    return kDone;
  }
  print(out, parseFormat(options.format), packsJson(*packs), packsText(*packs));
  return kDone;
}

int showRule(const RulesOptions& options, const std::string& id, std::ostream& out, std::ostream& errors) {
  const auto packs = packsOf(options);
  if (!packs) {
    return refusePack(packs.error(), errors);
  }
  const std::string rulePart = id.substr(0, id.find('/', id.find('/') + 1));
  for (const Pack& pack : *packs) {
    for (const PackRule& rule : pack.rules) {
      if (rule.id != rulePart) {
        continue;
      }
      Json shown = ruleJson(rule);
      JsonArray& meanings = shown.as_object()["meanings"].as_array();
      if (id != rule.id) {
        const auto others = std::remove_if(meanings.begin(), meanings.end(), [&](const Json& meaning) {
          const std::string other = findString(meaning, "id");
          return other != id && !other.starts_with(id + "/");
        });
        meanings.erase(others, meanings.end());
      }
      if (!meanings.empty() || id == rule.id) {
        print(out, parseFormat(options.format), shown, toYamlText(shown));
        return kDone;
      }
    }
  }
  errors << "mainstay rules show: there is no \"" << id << "\"; mainstay rules list shows them all\n";
  return kComplaint;
}

int explainLine(const RulesOptions& options, const std::string& line, std::ostream& out,
                std::ostream& errors) {
  auto packs = packsOf(options);
  if (!packs) {
    return refusePack(packs.error(), errors);
  }
  fault::Engine engine(*std::move(packs), fault::bearOutAll);
  fault::Record record;
  record.text = line;
  JsonArray outcomes;
  for (const fault::Outcome& outcome : engine.take(record)) {
    outcomes.push_back(outcomeJson(outcome));
  }
  if (outcomes.empty()) {
    errors << "mainstay rules explain: no rule knows this line\n";
    return kComplaint;
  }
  const std::string text = toYamlText(outcomes);
  print(out, parseFormat(options.format), outcomes, text);
  return kDone;
}

}  // namespace mainstay::cli
