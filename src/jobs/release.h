// Release: gives jobs back to their owners, whatever the plan. For `mainstay job release` and `mainstay
// release --all`.
#pragma once

#include <string>
#include <vector>

#include "kube/api.h"

namespace mainstay::jobs {

struct ReleaseOptions {
  std::string reason;   // kept in the Event and in the answer
  bool dryRun = false;  // only say what would be done
  bool forget = false;  // also take our annotation off, whether or not we hold the job
};

// Starts a PyTorchJob that we hold suspended, whether or not it fits. The answer is a sentence: what was
// done, or why there was nothing to do. The same incident does not stop the job again.
Result<std::string> releaseJob(kube::Api& api, const std::string& ns, const std::string& name,
                               const ReleaseOptions& options, TimePoint now);

// Every job that we hold, or that bears our annotation, which goes too; one sentence each. For uninstalling. Goes on after a failure, which is then told in its sentence and
// `failed`.
struct Released {
  std::vector<std::string> sentences;
  bool failed = false;
};
Result<Released> releaseAllJobs(kube::Api& api, const ReleaseOptions& options, TimePoint now);

}  // namespace mainstay::jobs
