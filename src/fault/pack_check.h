// What can be told about rule packs before a fault comes: whether their examples hold, and what is probably a mistake.
#pragma once

#include <string>
#include <vector>

#include "fault/pack.h"

namespace mainstay::fault {

// A mistake, with its place: "rules/nvidia.yaml:12: nvidia/xid: ...".
using Complaint = std::string;

// Every example matches its rule, gives what it says, and is no other rule's line; what must not match does not.
std::vector<Complaint> testPacks(const std::vector<Pack>& packs);

// Rules without a source, a date or an example; patterns that every line pays for, or that are too large; variants that
// another one shadows; ids that name nothing.
std::vector<Complaint> lintPacks(const std::vector<Pack>& packs);

}  // namespace mainstay::fault
