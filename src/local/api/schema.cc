#include "local/api/schema.h"

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>

#include "local/api/json_access.h"
#include "local/api/rules.h"

namespace mainstay::local {
namespace {

// std::regex recurses for each character: a longer text is not matched but refused.
constexpr std::size_t kMaxPatternText = 4096;

bool isTrue(const Json& schema, std::string_view key) {
  const Json* flag = findMember(schema, key);
  return flag && flag->is_bool() && flag->get_bool();
}

std::string join(const std::string& path, std::string_view field) {
  return path.empty() ? std::string(field) : path + "." + std::string(field);
}

std::string at(const std::string& path, std::size_t index) {
  return path + "[" + std::to_string(index) + "]";
}

// --- Pruning and defaults ---

class SchemaShaper {
 public:
  std::vector<std::string> unknown;

  void shape(const Json& schema, Json& value, const std::string& path) {
    if (value.is_object()) {
      shapeObject(schema, value.get_object(), path);
    } else if (const Json* items = findMember(schema, "items"); items && value.is_array()) {
      JsonArray& elements = value.get_array();
      for (std::size_t i = 0; i < elements.size(); ++i) {
        shape(*items, elements[i], at(path, i));
      }
    }
  }

 private:
  void shapeObject(const Json& schema, JsonObject& object, const std::string& path) {
    const Json* properties = findMember(schema, "properties");
    if (properties && properties->is_object()) {
      fillIn(properties->get_object(), object);
    }
    const Json* rest = findMember(schema, "additionalProperties");
    const bool keepsRest = isTrue(schema, "x-kubernetes-preserve-unknown-fields") ||
                           (rest && (rest->is_object() || isTrue(schema, "additionalProperties")));
    const bool isResource = path.empty() || isTrue(schema, "x-kubernetes-embedded-resource");
    std::vector<std::string> gone;
    for (auto& [key, value] : object) {
      const std::string name(key);
      const bool envelope = isResource && (name == "apiVersion" || name == "kind" || name == "metadata");
      if (const Json* known = properties ? findMember(*properties, name) : nullptr; known && !envelope) {
        shape(*known, value, join(path, name));
      } else if (rest && rest->is_object()) {
        shape(*rest, value, join(path, name));
      } else if (!keepsRest && !envelope) {
        gone.push_back(name);
      }
    }
    for (const std::string& name : gone) {
      object.erase(name);
      unknown.push_back(join(path, name));
    }
  }

  // An absent field with a default gets it; a null that the schema does not allow is as good as absent.
  static void fillIn(const JsonObject& properties, JsonObject& object) {
    for (const auto& [name, schema] : properties) {
      const Json* present = object.if_contains(name);
      if (present && present->is_null() && !isTrue(schema, "nullable")) {
        object.erase(name);
        present = nullptr;
      }
      if (const Json* fallback = findMember(schema, "default"); fallback && !present) {
        object[name] = *fallback;
      }
    }
  }
};

// --- Validation ---

class SchemaValidator {
 public:
  explicit SchemaValidator(Causes& causes) : causes_(causes) {}

  void check(const Json& schema, const Json* before, const Json& value, const std::string& path) {
    if (value.is_null() && (isTrue(schema, "nullable") || !findMember(schema, "type"))) {
      return;
    }
    if (!checkType(schema, value, path)) {
      return;
    }
    checkEnum(schema, value, path);
    if (value.is_string()) {
      checkText(schema, value, path);
    } else if (value.is_number()) {
      checkNumber(schema, value, path);
    } else if (value.is_array()) {
      checkArray(schema, value.get_array(), path);
    } else if (value.is_object()) {
      checkObject(schema, before, value, path);
    }
    checkCombinations(schema, value, path);
    checkRules(schema, before, value, path);
  }

 private:
  // "spec.mode in body ...", as Kubernetes' validator says it.
  void add(const std::string& path, const Json& value, const std::string& complaint) {
    causes_.push_back(invalidValue(path, value, path + " in body " + complaint));
  }

  bool checkType(const Json& schema, const Json& value, const std::string& path) {
    if (isTrue(schema, "x-kubernetes-int-or-string")) {
      if (!value.is_string() && !value.is_int64() && !value.is_uint64()) {
        add(path, value, "must be of type integer or string");
        return false;
      }
      return true;
    }
    const std::string type = findString(schema, "type");
    if (type.empty() || isOfType(value, type)) {
      return true;
    }
    add(path, value, "must be of type " + type + ": " + toText(Json(typeName(value))));
    return false;
  }

  static bool isOfType(const Json& value, const std::string& type) {
    if (type == "integer") {
      const bool whole = value.is_double() && std::trunc(value.get_double()) == value.get_double();
      return value.is_int64() || value.is_uint64() || whole;
    }
    return type == typeName(value) || (type == "number" && value.is_number());
  }

