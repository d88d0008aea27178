#include "local/api/crd.h"

#include <algorithm>
#include <regex>

#include "local/api/metadata.h"

namespace mainstay::local {
namespace {

// Deeper schemas are refused: everything here recurses over them.
constexpr int kMaxSchemaDepth = 48;

std::vector<std::string> stringsOf(const JsonArray& array) {
  std::vector<std::string> strings;
  for (const Json& value : array) {
    if (value.is_string()) {
      strings.emplace_back(value.get_string());
    }
  }
  return strings;
}

bool flag(const Json& object, std::string_view key) {
  const Json* value = findMember(object, key);
  return value && value->is_bool() && value->get_bool();
}

std::vector<PrinterColumn> columnsOf(const Json& version) {
  std::vector<PrinterColumn> columns;
  for (const Json& column : arrayAt(version, "additionalPrinterColumns")) {
    columns.push_back({findString(column, "name"), findString(column, "type"), findString(column, "jsonPath"),
                       static_cast<int>(integerAt(column, "priority").value_or(0))});
  }
  return columns;
}

Kind kindOf(const Json& definition, const Json& version) {
  const Json* spec = findMember(definition, "spec");
  const Json* names = find(definition, "spec", "names");
  Kind kind;
  kind.resource = {findString(*spec, "group"), findString(version, "name"), findString(*names, "plural"),
                   findString(*names, "kind"), findString(*spec, "scope") == "Namespaced"};
  kind.singular = findString(*names, "singular");
  kind.shortNames = stringsOf(arrayAt(*names, "shortNames"));
  kind.categories = stringsOf(arrayAt(*names, "categories"));
  kind.custom = true;
  if (find(version, "subresources", "status")) {
    kind.subresources = {"status"};
  }
  if (const Json* schema = find(version, "schema", "openAPIV3Schema")) {
    kind.schema = std::make_shared<const Schema>(*schema);
  }
  kind.columns = columnsOf(version);
  return kind;
}

// A schema must be shallow enough and its patterns must compile, or objects could not be checked later.
void validateSchema(const Json& schema, const std::string& field, int depth, Causes& causes) {
  if (depth > kMaxSchemaDepth) {
    causes.push_back(
        forbiddenValue(field, "nested deeper than " + std::to_string(kMaxSchemaDepth) + " levels"));
    return;
  }
  if (schema.is_object()) {
    if (const Json* pattern = findMember(schema, "pattern"); pattern && pattern->is_string()) {
      try {
        const std::regex compiled(std::string(pattern->get_string()), std::regex::ECMAScript);
      } catch (const std::regex_error& error) {
        causes.push_back(invalidValue(field + ".pattern", *pattern, error.what()));
      }
    }
    for (const auto& [key, below] : schema.get_object()) {
      validateSchema(below, field + "." + std::string(key), depth + 1, causes);
    }
  } else if (schema.is_array()) {
    for (const Json& below : schema.get_array()) {
      validateSchema(below, field, depth + 1, causes);
    }
  }
}

void validateVersions(const Json& definition, Causes& causes) {
  int stored = 0;
  const JsonArray& versions = arrayAt(definition, "spec", "versions");
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const std::string field = "spec.versions[" + std::to_string(i) + "]";
    if (!isDnsLabel(findString(versions[i], "name"))) {
      causes.push_back(invalidText(field + ".name", findString(versions[i], "name"), "must be a DNS label"));
    }
    const Json* schema = find(versions[i], "schema", "openAPIV3Schema");
    if (!schema) {
      causes.push_back(requiredValue(field + ".schema.openAPIV3Schema", "schemas are required"));
    } else if (findString(*schema, "type") != "object") {
      causes.push_back(invalidText(field + ".schema.openAPIV3Schema.type", findString(*schema, "type"),
                                   "must be object at the root"));
    } else {
      validateSchema(*schema, field + ".schema.openAPIV3Schema", 0, causes);
    }
    stored += flag(versions[i], "storage") ? 1 : 0;
  }
  if (stored != 1) {
    causes.push_back(
        invalidValue("spec.versions", stored, "must have exactly one version marked as storage version"));
  }
}

JsonObject conditionOf(const std::string& type, const std::string& reason, const std::string& message,
                       TimePoint now) {
  return {{"type", type},
          {"status", "True"},
          {"lastTransitionTime", formatTime(now)},
          {"reason", reason},
          {"message", message}};
}

JsonArray conditionsOf(const Json& definition, TimePoint now) {
  JsonArray conditions{
      conditionOf("NamesAccepted", "NoConflicts", "no conflicts found", now),
      conditionOf("Established", "InitialNamesAccepted", "the initial names have been accepted", now)};
  std::string rules;
  for (const Kind& kind : kindsOf(definition)) {
    for (const std::string& rule : kind.schema->unevaluatedRules()) {
      rules += (rules.empty() ? "" : "; ") + rule;
    }
  }
  if (!rules.empty()) {
    conditions.push_back(conditionOf("RulesNotEvaluated", "NoExpressionLanguage",
                                     "this server evaluates a part of CEL only; not checked: " + rules, now));
  }
  return conditions;
}

}  // namespace

