// Release: takes back what the recovery did to nodes, whatever the plan. For `mainstay node release` and `mainstay release
// --all`. Works without a running controller; a running one finishes what a killed release began.
#pragma once

#include <string>
#include <vector>

#include "recovery/executor.h"

namespace mainstay::recovery {

struct ReleaseOptions {
  std::string reason;      // kept in the incident, the Event and the answer
  bool dryRun = false;     // only say what would be done
  bool uninstall = false;  // also where the instance is ending already, and the health label goes too
};

struct ReleasePlan {
  std::vector<Step> steps;
  std::string sentence;  // what they do, or why there is nothing to do
};

// Pure. Closes the open incident, takes the provider's mark back while the instance is not ending, takes our marks off the
// node, and frees its places. An error says why it must not be done. `fleet.facts` tells of a marked instance.
Result<ReleasePlan> planRelease(const Fleet& fleet, const std::string& node, const ReleaseOptions& options,
                                TimePoint now);

// The answer is a sentence: what was done, or why there was nothing to do. The same fault, unless it is seen again, does
// not open another incident.
Result<std::string> releaseNode(kube::Api& api, const Providers& providers, const std::string& node,
                                const ReleaseOptions& options, TimePoint now);

// Every node that bears our marks, and what agents wrote on any; one sentence each. Goes on after a failure, which is then
// told in its sentence and `failed`. For uninstalling: run it when controller and agents have been stopped; one that still
// runs writes anew.
struct Released {
  std::vector<std::string> sentences;
  bool failed = false;
};
Result<Released> releaseAllNodes(kube::Api& api, const Providers& providers, const ReleaseOptions& options,
                                 TimePoint now);

}  // namespace mainstay::recovery
