// Reading rule packs: YAML in, fault/pack.h out, every mistake told with its place.
#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "base/yaml.h"
#include "fault/pack.h"

namespace mainstay::fault {
namespace {

// Each of these may stand wherever an effect may: in `effects`, in a rule, in an entry, in a variant.
constexpr std::array<std::string_view, 21> kEffectKeys = {
    "effect",  "condition", "reason", "event",    "class",  "severity", "scope",
    "action",  "clearOn",   "dedupe", "hold",     "advice", "collect",  "cancels",
    "follows", "revises",   "repeat", "hyperpod", "eks",    "name",     "corroborate"};
constexpr std::string_view kNone = "none";  // takes away what a base says

std::vector<std::string_view> withEffectKeys(std::initializer_list<std::string_view> own) {
  std::vector<std::string_view> keys(own);
  keys.insert(keys.end(), kEffectKeys.begin(), kEffectKeys.end());
  return keys;
}

// A scalar as it is written: codes are numbers or words.
std::string scalarText(const Cursor& at) {
  if (at.exists() && (at.value().is_int64() || at.value().is_uint64())) {
    return toText(at.value());
  }
  return at.string();
}

std::vector<std::string> texts(const Cursor& at) {
  std::vector<std::string> all;
  if (!at.exists()) {
    return all;
  }
  if (!at.value().is_array()) {
    return {scalarText(at)};
  }
  for (const Cursor& element : at.elements()) {
    all.push_back(scalarText(element));
  }
  return all;
}

template <class Value, class Parse>
void readWord(const Cursor& at, Value& value, Parse parse, std::string_view expected) {
  if (!at.exists()) {
    return;
  }
  const std::string word = at.string();
  if (const auto parsed = parse(word)) {
    value = *parsed;
  } else if (!word.empty()) {
    at.error("expected " + std::string(expected) + ", found \"" + word + "\"");
  }
}

std::optional<Scope> parseScope(std::string_view word) {
  for (const Scope scope : {Scope::kNode, Scope::kDevice, Scope::kLink, Scope::kProcess}) {
    if (scopeName(scope) == word) {
      return scope;
    }
  }
  return std::nullopt;
}

std::optional<Corroborate> parseCorroborate(std::string_view word) {
  for (const Corroborate one : {Corroborate::kIgnore, Corroborate::kPrefer, Corroborate::kRequire}) {
    if (corroborateName(one) == word) {
      return one;
    }
  }
  return std::nullopt;
}

std::optional<Trust> parseTrust(std::string_view word) {
  return word == "kernel" ? std::optional(Trust::kKernel)
         : word == "any"  ? std::optional(Trust::kAny)
                          : std::nullopt;
}

void readText(const Cursor& at, std::string& text) {
  if (at.exists()) {
    text = at.string();
    if (text == kNone) {
      text.clear();
    }
  }
}

void readForeign(const Cursor& at, std::string_view typeKey, ForeignName& name) {
  if (at.exists()) {
    name.type = at.at(typeKey).string("");
    name.reason = at.at("reason").string("");
    at.allow({typeKey, "reason"});
  }
}

std::shared_ptr<const CapturePattern> readPattern(const Cursor& at, std::string_view text) {
  auto pattern = CapturePattern::compile(text);
  if (!pattern) {
    at.error("invalid pattern: " + pattern.error().toString());
    return nullptr;
  }
  return std::make_shared<const CapturePattern>(*std::move(pattern));
}

CaptureTest readTest(const std::string& capture, const Cursor& at) {
  constexpr std::string_view kBits = "bits:";
  CaptureTest test;
  test.capture = capture;
  for (const std::string& text : texts(at)) {
    if (text.size() > 2 && text.starts_with('/') && text.ends_with('/')) {
      test.pattern = readPattern(at, std::string_view(text).substr(1, text.size() - 2));
    } else if (text.starts_with(kBits)) {
      test.bits.push_back(text.substr(kBits.size()));
    } else {
      test.values.push_back(text);
    }
  }
  if (test.pattern && !(test.values.empty() && test.bits.empty())) {
    at.error("a /pattern/ stands alone: put the alternatives into it, as in /a|b/");
  }
  return test;
}

class PackReader {
 public:
  PackReader(const YamlDocument& document, Pack pack) : document_(document), pack_(std::move(pack)) {}

