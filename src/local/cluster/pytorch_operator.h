// PyTorchOperator: carries out planPyTorchJob for every job.
#pragma once

#include "base/loop.h"
#include "kube/events.h"
#include "kube/watch_cache.h"
#include "local/cluster/pytorch_job.h"

namespace mainstay::local {

class PyTorchOperator final : public Loop {
 public:
  explicit PyTorchOperator(kube::Api& api);
  std::string_view name() const override { return "pytorch-operator"; }
  TimePoint step(TimePoint now) override;

 private:
  Result<> carryOut(const Json& job, const JobPlan& plan, TimePoint now);

  kube::Api& api_;
  kube::EventRecorder events_;
  kube::WatchCache<Json> jobs_;
  kube::WatchCache<Json> pods_;
  kube::WatchCache<Json> services_;
  std::map<std::string, TimePoint> retryAt_;  // by job: after a write that failed
};

}  // namespace mainstay::local
