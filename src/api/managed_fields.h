// What metadata.managedFields tells of a Node's conditions: which field managers have written them.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/json.h"

namespace mainstay::api {

// By condition type. What is not as an API server writes it is passed over.
std::map<std::string, std::set<std::string>> conditionManagers(const Json& node);

}  // namespace mainstay::api