  Pack read(const Cursor& root) {
    root.allow({"pack", "about", "source", "date", "trust", "class", "conditions", "effects", "rules"});
    pack_.about = root.at("about").string(pack_.about);
    pack_.source = root.at("source").string(pack_.source);
    pack_.date = root.at("date").string(pack_.date);
    readWord(root.at("trust"), pack_.trust, parseTrust, "kernel or any");
    if (root.at("trust").exists()) {  // laid over a pack: for its rules, too
      for (PackRule& rule : pack_.rules) {
        rule.trust = pack_.trust;
      }
    }
    pack_.faultClass = root.at("class").string(pack_.faultClass);
    Effect plain;
    plain.faultClass = pack_.faultClass;
    plain_ = std::make_shared<const Effect>(plain);
    for (const Cursor& at : root.at("conditions").elements()) {
      readCondition(at);
    }
    for (const auto& [name, at] : root.at("effects").members()) {
      const std::vector<std::string_view> keys = withEffectKeys({});
      at.allow(keys);
      pack_.effects[name] = readEffect(at, plain_);
    }
    for (const Cursor& at : root.at("rules").elements()) {
      readRule(at);
    }
    return std::move(pack_);
  }

 private:
  void readCondition(const Cursor& at) {
    at.allow({"type", "reason", "message"});
    ConditionDefault condition{at.at("type").string(), at.at("reason").string(), at.at("message").string()};
    std::erase_if(pack_.conditions, [&](const ConditionDefault& old) { return old.type == condition.type; });
    pack_.conditions.push_back(std::move(condition));
  }

  // The effect that `at` describes: the one that it names, else `base`, with the fields that stand there.
  EffectPtr readEffect(const Cursor& at, EffectPtr base) {
    if (at.at("effect").exists()) {
      base = namedEffect(at.at("effect"));
    }
    const bool own = std::ranges::any_of(kEffectKeys, [&](std::string_view key) {
      return key != "effect" && key != "name" && at.at(key).exists();
    });
    if (!own) {
      return base;
    }
    Effect effect = *base;
    readFields(at, effect);
    readRelations(at, effect);
    return std::make_shared<const Effect>(std::move(effect));
  }

  EffectPtr namedEffect(const Cursor& at) const {
    const std::string name = at.string();
    if (const auto known = pack_.effects.find(name); known != pack_.effects.end()) {
      return known->second;
    }
    std::vector<std::string_view> names;
    for (const auto& [known, effect] : pack_.effects) {
      names.push_back(known);
    }
    at.error("no effect \"" + name + "\" stands above" + didYouMean(name, names));
    return plain_;
  }

  void readFields(const Cursor& at, Effect& effect) const {
    readText(at.at("condition"), effect.condition);
    checkCondition(at.at("condition"), effect.condition);
    readText(at.at("reason"), effect.reason);
    readText(at.at("event"), effect.event);
    readText(at.at("class"), effect.faultClass);
    readWord(at.at("severity"), effect.severity, parseSeverity, "unknown, info, warning, error or fatal");
    readWord(at.at("scope"), effect.scope, parseScope, "node, device, link or process");
    readWord(at.at("action"), effect.action, parseAction, "none, restart-app, reset, reboot or replace");
    readWord(at.at("clearOn"), effect.clearOn, parseClearOn, "evidence, boot or instance");
    readWord(at.at("corroborate"), effect.corroborate, parseCorroborate, "ignore, prefer or require");
    effect.dedupe = at.at("dedupe").duration(effect.dedupe);
    effect.hold = at.at("hold").duration(effect.hold);
    readText(at.at("advice"), effect.advice);
    if (at.at("collect").exists()) {
      effect.collect = texts(at.at("collect"));
    }
    readForeign(at.at("hyperpod"), "type", effect.hyperpod);
    readForeign(at.at("eks"), "condition", effect.eks);
    if (!effect.eks.type.empty() && !isReadyCondition(effect.eks.type)) {
      at.at("eks").error("\"" + effect.eks.type +
                         "\" is no condition of the EKS node monitoring agent: expected "
                         "AcceleratedHardwareReady, ContainerRuntimeReady, KernelReady, NetworkingReady or "
                         "StorageReady");
    }
  }

  void checkCondition(const Cursor& at, const std::string& type) const {
    if (type.empty() ||
        std::ranges::find(pack_.conditions, type, &ConditionDefault::type) != pack_.conditions.end()) {
      return;
    }
    std::vector<std::string_view> known;
    for (const ConditionDefault& condition : pack_.conditions) {
      known.push_back(condition.type);
    }
    at.error("\"" + type + "\" is not one of the pack's conditions" + didYouMean(type, known));
  }

