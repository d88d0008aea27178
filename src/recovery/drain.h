// Drain: which pods of a node are asked to leave, and which are waited for.
#pragma once

#include <vector>

#include "recovery/fleet.h"

namespace mainstay::recovery {

struct Drain {
  std::vector<const api::Pod*> evict;      // to be asked now
  std::vector<const api::Pod*> remaining;  // not gone yet, those of `evict` among them
  std::vector<const api::Pod*> jobs;       // of `remaining`: the jobs side stops them with their group
};

// `kubeletSilent`: nobody on the node ends pods any more, so those that are ending are not waited for.
Drain planDrain(const FleetIndex& index, const std::string& node, bool jobsResume, bool kubeletSilent);

}  // namespace mainstay::recovery
