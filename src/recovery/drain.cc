#include "recovery/drain.h"

namespace mainstay::recovery {

Drain planDrain(const FleetIndex& index, const std::string& node, bool jobsResume, bool kubeletSilent) {
  Drain drain;
  for (const api::Pod* pod : index.podsOn(node)) {
    const bool ending = pod->meta.deleted.has_value();
    if (pod->finished() || pod->ownedByDaemonSet() || pod->mirror() || (ending && kubeletSilent)) {
      continue;
    }
    drain.remaining.push_back(pod);
    if (jobsResume && index.stoppedByJobs(*pod)) {
      drain.jobs.push_back(pod);
    } else if (!ending) {
      drain.evict.push_back(pod);
    }
  }
  return drain;
}

}  // namespace mainstay::recovery
