#include "local/cluster/conditions.h"

namespace mainstay::local {
namespace {

const Json* findCondition(const Json* conditions, std::string_view type) {
  if (!conditions || !conditions->is_array()) {
    return nullptr;
  }
  for (const Json& condition : conditions->get_array()) {
    if (findString(condition, "type") == type) {
      return &condition;
    }
  }
  return nullptr;
}

}  // namespace

JsonObject conditionObject(const Json* before, const NewCondition& condition, TimePoint now) {
  const Json* old = findCondition(before, condition.type);
  const bool same = old && findString(*old, "status") == condition.status;
  JsonObject object{{"type", condition.type}, {"status", condition.status}};
  object["lastTransitionTime"] = same ? findString(*old, "lastTransitionTime") : formatTime(now);
  if (!condition.reason.empty()) {
    object["reason"] = condition.reason;
  }
  if (!condition.message.empty()) {
    object["message"] = condition.message;
  }
  return object;
}

std::string conditionStatus(const Json* conditions, std::string_view type) {
  const Json* condition = findCondition(conditions, type);
  return condition ? findString(*condition, "status") : "";
}

}  // namespace mainstay::local