void validateDefinition(const Json& definition, const KindTable& kinds, Causes& causes) {
  const std::string name = findString(definition, "metadata", "name");
  const std::string group = findString(definition, "spec", "group");
  const std::string plural = findString(definition, "spec", "names", "plural");
  const std::string scope = findString(definition, "spec", "scope");
  if (!isDnsSubdomain(group)) {
    causes.push_back(invalidText("spec.group", group, "must be a DNS subdomain"));
  }
  if (!isDnsLabel(plural)) {
    causes.push_back(invalidText("spec.names.plural", plural, "must be a DNS label"));
  }
  if (findString(definition, "spec", "names", "kind").empty()) {
    causes.push_back(requiredValue("spec.names.kind"));
  }
  if (scope != "Namespaced" && scope != "Cluster") {
    causes.push_back(unsupportedText("spec.scope", scope, {"Cluster", "Namespaced"}));
  }
  if (name != plural + "." + group) {
    causes.push_back(invalidText("metadata.name", name, "must be spec.names.plural+\".\"+spec.group"));
  }
  if (kinds.servedByOther(group, plural, name)) {
    causes.push_back(forbiddenValue("spec.names.plural", plural + "." + group + " is served already"));
  }
  validateVersions(definition, causes);
}

void acceptDefinition(Json& definition, TimePoint now) {
  JsonObject& metadata = metadataOf(definition);
  metadata["finalizers"] = JsonArray{Json(kCrdFinalizer)};
  JsonArray stored;
  for (const Json& version : arrayAt(definition, "spec", "versions")) {
    if (flag(version, "storage")) {
      stored.push_back(Json(findString(version, "name")));
    }
  }
  JsonObject names = definition.as_object()["spec"].as_object()["names"].as_object();
  std::string singular = findString(definition, "spec", "names", "kind");
  std::transform(singular.begin(), singular.end(), singular.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (!names.contains("singular")) {
    names["singular"] = singular;
  }
  if (!names.contains("listKind")) {
    names["listKind"] = findString(definition, "spec", "names", "kind") + "List";
  }
  definition.as_object()["spec"].as_object()["names"] = names;
  definition.as_object()["status"] = JsonObject{{"conditions", conditionsOf(definition, now)},
                                                {"acceptedNames", std::move(names)},
                                                {"storedVersions", std::move(stored)}};
}

std::vector<Kind> kindsOf(const Json& definition) {
  std::vector<Kind> kinds;
  for (const Json& version : arrayAt(definition, "spec", "versions")) {
    if (flag(version, "served")) {
      kinds.push_back(kindOf(definition, version));
      if (flag(version, "storage")) {
        std::rotate(kinds.begin(), kinds.end() - 1, kinds.end());
      }
    }
  }
  return kinds;
}

Outcome<> conformToSchema(const Kind& kind, bool strict, const Json* before, Json& object, Causes& causes) {
  if (!kind.schema) {
    return {};
  }
  const std::vector<std::string> unknown = kind.schema->pruneAndDefault(object);
  if (strict && !unknown.empty()) {
    std::string list;
    for (const std::string& path : unknown) {
      list += (list.empty() ? "" : ", ") + ("unknown field \"" + path + "\"");
    }
    return refuse(badRequest("strict decoding error: " + list));
  }
  kind.schema->validate(before, object, causes);
  return {};
}

}  // namespace mainstay::local
