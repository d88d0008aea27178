// Loop: everything with a life of its own (agent core, controllers, local scheduler, kubelet, operator,
// cloud), written so that one code path runs in real and in virtual time.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/signal.h"
#include "base/time.h"

namespace mainstay {

class Loop {
 public:
  virtual ~Loop() = default;
  virtual std::string_view name() const = 0;
  // Does what is due at `now` and returns when it wants to run again at the latest (kNever: only when
  // notified). Never waits for time to pass; calls to the API server carry their own short deadlines. Always
  // called by one thread at a time.
  virtual TimePoint step(TimePoint now) = 0;
  // Raised by whatever feeds the loop (watch, channel, another loop): it is stepped soon.
  Signal& signal() { return signal_; }

 private:
  Signal signal_;
};

// Runs loops. Starting and stopping is allowed from within a step (a cloud that launches a node).
class Driver {
 public:
  virtual ~Driver() = default;
  virtual void start(std::shared_ptr<Loop> loop) = 0;
  // After it returns the loop is not stepped any more, unless called from within that very step.
  virtual void stop(const Loop& loop) = 0;
};

// One named thread per loop. The destructor stops and joins them all.
class RealDriver final : public Driver {
 public:
  explicit RealDriver(const Clock& clock) : clock_(clock) {}
  ~RealDriver() override;
  void start(std::shared_ptr<Loop> loop) override;
  void stop(const Loop& loop) override;
  // Why this program should be restarted: the loops that have been in one step for longer than `limit`, as a sentence;
  // "" when there is none. Any thread may ask.
  std::string stuck(TimePoint now, Duration limit) const;

 private:
  // When the present step began; kNever between steps. Shared with the thread, which may outlive its entry.
  using StepBegan = std::shared_ptr<std::atomic<TimePoint>>;
  struct Running {
    std::shared_ptr<Loop> loop;
    StepBegan began;
    std::jthread thread;
  };
  void run(Loop& loop, std::atomic<TimePoint>& began, std::stop_token stop);

  const Clock& clock_;
  mutable std::mutex mutex_;
  std::vector<Running> running_;  // guarded by mutex_
};

// One thread, no waiting: steps whatever is due or notified, in an order drawn from the seed, until nothing
// is; then time jumps to the earliest wake-up. The same seed gives the same run.
class VirtualDriver final : public Driver, public Clock {
 public:
  VirtualDriver(TimePoint start, std::uint64_t seed);
  void start(std::shared_ptr<Loop> loop) override;
  void stop(const Loop& loop) override;
  TimePoint now() const override { return now_; }
  // Runs until quiet, with time standing still. False when `maxSteps` were not enough (a livelock).
  bool settle(int maxSteps = 100000);
  // Runs until `end`; `now()` is then `end`. False on a livelock.
  bool runUntil(TimePoint end);

 private:
  struct Scheduled {
    std::shared_ptr<Loop> loop;
    TimePoint wake;
  };
  TimePoint now_;
  std::mt19937_64 random_;
  std::vector<Scheduled> scheduled_;
};

}  // namespace mainstay
