// CheckPool: threads that run checks and raise the loop's signal when one has ended.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <thread>
#include <vector>

#include "agent/monitors/plugin/check_run.h"
#include "base/channel.h"
#include "base/signal.h"

namespace mainstay::agent {

struct FinishedCheck {
  std::size_t check = 0;
  CheckResult result;
};

// Who runs the checks of a config. Used by one loop.
class CheckRunner {
 public:
  virtual ~CheckRunner() = default;
  // Never waits; at most as many as it was built for are under way.
  virtual void start(std::size_t check) = 0;
  // Those that have ended since the last call.
  virtual std::vector<FinishedCheck> takeFinished() = 0;
};

class CheckPool final : public CheckRunner {
 public:
  using Run = std::function<CheckResult(std::size_t check, std::stop_token stop)>;
  // `threads`: how many run at once. `signal` outlives the pool.
  CheckPool(std::size_t threads, Run run, Signal& signal);
  // Checks under way are asked to stop; those that wait are forgotten.
  ~CheckPool() override;

  void start(std::size_t check) override;
  std::vector<FinishedCheck> takeFinished() override;

 private:
  void work(const std::stop_token& stop);

  const Run run_;
  Signal& signal_;
  Channel<std::size_t> waiting_;
  Channel<FinishedCheck> finished_;
  std::vector<std::jthread> threads_;  // last: they use all above
};

}  // namespace mainstay::agent
