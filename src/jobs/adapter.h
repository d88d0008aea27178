// Adapter: the seam between the planner and one kind of training job. Stateless; every function is pure.
#pragma once

#include <optional>
#include <string>

#include "api/core.h"
#include "jobs/job.h"
#include "kube/watch_cache.h"

namespace mainstay::jobs {

class Adapter {
 public:
  virtual ~Adapter() = default;
  virtual const api::Resource& resource() const = 0;
  // Reads one object of the kind.
  virtual kube::WatchCache<Job>::Decode decode() const = 0;
  // The name of the job that a pod belongs to, in the pod's namespace; "" = none of this kind.
  virtual std::string jobOf(const api::Pod& pod) const = 0;
  // The pod's place in the group; -1 when its labels do not say.
  virtual int rankOf(const Job& job, const api::Pod& pod) const = 0;
  // Why a job of this kind cannot be stopped and started as a group; "" = it can.
  virtual std::string obstacle(const Job& job) const = 0;
  // What may have made a job Failed over a lost node before it could be stopped, and what to do; "" = nothing
  // that this kind knows of.
  virtual std::string whyFailed(const Job& job) const = 0;

  // The merge patch that suspends or starts the group.
  virtual JsonObject suspendPatch(bool suspend) const = 0;
  // What the API server kept of it; nullopt when it dropped the field (an old CRD).
  virtual std::optional<bool> suspended(const Json& answer) const = 0;
  // The merge patch of the status of a job that ends Failed, guarded by the object's resourceVersion.
  virtual Json failurePatch(const Json& object, const std::string& reason, const std::string& message,
                            TimePoint now) const = 0;
};

}  // namespace mainstay::jobs
