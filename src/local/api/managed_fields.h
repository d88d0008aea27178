// metadata.managedFields: which manager last wrote which field, as Kubernetes keeps it for updates and
// patches.
#pragma once

#include <string>

#include "base/json.h"

namespace mainstay::local {

struct FieldWriter {
  std::string manager;
  std::string subresource;  // "" = the object itself
  TimePoint now{};
};

// `after` is about to replace `before` (null for a new object): gives the fields that differ to the writer
// and takes them from every other manager; entries that hold nothing any more go. `after` keeps no
// managedFields of its own making. Fields are named as in fieldsV1:
// {"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{"f:status":{}}}}}.
void recordFieldWriter(const Json& before, Json& after, const FieldWriter& writer);

}  // namespace mainstay::local
