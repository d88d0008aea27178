#include "agent/sources/source_thread.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

#include "agent/sources/kmsg_reader.h"

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;

// A kernel log that another thread writes, with a descriptor to wait on.
class SharedLog {
 public:
  void write(std::uint64_t count) {
    {
      std::lock_guard lock(mutex_);
      written_ += count;
    }
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(event_.get(), &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
  }

  OpenKernelLog opener() {
    return [this]() -> Result<std::unique_ptr<KernelLog>> { return std::make_unique<Log>(*this); };
  }

 private:
  class Log final : public KernelLog {
   public:
    explicit Log(SharedLog& owner) : owner_(owner) {}
    Result<KernelLogRead> read() override {
      std::lock_guard lock(owner_.mutex_);
      if (next_ == owner_.written_) {
        std::uint64_t ignored = 0;
        [[maybe_unused]] const ssize_t got = ::read(owner_.event_.get(), &ignored, sizeof(ignored));
        return KernelLogRead{};
      }
      return KernelLogRead{KernelLogRead::Kind::kRecord, "3," + std::to_string(next_++) + ",0,-;x\n"};
    }
    Result<> seekOldest() override { return {}; }
    Result<> seekEnd() override { return {}; }
    int descriptor() const override { return owner_.event_.get(); }

   private:
    SharedLog& owner_;
    std::uint64_t next_ = 0;
  };

  std::mutex mutex_;
  std::uint64_t written_ = 0;
  Descriptor event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

std::unique_ptr<SourceThread> startThread(SharedLog& log, const Clock& clock, Signal& signal) {
  return std::make_unique<SourceThread>("kmsg", std::make_unique<KmsgReader>(log.opener(), monotonicTime),
                                        clock, signal);
}

TEST(SourceThreadTest, SignalsTheLoopWhenRecordsCome) {
  SteadyWallClock clock;
  Signal signal;
  SharedLog log;
  const auto source = startThread(log, clock, signal);
  std::size_t got = 0;
  for (std::uint64_t round = 1; round <= 3; ++round) {
    log.write(2);
    while (got < round * 2) {
      signal.waitUntil(clock, clock.now() + 10s, {});
      for (const SourceNews& news : source->poll(clock.now())) {
        got += std::holds_alternative<fault::Record>(news) ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(got, 6u);
}

TEST(SourceThreadTest, LosesNothingWhenTheLoopIsSlow) {
  SteadyWallClock clock;
  Signal signal;
  SharedLog log;
  const std::uint64_t flood = SourceThread::kQueue * 5;
  log.write(flood);
  const auto source = startThread(log, clock, signal);
  std::uint64_t got = 0;
  while (got < flood) {
    signal.waitUntil(clock, clock.now() + 10s, {});
    const auto news = source->poll(clock.now());
    EXPECT_LE(news.size(), SourceThread::kQueue);
    for (const SourceNews& one : news) {
      ASSERT_FALSE(std::holds_alternative<RecordsLost>(one));
      got += std::holds_alternative<fault::Record>(one) ? 1 : 0;
    }
  }
  EXPECT_EQ(got, flood);
}

TEST(SourceThreadTest, StopsWhileItWaitsAndWhileItsQueueIsFull) {
  SteadyWallClock clock;
  Signal signal;
  SharedLog quiet;
  startThread(quiet, clock, signal).reset();
  SharedLog flooded;
  flooded.write(SourceThread::kQueue * 2);
  auto source = startThread(flooded, clock, signal);
  signal.waitUntil(clock, clock.now() + 10s, {});
  source.reset();
}

}  // namespace
}  // namespace mainstay::agent