  static std::string typeName(const Json& value) {
    switch (value.kind()) {
      case boost::json::kind::null:
        return "null";
      case boost::json::kind::bool_:
        return "boolean";
      case boost::json::kind::int64:
      case boost::json::kind::uint64:
        return "integer";
      case boost::json::kind::double_:
        return "number";
      case boost::json::kind::string:
        return "string";
      case boost::json::kind::array:
        return "array";
      case boost::json::kind::object:
        break;
    }
    return "object";
  }

  void checkEnum(const Json& schema, const Json& value, const std::string& path) {
    const Json* allowed = findMember(schema, "enum");
    if (!allowed || !allowed->is_array()) {
      return;
    }
    const JsonArray& values = allowed->get_array();
    if (std::find(values.begin(), values.end(), value) != values.end()) {
      return;
    }
    std::vector<std::string> names;
    for (const Json& one : values) {
      names.push_back(one.is_string() ? std::string(one.get_string()) : toText(one));
    }
    causes_.push_back(unsupportedValue(path, value, names));
  }

  void checkText(const Json& schema, const Json& value, const std::string& path) {
    const std::string text(value.get_string());
    // Lengths count characters: the bytes that begin one in UTF-8.
    const auto length = std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
    checkSize(schema, "minLength", "maxLength", length, value, path, "chars long");
    const std::string pattern = findString(schema, "pattern");
    if (!pattern.empty() && !matchesPattern(text, pattern)) {
      add(path, value, "should match '" + pattern + "'");
    }
    if (findString(schema, "format") == "date-time" && !parseTime(text)) {
      add(path, value, "must be of type date-time: " + toText(value));
    }
  }

  static bool matchesPattern(const std::string& text, const std::string& pattern) {
    try {
      return text.size() <= kMaxPatternText &&
             std::regex_search(text, std::regex(pattern, std::regex::ECMAScript));
    } catch (const std::regex_error&) {
      // validateDefinition refuses such patterns; none reaches an object.
      return false;
    }
  }

  void checkNumber(const Json& schema, const Json& value, const std::string& path) {
    const double number = value.to_number<double>();
    if (const Json* least = findMember(schema, "minimum"); least && least->is_number()) {
      const bool exclusive = isTrue(schema, "exclusiveMinimum");
      const double bound = least->to_number<double>();
      if (exclusive ? number <= bound : number < bound) {
        add(path, value,
            std::string("should be greater than ") + (exclusive ? "" : "or equal to ") + toText(*least));
      }
    }
    if (const Json* most = findMember(schema, "maximum"); most && most->is_number()) {
      const bool exclusive = isTrue(schema, "exclusiveMaximum");
      const double bound = most->to_number<double>();
      if (exclusive ? number >= bound : number > bound) {
        add(path, value,
            std::string("should be less than ") + (exclusive ? "" : "or equal to ") + toText(*most));
      }
    }
  }

  void checkSize(const Json& schema, std::string_view least, std::string_view most, std::int64_t size,
                 const Json& value, const std::string& path, const std::string& unit) {
    const Json* lower = findMember(schema, least);
    const Json* upper = findMember(schema, most);
    if (lower && lower->is_int64() && size < lower->get_int64()) {
      add(path, value, "should be at least " + toText(*lower) + " " + unit);
    }
    if (upper && upper->is_int64() && size > upper->get_int64()) {
      add(path, value, "should be at most " + toText(*upper) + " " + unit);
    }
  }

  void checkArray(const Json& schema, const JsonArray& elements, const std::string& path) {
    const auto size = static_cast<std::int64_t>(elements.size());
    checkSize(schema, "minItems", "maxItems", size, size, path, "items");
    const Json* items = findMember(schema, "items");
    for (std::size_t i = 0; items && i < elements.size(); ++i) {
      check(*items, nullptr, elements[i], at(path, i));
    }
    checkUnique(schema, elements, path);
  }

  // No two elements of a set are equal, none of a map have the same keys.
  void checkUnique(const Json& schema, const JsonArray& elements, const std::string& path) {
    const std::string type = findString(schema, "x-kubernetes-list-type");
    std::set<std::string> seen;
    for (std::size_t i = 0; (type == "set" || type == "map") && i < elements.size(); ++i) {
      Json identity = elements[i];
      if (type == "map") {
        JsonObject keys;
        for (const Json& key : arrayAt(schema, "x-kubernetes-list-map-keys")) {
          const Json* own = key.is_string() ? findMember(elements[i], key.get_string()) : nullptr;
          keys[key.is_string() ? key.get_string() : ""] = own ? *own : Json();
        }
        identity = std::move(keys);
      }
      if (!seen.insert(toText(identity)).second) {
        causes_.push_back({"FieldValueDuplicate", "Duplicate value: " + toText(identity), at(path, i)});
      }
    }
  }

