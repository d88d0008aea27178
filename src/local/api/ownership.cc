#include "local/api/ownership.h"

#include <algorithm>
#include <array>

#include "local/api/json_access.h"
#include "local/api/patch.h"
#include "local/api/schema.h"

namespace mainstay::local {
namespace {

// Maps of built-in kinds that are one piece: `structType=atomic` and `mapType=atomic` of k8s.io/api v0.34,
// for the kinds that are served here. "[]" is an element of a list.
constexpr std::array<std::string_view, 16> kAtomicMaps = {
    "selector",          "labelSelector",
    "nodeSelector",      "namespaceSelector",
    "fieldRef",          "resourceFieldRef",
    "secretKeyRef",      "configMapKeyRef",
    "involvedObject",    "related",
    "targetRef",         "claimRef",
    "ownerReferences[]", "imagePullSecrets[]",
    "preference",        "requiredDuringSchedulingIgnoredDuringExecution"};

// Lists whose elements a second key tells apart: `listMapKey`, beside the one key of strategic merge.
std::optional<std::string> secondKeyOf(std::string_view field) {
  return field == "ports"                       ? std::optional<std::string>("protocol")
         : field == "topologySpreadConstraints" ? std::optional<std::string>("whenUnsatisfiable")
                                                : std::nullopt;
}

// An element that does not say its protocol means TCP; a schema says its own defaults.
Json defaultOf(const Json* schema, const std::string& key) {
  const Json* declared = schema ? find(*schema, "items", "properties", key, "default") : nullptr;
  return declared ? *declared : key == "protocol" ? Json("TCP") : Json();
}

const Json* below(const Json* schema, std::string_view key) {
  const Json* found = schema ? findMember(*schema, key) : nullptr;
  return found && found->is_object() ? found : nullptr;
}

}  // namespace

Ownership Ownership::of(const Kind& kind) {
  return {Place::kRoot, !kind.custom, kind.schema ? &kind.schema->root() : nullptr, ""};
}

Ownership Ownership::member(const std::string& name) const {
  if (place_ == Place::kRoot && name == "metadata") {
    return {Place::kMetadata, true, nullptr, name};
  }
  const Json* declared = schema_ ? find(*schema_, "properties", name) : nullptr;
  return {Place::kInside, builtIn_, declared ? declared : below(schema_, "additionalProperties"), name};
}

Ownership Ownership::element() const {
  return {Place::kInside, builtIn_, below(schema_, "items"), field_ + "[]"};
}

bool Ownership::isDeclared(const std::string& name) const {
  return builtIn_ || place_ == Place::kRoot || (schema_ && find(*schema_, "properties", name));
}

bool Ownership::isServersOwn(std::string_view name) const {
  static constexpr std::array<std::string_view, 10> kMetadata = {
      "name",         "namespace",         "uid",
      "generation",   "creationTimestamp", "resourceVersion",
      "selfLink",     "deletionTimestamp", "deletionGracePeriodSeconds",
      "managedFields"};
  return place_ == Place::kMetadata ? std::find(kMetadata.begin(), kMetadata.end(), name) != kMetadata.end()
                                    : place_ == Place::kRoot && (name == "kind" || name == "apiVersion");
}

bool Ownership::isAtomicMap() const {
  if (builtIn_) {
    return std::find(kAtomicMaps.begin(), kAtomicMaps.end(), field_) != kAtomicMaps.end();
  }
  return schema_ && findString(*schema_, "x-kubernetes-map-type") == "atomic";
}

bool Ownership::isSet() const {
  return builtIn_ ? isMergedSet(field_) : schema_ && findString(*schema_, "x-kubernetes-list-type") == "set";
}

std::vector<std::string> Ownership::keysFor(const JsonArray& list) const {
  std::vector<std::string> keys;
  if (builtIn_) {
    if (const auto key = mergeKeyOf(field_, list.empty() ? Json() : list.front())) {
      keys.push_back(*key);
      if (const auto second = secondKeyOf(field_)) {
        keys.push_back(*second);
      }
    }
  } else if (schema_ && findString(*schema_, "x-kubernetes-list-type") == "map") {
    for (const Json& key : arrayAt(*schema_, "x-kubernetes-list-map-keys")) {
      keys.emplace_back(key.is_string() ? key.get_string() : "");
    }
  }
  std::sort(keys.begin(), keys.end());  // the order in which fieldsV1 names them
  return keys;
}

std::vector<Part> Ownership::membersOf(const JsonObject& object) const {
  std::vector<Part> parts;
  for (const auto& [key, value] : object) {
    const std::string name(key);
    if (value.is_null() || isServersOwn(name)) {
      continue;
    }
    const bool given =
        place_ == Place::kRoot && (name == "metadata" || (builtIn_ && (name == "spec" || name == "status")));
    parts.push_back({.step = "f:" + name,
                     .value = &value,
                     .ownership = member(name),
                     .entry = !isDeclared(name),
                     .given = given});
  }
  return parts;
}

std::vector<Part> Ownership::elementsOf(const JsonArray& array) const {
  std::vector<Part> parts;
  const std::vector<std::string> keys = keysFor(array);
  for (std::size_t i = 0; i < array.size(); ++i) {
    std::string step = "v:";
    if (keys.empty()) {
      step += toText(array[i]);
    } else {
      JsonObject identity;
      for (const std::string& key : keys) {
        const Json* own = findMember(array[i], key);
        identity[key] = own ? *own : defaultOf(schema_, key);
      }
      step = "k:" + toText(identity);
    }
    parts.push_back(
        {.step = std::move(step), .value = &array[i], .ownership = element(), .index = i, .entry = true});
  }
  return parts;
}

bool Ownership::isWhole(const Json& value) const {
  if (value.is_object()) {
    return isAtomicMap();
  }
  return !value.is_array() || (!isSet() && keysFor(value.get_array()).empty());
}

std::vector<Part> Ownership::partsOf(const Json& value) const {
  if (isWhole(value)) {
    return {};
  }
  return value.is_object() ? membersOf(value.get_object()) : elementsOf(value.get_array());
}

}  // namespace mainstay::local
