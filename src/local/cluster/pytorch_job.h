// What the Kubeflow training operator (v1.8) does about one PyTorchJob, as a pure plan: names, labels,
// environment, conditions and reasons are the operator's own, so that tools and controllers written for it
// see no difference.
//
// Not modelled: elastic policy, gang scheduling, the Event of each exit code, the init container that waits for the
// master's name (the kubelet waits instead).
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace mainstay::local {

struct JobEvent {
  std::string type;
  std::string reason;
  std::string message;
};

struct JobPlan {
  std::vector<Json> createPods;
  std::vector<Json> createServices;
  std::vector<Json> deletePods;
  std::vector<Json> deleteServices;
  Json status;             // as it should be; null = leave it
  bool deleteJob = false;  // its time to live after the end is over
  std::vector<JobEvent> events;
  TimePoint wake = kNever;  // when to plan again though nothing changed
};

// `pods`, `services`: those that the job owns. The job is not being deleted.
JobPlan planPyTorchJob(const Json& job, const std::vector<Json>& pods, const std::vector<Json>& services,
                       TimePoint now);

}  // namespace mainstay::local
