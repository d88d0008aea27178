#include "api/managed_fields.h"

namespace mainstay::api {
namespace {

// "k:{\"type\":\"NeuronHealth\"}" -> NeuronHealth.
std::string conditionTypeOf(std::string_view fieldKey) {
  if (!fieldKey.starts_with("k:")) {
    return "";
  }
  const auto key = parseJson(fieldKey.substr(2));
  return key ? findString(*key, "type") : "";
}

}  // namespace

std::map<std::string, std::set<std::string>> conditionManagers(const Json& node) {
  std::map<std::string, std::set<std::string>> managers;
  const Json* entries = find(node, "metadata", "managedFields");
  if (!entries || !entries->is_array()) {
    return managers;
  }
  for (const Json& entry : entries->get_array()) {
    const Json* fields = find(entry, "fieldsV1", "f:status", "f:conditions");
    if (!fields || !fields->is_object()) {
      continue;
    }
    for (const auto& [key, value] : fields->get_object()) {
      if (const std::string type = conditionTypeOf(key); !type.empty()) {
        managers[type].insert(findString(entry, "manager"));
      }
    }
  }
  return managers;
}

}  // namespace mainstay::api
