// Job: a distributed training job of any kind, as the planner sees it.
#pragma once

#include <string>
#include <vector>

#include "api/core.h"

namespace mainstay::jobs {

struct Replica {
  std::string type;
  int count = 1;
  std::string restartPolicy;
  api::Pod pod;  // what each of its pods asks for
};

struct Job {
  api::ObjectMeta meta;
  bool suspended = false;
  bool finished = false;  // succeeded or failed: never touched again
  bool failed = false;
  std::vector<Replica> replicas;  // in the order of ranks

  int podCount() const;
};

// Does the job want to be resumed, and how often? HyperPod's two annotations, both required.
struct OptIn {
  bool enabled = false;
  int maxRetries = 0;
  std::string error;  // what is wrong with the annotations; "" = nothing. Then `enabled` is false.
};
OptIn optInOf(const Job& job);

}  // namespace mainstay::jobs