  void readRelations(const Cursor& at, Effect& effect) {
    if (at.at("cancels").exists()) {
      effect.cancels = readIds(at.at("cancels"));
    }
    if (const Cursor follows = at.at("follows"); follows.exists()) {
      follows.allow({"of", "within", "across"});
      effect.follows = readRelation(follows);
    }
    if (const Cursor revises = at.at("revises"); revises.exists()) {
      revises.allow({"of", "within", "across", "reason", "action"});
      Revision revision{readRelation(revises), revises.at("reason").string(""), std::nullopt};
      readWord(revises.at("action"), revision.action, parseAction,
               "none, restart-app, reset, reboot or replace");
      effect.revises = std::move(revision);
    }
    if (at.at("repeat").exists()) {
      effect.repeat = readRepeat(at.at("repeat"), effect);
    }
  }

  Relation readRelation(const Cursor& at) const {
    Relation relation{readIds(at.at("of")), at.at("within").duration(std::chrono::seconds(10)), false};
    const std::string across = at.at("across").string("device");
    relation.acrossDevices = across == "node";
    if (across != "node" && across != "device") {
      at.at("across").error("expected device or node, found \"" + across + "\"");
    }
    return relation;
  }

  std::vector<std::string> readIds(const Cursor& at) const {
    std::vector<std::string> ids;
    for (const std::string& word : texts(at)) {
      const bool code =
          !word.empty() && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
      if (word.find('/') != std::string::npos) {
        ids.push_back(word);
      } else if (ruleId_.empty() && (code || word == "any")) {
        at.error("\"" + word + "\" is of one rule, and this is none: write pack/rule or pack/rule/code");
      } else {
        ids.push_back(word == "any" ? ruleId_
                      : code        ? ruleId_ + "/" + normalCode(word)
                                    : pack_.name + "/" + word);
      }
    }
    if (ids.empty()) {
      at.error("expected the ids of other findings: pack/rule/code, or a code of this rule, or any");
    }
    return ids;
  }

  Repeat readRepeat(const Cursor& at, const Effect& once) {
    const std::vector<std::string_view> keys = withEffectKeys({"count", "within", "by", "distinct", "id"});
    at.allow(keys);
    Repeat repeat;
    const std::int64_t count = at.at("count").integer();
    if (count < 2 || count > kMaxRepeat) {
      at.at("count").error("expected 2 to " + std::to_string(kMaxRepeat) + ", found " +
                           std::to_string(count));
    }
    repeat.count = static_cast<std::size_t>(std::clamp<std::int64_t>(count, 2, kMaxRepeat));
    repeat.within = at.at("within").duration(std::chrono::hours(24));
    repeat.by = texts(at.at("by"));
    repeat.distinct = at.at("distinct").string("");
    repeat.id = at.at("id").string("repeated");
    repeat.name = at.at("name").string("");
    Effect base = once;
    base.event.clear();  // each occurrence has had its own
    base.hold = {};
    base.follows.reset();
    base.revises.reset();
    base.repeat.reset();
    base.cancels.clear();
    repeat.effect = readEffect(at, std::make_shared<const Effect>(std::move(base)));
    return repeat;
  }

  void readRule(const Cursor& at) {
    const std::vector<std::string_view> keys =
        withEffectKeys({"id", "pattern", "join", "trust", "device", "source", "date", "enabled", "implies",
                        "codes", "unknown", "variants", "examples", "not"});
    at.allow(keys);
    const std::string id = at.at("id").string();
    ruleId_ = pack_.name + "/" + id;
    const auto known = std::ranges::find(pack_.rules, ruleId_, &PackRule::id);
    if (!at.at("enabled").boolean(true)) {
      if (known != pack_.rules.end()) {
        pack_.rules.erase(known);
      }
      return;
    }
    if (!seenRules_.insert(id).second) {
      at.at("id").error("the rule \"" + id + "\" stands twice");
    }
    PackRule fresh;
    fresh.id = ruleId_;
    fresh.trust = pack_.trust;
    fresh.source = pack_.source;
    fresh.date = pack_.date;
    fresh.own.effect = plain_;
    PackRule rule = known == pack_.rules.end() ? std::move(fresh) : *known;
    readRuleFields(at, rule);
    checkRule(at, rule);
    if (known == pack_.rules.end()) {
      pack_.rules.push_back(std::move(rule));
    } else {
      *known = std::move(rule);
    }
    ruleId_.clear();
  }

