// PyTorchJob (kubeflow.org/v1), as far as we look at it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/core.h"

namespace mainstay::api {

struct PyTorchReplica {
  std::string type;  // Master, Worker
  int count = 1;
  std::string restartPolicy;
  Pod pod;  // what the template makes: requests, selectors, tolerations
};

struct PyTorchJob {
  ObjectMeta meta;
  bool suspend = false;                           // spec.runPolicy.suspend
  std::vector<PyTorchReplica> replicas;           // Master first: the order of the ranks
  std::map<std::string, std::string> conditions;  // type -> status

  bool finished() const;  // Succeeded or Failed
  bool failed() const;
};

inline constexpr int kMaxReplicas = 100'000;

Result<PyTorchJob> decodePyTorchJob(const Json& object);

// The merge patch of spec.runPolicy.suspend.
JsonObject suspendPyTorchJob(bool suspend);
// The merge patch of the status of a job that has failed for good: Failed = True, Running = False,
// completionTime. `job` is the present object: its other conditions are kept, and its resourceVersion guards.
Json failPyTorchJob(const Json& job, const std::string& reason, const std::string& message, TimePoint now);

}  // namespace mainstay::api