  void checkObject(const Json& schema, const Json* before, const Json& value, const std::string& path) {
    const Json* required = findMember(schema, "required");
    if (required && required->is_array()) {
      for (const Json& name : required->get_array()) {
        if (name.is_string() && !findMember(value, name.get_string())) {
          causes_.push_back(requiredValue(join(path, name.get_string())));
        }
      }
    }
    const auto size = static_cast<std::int64_t>(value.get_object().size());
    checkSize(schema, "minProperties", "maxProperties", size, size, path, "properties");
    const Json* properties = findMember(schema, "properties");
    const Json* rest = findMember(schema, "additionalProperties");
    for (const auto& [key, member] : value.get_object()) {
      const std::string name(key);
      const bool metadata = path.empty() && name == "metadata";  // checked by validateMetadata
      const Json* known = properties ? findMember(*properties, name) : nullptr;
      const Json* rule = known ? known : rest && rest->is_object() ? rest : nullptr;
      if (rule && !metadata) {
        check(*rule, before ? findMember(*before, name) : nullptr, member, join(path, name));
      }
    }
  }

  static bool holds(const Json& schema, const Json& value) {
    Causes causes;
    SchemaValidator(causes).check(schema, nullptr, value, "");
    return causes.empty();
  }

  void checkCombinations(const Json& schema, const Json& value, const std::string& path) {
    const auto matching = [&](const Json& alternatives) {
      const JsonArray& all = alternatives.get_array();
      return std::count_if(all.begin(), all.end(), [&](const Json& one) { return holds(one, value); });
    };
    const auto alternatives = [&](std::string_view key) {
      const Json* found = findMember(schema, key);
      return found && found->is_array() ? found : nullptr;
    };
    if (const Json* any = alternatives("anyOf"); any && matching(*any) == 0) {
      add(path, value, "must validate at least one schema (anyOf)");
    }
    if (const Json* one = alternatives("oneOf"); one && matching(*one) != 1) {
      add(path, value, "must validate one and only one schema (oneOf)");
    }
    if (const Json* all = alternatives("allOf")) {
      for (const Json& each : all->get_array()) {
        check(each, nullptr, value, path);
      }
    }
    if (const Json* no = findMember(schema, "not"); no && holds(*no, value)) {
      add(path, value, "must not validate the schema (not)");
    }
  }

  void checkRules(const Json& schema, const Json* before, const Json& value, const std::string& path);

  Causes& causes_;
};

const JsonArray* rulesOf(const Json& schema) {
  const Json* rules = findMember(schema, "x-kubernetes-validations");
  return rules && rules->is_array() ? &rules->get_array() : nullptr;
}

void SchemaValidator::checkRules(const Json& schema, const Json* before, const Json& value,
                                 const std::string& path) {
  const JsonArray* rules = rulesOf(schema);
  if (!rules) {
    return;
  }
  for (const Json& rule : *rules) {
    const std::string text = findString(rule, "rule");
    if (evaluateRule(text, value, before) == Verdict::kBroken) {
      const std::string message = findString(rule, "message");
      causes_.push_back(invalidValue(path, value, message.empty() ? "failed rule: " + text : message));
    }
  }
}

void collectRules(const Json& schema, const std::string& path, std::vector<std::string>& found) {
  if (const JsonArray* rules = rulesOf(schema)) {
    for (const Json& rule : *rules) {
      if (evaluateRule(findString(rule, "rule"), Json(), nullptr) == Verdict::kUnevaluated) {
        found.push_back((path.empty() ? "." : path) + ": " + findString(rule, "rule"));
      }
    }
  }
  if (const Json* properties = findMember(schema, "properties"); properties && properties->is_object()) {
    for (const auto& [name, below] : properties->get_object()) {
      collectRules(below, join(path, name), found);
    }
  }
  if (const Json* items = findMember(schema, "items")) {
    collectRules(*items, path + "[*]", found);
  }
  if (const Json* rest = findMember(schema, "additionalProperties"); rest && rest->is_object()) {
    collectRules(*rest, path + "[*]", found);
  }
}

}  // namespace

std::vector<std::string> Schema::pruneAndDefault(Json& object) const {
  SchemaShaper shaper;
  shaper.shape(root_, object, "");
  return std::move(shaper.unknown);
}

void Schema::validate(const Json* before, const Json& object, Causes& causes) const {
  SchemaValidator(causes).check(root_, before, object, "");
}

std::vector<std::string> Schema::unevaluatedRules() const {
  std::vector<std::string> found;
  collectRules(root_, "", found);
  return found;
}

}  // namespace mainstay::local