  void readRuleFields(const Cursor& at, PackRule& rule) {
    const SourcePlace place = placeOf(at);
    rule.place = document_.file + ":" + std::to_string(place.line);
    readPatterns(at, rule);
    readWord(at.at("trust"), rule.trust, parseTrust, "kernel or any");
    rule.source = at.at("source").string(rule.source);
    rule.date = at.at("date").string(rule.date);
    rule.own.name = at.at("name").string(rule.own.name);
    rule.own.effect = readEffect(at, rule.own.effect);
    if (at.at("implies").exists()) {
      const std::vector<std::string> ids = readIds(at.at("implies"));
      rule.implies = ids.empty() ? "" : ids.front();
    }
    std::set<std::string> seen;
    for (const Cursor& code : at.at("codes").elements()) {
      Entry entry = readCode(code, rule);
      if (!seen.insert(entry.code).second) {
        code.error("the code " + entry.code + " stands twice");
      }
      rule.codes[entry.code] = std::move(entry);
    }
    if (at.at("unknown").exists()) {
      rule.unknown = readUnknown(at.at("unknown"), rule);
    }
    if (at.at("variants").exists()) {
      rule.variants = readVariants(at.at("variants"), rule.own.effect);
    }
    readExamples(at, rule);
    rule.device = at.at("device").string(rule.device.empty() ? usualDevice() : rule.device);
  }

  void readPatterns(const Cursor& at, PackRule& rule) {
    const Cursor join = at.at("join");
    if (at.at("pattern").exists()) {
      rule.patterns = {at.at("pattern").string()};
    } else if (join.exists()) {
      join.allow({"patterns", "within", "lines"});
      rule.patterns = texts(join.at("patterns"));
      rule.joinWithin = join.at("within").duration(std::chrono::seconds(2));
      rule.joinLines =
          static_cast<std::size_t>(std::clamp<std::int64_t>(join.at("lines").integer(20), 1, kMaxJoinLines));
      if (rule.patterns.size() < 2) {
        join.at("patterns").error("expected two or more, found " + std::to_string(rule.patterns.size()));
      }
    }
    const Cursor place = join.exists() ? join.at("patterns") : at.at("pattern");
    if (rule.patterns.empty()) {
      place.error("a rule needs a pattern");
    }
    names_.clear();
    for (const auto& [code, entry] : rule.codes) {  // of the pack that this one is laid over
      addNames(entry.detail);
    }
    for (const std::string& pattern : rule.patterns) {
      if (!pattern.starts_with('^') && !pattern.starts_with("(?i)^")) {
        place.error(
            "expected ^ in front: text that a program can put into a line must not look like a fault");
      }
      addNames(readPattern(place, pattern));
    }
  }

  void addNames(const std::shared_ptr<const CapturePattern>& pattern) {
    if (pattern) {
      for (std::string& name : pattern->names()) {
        names_.insert(std::move(name));
      }
    }
  }

  std::string usualDevice() const {
    return names_.contains("pci") ? "{pci}" : names_.contains("device") ? "{device}" : "";
  }

  // [79, reset, GPU has fallen off the bus], or an object with more to say.
  Entry readCode(const Cursor& at, PackRule& rule) {
    if (!at.exists() || !at.value().is_array()) {
      Entry entry = readEntry(at, rule);
      entry.code = normalCode(scalarText(at.at("code")));
      return entry;
    }
    Entry entry;
    entry.code = normalCode(scalarText(at.at(std::size_t{0})));
    entry.effect = namedEffect(at.at(std::size_t{1}));
    entry.name = at.at(std::size_t{2}).string();
    if (at.elements().size() != 3) {
      at.error(
          "expected [code, effect, name]; what has more to say is written as {code: ..., effect: ..., ...}");
    }
    return entry;
  }

  // Kept and shown, never acted on.
  Entry readUnknown(const Cursor& at, PackRule& rule) {
    Entry entry = readEntry(at, rule);
    if (!entry.effect->condition.empty() || entry.effect->action != RepairAction::kNone) {
      at.error("what nobody knows must not set a condition or propose an action");
    }
    Effect effect = *entry.effect;
    effect.severity = Severity::kUnknown;
    entry.effect = std::make_shared<const Effect>(std::move(effect));
    return entry;
  }

  Entry readEntry(const Cursor& at, PackRule& rule) {
    const std::vector<std::string_view> keys = withEffectKeys({"code", "detail", "variants", "examples"});
    at.allow(keys);
    Entry entry;
    entry.name = at.at("name").string(rule.own.name);
    entry.effect = readEffect(at, rule.own.effect);
    if (at.at("detail").exists()) {
      entry.detail = readPattern(at.at("detail"), at.at("detail").string());
      addNames(entry.detail);
    }
    entry.variants = readVariants(at.at("variants"), entry.effect);
    readExamples(at, rule);
    return entry;
  }

