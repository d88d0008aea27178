// The JSONPath of printer columns: ".spec.node.name", ".metadata.labels.a\.b/c",
// ".status.conditions[?(@.type==\"Ready\")].status",
// ".items[0]", ".jobs[*].name", ".map['key']".
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"

namespace mainstay::local {

// Every value that the path leads to; none when it leads nowhere or is not of this form.
std::vector<const Json*> findByPath(const Json& root, std::string_view path);

}  // namespace mainstay::local
