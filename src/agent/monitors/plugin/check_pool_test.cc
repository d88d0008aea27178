#include "agent/monitors/plugin/check_pool.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>

namespace mainstay::agent {
namespace {

// A run that does not end before it is asked to stop.
class Blocking {
 public:
  CheckResult run(std::size_t check, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    started_.push_back(check);
    changed_.notify_all();
    changed_.wait(lock, stop, [] { return false; });
    ++stopped_;
    return {};
  }
  void awaitStart() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !started_.empty(); });
  }
  std::vector<std::size_t> started() const { return started_; }
  int stopped() const { return stopped_; }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::size_t> started_;
  int stopped_ = 0;
};

CheckPool::Run runOf(Blocking& blocking) {
  return [&](std::size_t check, const std::stop_token& stop) { return blocking.run(check, stop); };
}

TEST(CheckPoolTest, RunsAndRaisesTheSignal) {
  Signal signal;
  CheckPool pool(
      2,
      [](std::size_t check, const std::stop_token&) {
        return CheckResult{CheckState::kOk, std::to_string(check), {}};
      },
      signal);
  pool.start(4);
  pool.start(2);
  std::map<std::size_t, std::string> said;
  const SteadyWallClock clock;
  while (said.size() < 2) {
    signal.waitUntil(clock, kNever, {});
    for (const FinishedCheck& finished : pool.takeFinished()) {
      said[finished.check] = finished.result.message;
    }
  }
  EXPECT_EQ(said, (std::map<std::size_t, std::string>{{2, "2"}, {4, "4"}}));
}

TEST(CheckPoolTest, StopsWhileIdle) {
  Signal signal;
  Blocking blocking;
  { const CheckPool pool(3, runOf(blocking), signal); }
  EXPECT_TRUE(blocking.started().empty());
}

TEST(CheckPoolTest, StopsWhatIsUnderWay) {
  Signal signal;
  Blocking blocking;
  {
    CheckPool pool(1, runOf(blocking), signal);
    pool.start(7);
    blocking.awaitStart();
  }
  EXPECT_EQ(blocking.stopped(), 1);
}

TEST(CheckPoolTest, ForgetsWhatWaits) {
  Signal signal;
  Blocking blocking;
  {
    CheckPool pool(1, runOf(blocking), signal);
    pool.start(7);
    blocking.awaitStart();
    pool.start(8);
  }
  EXPECT_EQ(blocking.started(), std::vector<std::size_t>{7});
}

}  // namespace
}  // namespace mainstay::agent