  std::vector<Variant> readVariants(const Cursor& at, const EffectPtr& base) {
    const std::vector<std::string_view> keys = withEffectKeys({"when", "id"});
    std::vector<Variant> variants;
    for (const Cursor& element : at.elements()) {
      element.allow(keys);
      Variant variant;
      for (const auto& [capture, value] : element.at("when").members()) {
        variant.when.push_back(readTest(capture, value));
        checkName(value, capture);
      }
      if (variant.when.empty()) {
        element.error("expected `when`: the captures that tell this variant, and their values");
      }
      variant.id = element.at("id").string("");
      variant.name = element.at("name").string("");
      variant.effect = readEffect(element, base);
      variants.push_back(std::move(variant));
    }
    return variants;
  }

  void readExamples(const Cursor& at, PackRule& rule) const {
    for (const Cursor& element : at.at("examples").elements()) {
      Example example;
      if (element.value().is_object()) {
        element.allow({"line", "device", "code", "reason", "action", "severity", "event", "condition"});
        example.line = element.at("line").string();
        for (const auto& [key, value] : element.members()) {
          if (key != "line") {
            example.gives[key] = scalarText(value);
          }
        }
      } else {
        example.line = element.string();
      }
      rule.examples.push_back(std::move(example));
    }
    for (const std::string& line : at.at("not").exists() ? texts(at.at("not")) : std::vector<std::string>()) {
      rule.notMatches.push_back(line);
    }
  }

  void checkRule(const Cursor& at, const PackRule& rule) const {
    for (const std::string& name : templateNames(rule.device)) {
      checkName(at.at("device"), name);
    }
    if (!rule.codes.empty() && !names_.contains("code")) {
      at.at("codes").error("the pattern has no group (?P<code>...) that tells which code it is");
    }
    if (!rule.codes.empty() && !rule.unknown) {
      at.at("unknown").error(
          "expected what a code means that is not in the table: it is told, never dropped");
    }
    checkEffect(at, *rule.own.effect, !rule.codes.empty());
    for (const auto& [code, entry] : rule.codes) {
      checkEffect(at, *entry.effect, true);
      for (const Variant& variant : entry.variants) {
        checkEffect(at, *variant.effect, true);
      }
    }
  }

  void checkEffect(const Cursor& at, const Effect& effect, bool hasCodes) const {
    for (const std::string& name : templateNames(effect.reason)) {
      if (name != "code" || !hasCodes) {
        at.error("reason \"" + effect.reason +
                 "\": only {code} may stand there, and only where there are codes, " +
                 "so that every reason is known from the start");
      }
    }
    if (!effect.condition.empty() && effect.reason.empty()) {
      at.error("what sets the condition " + effect.condition + " needs a reason");
    }
    for (const std::string& name : effect.collect) {
      checkName(at, name);
    }
    if (effect.repeat) {
      for (const std::string& name : effect.repeat->by) {
        checkName(at, name);
      }
      if (!effect.repeat->distinct.empty()) {
        checkName(at, effect.repeat->distinct);
      }
    }
  }

  void checkName(const Cursor& at, const std::string& name) const {
    if (!names_.contains(name)) {
      std::vector<std::string_view> known(names_.begin(), names_.end());
      at.error("no group of the pattern is called \"" + name + "\"" + didYouMean(name, known));
    }
  }

  SourcePlace placeOf(const Cursor& at) const {
    const auto place = document_.places.find(at.path());
    return place == document_.places.end() ? SourcePlace{} : place->second;
  }

  static constexpr std::int64_t kMaxRepeat = 1000;
  static constexpr std::int64_t kMaxJoinLines = 1000;

  const YamlDocument& document_;
  Pack pack_;
  EffectPtr plain_;              // before anything is said
  std::string ruleId_;           // of the rule that is being read
  std::set<std::string> names_;  // the captures of its patterns
  std::set<std::string> seenRules_;
};

}  // namespace

Result<Pack> parsePack(std::string_view text, const std::string& file, const std::vector<Pack>& base) {
  MAINSTAY_ASSIGN(const std::vector<YamlDocument> documents, parseYaml(text, file));
  if (documents.size() != 1) {
    return fail(Code::kInvalidArgument, file + ": expected one rule pack, found " +
                                            std::to_string(documents.size()) + " YAML documents");
  }
  const YamlDocument& document = documents.front();
  DecodeErrors errors = document.errors();
  const Cursor root(document.value, errors);
  Pack start;
  start.name = root.at("pack").string();
  if (const auto known = std::ranges::find(base, start.name, &Pack::name); known != base.end()) {
    start = *known;
  }
  Pack pack = PackReader(document, std::move(start)).read(root);
  MAINSTAY_TRY(errors.result());
  return pack;
}

}  // namespace mainstay::fault
