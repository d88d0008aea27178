// Kubeflow's PyTorchJob.
#pragma once

#include "jobs/adapter.h"

namespace mainstay::jobs {

class PyTorchJobAdapter final : public Adapter {
 public:
  const api::Resource& resource() const override { return api::kPyTorchJobs; }
  kube::WatchCache<Job>::Decode decode() const override;
  std::string jobOf(const api::Pod& pod) const override;
  int rankOf(const Job& job, const api::Pod& pod) const override;
  std::string obstacle(const Job& job) const override;
  std::string whyFailed(const Job& job) const override;
  JsonObject suspendPatch(bool suspend) const override;
  std::optional<bool> suspended(const Json& answer) const override;
  Json failurePatch(const Json& object, const std::string& reason, const std::string& message,
                    TimePoint now) const override;
};

}  // namespace mainstay::jobs
