// Sidecar: reads a detector's metrics beside it, tells CloudWatch, and marks the instance in its Auto Scaling group. The
// hands of plan.h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "cloud/provider.h"
#include "sidecar/plan.h"

namespace mainstay::sidecar {

// The doors to the outside. Each call carries its own deadline.
struct Parts {
  std::function<Result<std::string>()> readMetrics;  // the detector's page
  std::function<Result<std::string>()> identify;     // the provider id of the instance that we run on
  std::function<Result<>(const std::vector<Value>&)> publish;
  cloud::Provider* provider = nullptr;
};

// Without errors it asks nothing of the cloud. A call that fails is told and tried again at the next look. What it says of
// the instance is logged when it changes, not at every look.
class Sidecar final : public Loop {
 public:
  // Does nothing before `start`: the detector and the runtime need a moment after a boot.
  Sidecar(Parts parts, Settings settings, TimePoint start);
  std::string_view name() const override { return "sidecar"; }
  TimePoint step(TimePoint now) override;

 private:
  std::optional<Problems> look();
  void note(const Problems& problems);
  void publish(const std::optional<Problems>& problems, TimePoint now);
  Result<> recover(TimePoint now);
  Result<Surroundings> surroundings();
  void say(const Judgement& judgement);
  void tell(std::string_view activity, const Result<>& result);

  const Parts parts_;
  const Settings settings_;
  const TimePoint start_;
  Memory memory_;
  std::string providerId_;  // "" until known
  TimePoint recoverAt_;     // not before
  bool lookBack_ = false;   // a mark that we made has not been looked at since
  int withdrawals_ = 0;
  // What was logged last, so that only changes are.
  std::string said_;
  std::map<std::string_view, std::string> troubles_;
  std::size_t wrongLines_ = 0;
  std::optional<std::set<std::string>> unknown_;
};

}  // namespace mainstay::sidecar
