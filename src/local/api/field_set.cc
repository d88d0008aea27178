#include "local/api/field_set.h"

#include <algorithm>
#include <unordered_map>

namespace mainstay::local {
namespace {

constexpr char kItself[] = ".";

bool isMember(const FieldSet& below) {
  return below.empty() || below.contains(kItself);
}

// Has it nothing below it that could be owned? An empty map is owned itself.
bool isLeaf(const Part& part) {
  const bool emptyMap = part.value->is_object() && part.value->get_object().empty() && !part.given;
  return emptyMap || part.ownership.isWhole(*part.value);
}

// [name="a"] or [="x"] or .name
std::string pathStep(const std::string& step) {
  const std::string text = step.substr(2);
  if (step[0] == 'f') {
    return "." + text;
  }
  if (step[0] == 'v') {
    return "[=" + text + "]";
  }
  std::string keys;
  const auto identity = parseJson(text);
  if (identity && identity->is_object()) {
    for (const auto& [key, value] : identity->get_object()) {
      keys += (keys.empty() ? "" : ",") + std::string(key) + "=" + toText(value);
    }
  }
  return "[" + keys + "]";
}

void collectCommon(const FieldSet& one, const FieldSet& other, const std::string& path,
                   std::vector<std::string>& found) {
  for (const auto& [key, value] : one) {
    const FieldSet* left = fieldsBelow(one, key);
    const FieldSet* right = fieldsBelow(other, key);
    if (key == kItself || !left || !right) {
      continue;
    }
    const std::string here = path + pathStep(std::string(key));
    if (isMember(*left) && isMember(*right)) {
      found.push_back(here);
    }
    collectCommon(*left, *right, here, found);
  }
}

}  // namespace

FieldSet fieldsOf(const Json& object, const Ownership& ownership) {
  FieldSet fields;
  for (const Part& part : ownership.partsOf(object)) {
    FieldSet below = fieldsOf(*part.value, part.ownership);
    const bool leaf = isLeaf(part);
    if (!leaf && part.entry) {
      below[kItself] = FieldSet();
    }
    if (leaf || !below.empty()) {
      fields[part.step] = std::move(below);
    }
  }
  return fields;
}

FieldSet changedFields(const Json& before, const Json& after, const Ownership& ownership) {
  std::unordered_map<std::string, const Json*> old;
  for (const Part& part : ownership.partsOf(before)) {
    old.emplace(part.step, part.value);
  }
  FieldSet fields;
  for (const Part& part : ownership.partsOf(after)) {
    const auto at = old.find(part.step);
    const bool added = at == old.end();
    if (!added && *at->second == *part.value) {
      continue;
    }
    FieldSet below = changedFields(added ? Json() : *at->second, *part.value, part.ownership);
    const bool leaf = isLeaf(part);
    if (!leaf && added && !part.given) {
      below[kItself] = FieldSet();
    }
    if (leaf || !below.empty()) {
      fields[part.step] = std::move(below);
    }
  }
  return fields;
}

void addFields(FieldSet& set, const FieldSet& more) {
  for (const auto& [key, below] : more) {
    Json& slot = set[key];
    if (!slot.is_object()) {
      slot = JsonObject();
    }
    if (below.is_object()) {
      addFields(slot.get_object(), below.get_object());
    }
  }
}

void takeFields(FieldSet& set, const FieldSet& gone) {
  for (const auto& [key, below] : gone) {
    const auto at = set.find(key);
    if (at == set.end() || !at->value().is_object() || !below.is_object()) {
      continue;
    }
    if (!below.get_object().empty()) {
      takeFields(at->value().get_object(), below.get_object());
    }
    if (below.get_object().empty() || at->value().get_object().empty()) {
      set.erase(at);
    }
  }
}

const FieldSet* fieldsBelow(const FieldSet& set, std::string_view step) {
  const Json* below = set.if_contains(step);
  return below && below->is_object() ? &below->get_object() : nullptr;
}

std::vector<std::string> commonFields(const FieldSet& one, const FieldSet& other) {
  std::vector<std::string> found;
  collectCommon(one, other, "", found);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace mainstay::local
