// Conditions of nodes, pods and jobs as the local actors write them.
#pragma once

#include <string>

#include "base/json.h"

namespace mainstay::local {

struct NewCondition {
  std::string type;
  std::string status;  // "True", "False", "Unknown"
  std::string reason;  // "" = left out
  std::string message;
};

// The condition's object. lastTransitionTime stays that of the same type in `before` (null or a list of
// conditions) while the status is the same.
JsonObject conditionObject(const Json* before, const NewCondition& condition, TimePoint now);

// The status of a condition in a list; "" when there is none.
std::string conditionStatus(const Json* conditions, std::string_view type);

}  // namespace mainstay::local
