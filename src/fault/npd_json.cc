#include "fault/npd_json.h"

#include <charconv>

#include "fault/text.h"

namespace mainstay::fault {
namespace {

template <class Value>
Value choice(const Cursor& cursor, std::optional<Value> (*parse)(std::string_view), Value fallback,
             std::string_view expected) {
  if (!cursor.exists()) {
    return fallback;
  }
  const std::string name = cursor.string();
  const auto value = parse(name);
  if (!value && cursor.value().is_string()) {
    cursor.error("expected " + std::string(expected) + ", found \"" + name + "\"");
  }
  return value.value_or(fallback);
}

constexpr std::size_t kEscape = 6;  // bytes of \uXXXX

// The UTF-16 unit that is written so at `at`.
std::optional<unsigned> escapedUnit(std::string_view text, std::size_t at) {
  const std::string_view digits = text.substr(std::min(at, text.size())).substr(0, kEscape);
  unsigned unit = 0;
  if (digits.size() < kEscape || !digits.starts_with("\\u") ||
      std::from_chars(digits.data() + 2, digits.data() + kEscape, unit, 16).ptr != digits.data() + kEscape) {
    return std::nullopt;
  }
  return unit;
}

bool isHalf(std::optional<unsigned> unit, unsigned first) {
  return unit && *unit >= first && *unit < first + 0x400;
}

// Each half of a surrogate pair without its other one as \ufffd, which is as long, so that nothing changes its place.
std::string mendSurrogates(std::string json) {
  for (std::size_t at = json.find('\\'); at < json.size(); at = json.find('\\', at)) {
    const auto unit = escapedUnit(json, at);
    const bool high = isHalf(unit, 0xd800);
    if (high && isHalf(escapedUnit(json, at + kEscape), 0xdc00)) {
      at += 2 * kEscape;
    } else if (high || isHalf(unit, 0xdc00)) {
      json.replace(at, kEscape, "\\ufffd");
      at += kEscape;
    } else {
      at += 2;
    }
  }
  return json;
}

}  // namespace

DecodeErrors NpdDocument::errors() const {
  return DecodeErrors(file, [this](const std::string& path) { return places.find(path); });
}

Result<NpdDocument> parseNpdJson(std::string_view bytes, const std::string& file) {
  const std::string text = mendSurrogates(sanitizeUtf8(bytes));
  MAINSTAY_ASSIGN(Json value, parseJson(text, file));
  return NpdDocument{std::move(value), JsonPlaces(text), file};
}

Cursor field(const Cursor& object, std::string_view name) {
  std::string_view spelling = name;
  if (object.exists() && object.value().is_object()) {
    for (const auto& [key, value] : object.value().get_object()) {
      if (equalsIgnoringCase(key, name)) {
        spelling = key;
      }
    }
  }
  return object.at(spelling);
}

std::vector<ConditionDefault> readConditions(const Cursor& root) {
  std::vector<ConditionDefault> all;
  for (const Cursor& condition : field(root, "conditions").elements()) {
    all.push_back({field(condition, "type").string(""), field(condition, "reason").string(""),
                   field(condition, "message").string("")});
  }
  return all;
}

std::string ruleId(const std::string& file, const Cursor& rule) {
  return file.substr(file.find_last_of('/') + 1) + "#" + rule.path();  // npos + 1 is 0
}

bool readPermanent(const Cursor& rule, std::vector<std::string>& warnings) {
  const std::string type = field(rule, "type").string("");
  if (type != "temporary" && type != "permanent") {
    warnings.push_back(rule.path() + ".type: \"" + type +
                       "\" is neither temporary nor permanent; it is taken as permanent");
  }
  return type != "temporary";
}

RuleTraits readTraits(const Cursor& rule, ClearOn usualClearOn) {
  return {field(rule, "class").string(""),
          choice(field(rule, "action"), parseAction, RepairAction::kNone,
                 "none, restart-app, reset, reboot or replace"),
          choice(field(rule, "clearOn"), parseClearOn, usualClearOn, "evidence, boot or instance")};
}

}  // namespace mainstay::fault
