#include "local/api/metadata.h"

#include <algorithm>

namespace mainstay::local {

JsonObject& metadataOf(Json& object) {
  return memberObject(object.as_object(), "metadata");
}

JsonObject& memberObject(JsonObject& parent, std::string_view key) {
  Json& slot = parent[key];
  if (!slot.is_object()) {
    slot = JsonObject();
  }
  return slot.get_object();
}

JsonArray& memberArray(JsonObject& parent, std::string_view key) {
  Json& slot = parent[key];
  if (!slot.is_array()) {
    slot = JsonArray();
  }
  return slot.get_array();
}

void copyMember(JsonObject& to, const Json& from, std::string_view key) {
  if (const Json* value = findMember(from, key)) {
    to[key] = *value;
  } else {
    to.erase(key);
  }
}

bool hasFinalizers(const Json& object) {
  return !arrayAt(object, "metadata", "finalizers").empty() ||
         (findString(object, "kind") == "Namespace" && !arrayAt(object, "spec", "finalizers").empty());
}

bool hasFinalizer(const Json& object, std::string_view finalizer) {
  const JsonArray& finalizers = arrayAt(object, "metadata", "finalizers");
  return std::find(finalizers.begin(), finalizers.end(), Json(finalizer)) != finalizers.end();
}

std::int64_t graceOf(const Json& object) {
  return integerAt(object, "metadata", "deletionGracePeriodSeconds").value_or(0);
}

}  // namespace mainstay::local
