#include "fault/npd_json.h"

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

}  // namespace

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
