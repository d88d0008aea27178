// The Table form of objects: what kubectl shows in `get`. Cells as Kubernetes' own printers write them. Pure.
#pragma once

#include <string>

#include "local/api/discovery.h"

namespace mainstay::local {

struct TableOptions {
  bool header = true;         // false: the columns were sent before (a watch after its first event)
  bool wholeObjects = false;  // rows carry the object instead of its metadata only (includeObject=Object)
  TimePoint now{};
};

// Of one object or of a list of them.
Json toTable(const Kind& kind, const Json& objectOrList, const TableOptions& options);

// An age as kubectl prints it: "45s", "3m20s", "5h", "2d3h".
std::string shortAge(Duration age);

}  // namespace mainstay::local
