#include "base/loop.h"

#include <gtest/gtest.h>

#include <latch>

#include <condition_variable>
#include <functional>

#include "base/channel.h"

namespace mainstay {
namespace {

using namespace std::chrono_literals;

class FunctionLoop final : public Loop {
 public:
  explicit FunctionLoop(std::function<TimePoint(TimePoint)> step) : step_(std::move(step)) {}
  std::string_view name() const override { return "test"; }
  TimePoint step(TimePoint now) override { return step_(now); }

 private:
  std::function<TimePoint(TimePoint)> step_;
};

TEST(VirtualDriverTest, JumpsToTheEarliestWakeUp) {
  VirtualDriver driver(TimePoint(0s), 1);
  std::vector<TimePoint> steps;
  driver.start(std::make_shared<FunctionLoop>([&](TimePoint now) {
    steps.push_back(now);
    return now + 10min;
  }));

  ASSERT_TRUE(driver.runUntil(TimePoint(25min)));

  EXPECT_EQ(steps, (std::vector<TimePoint>{TimePoint(0s), TimePoint(10min), TimePoint(20min)}));
  EXPECT_EQ(driver.now(), TimePoint(25min));
}

TEST(VirtualDriverTest, StepsANotifiedLoopWithoutMovingTime) {
  VirtualDriver driver(TimePoint(5s), 1);
  int steps = 0;
  auto quiet = std::make_shared<FunctionLoop>([&](TimePoint) {
    ++steps;
    return kNever;
  });
  driver.start(quiet);
  driver.settle();

  quiet->signal().notify();
  ASSERT_TRUE(driver.settle());

  EXPECT_EQ(steps, 2);
  EXPECT_EQ(driver.now(), TimePoint(5s));
}

TEST(VirtualDriverTest, ReportsALivelock) {
  VirtualDriver driver(TimePoint(0s), 1);
  driver.start(std::make_shared<FunctionLoop>([](TimePoint now) { return now; }));

  EXPECT_FALSE(driver.settle(50));
}

TEST(VirtualDriverTest, LoopsMayStartAndStopLoopsWithinAStep) {
  VirtualDriver driver(TimePoint(0s), 1);
  int childSteps = 0;
  std::shared_ptr<FunctionLoop> child;
  child = std::make_shared<FunctionLoop>([&](TimePoint now) {
    ++childSteps;
    driver.stop(*child);
    return now;
  });
  driver.start(std::make_shared<FunctionLoop>([&](TimePoint) {
    driver.start(child);
    return kNever;
  }));

  EXPECT_TRUE(driver.settle());
  EXPECT_EQ(childSteps, 1);
}

TEST(VirtualDriverTest, TheSeedDecidesTheOrder) {
  const auto order = [](std::uint64_t seed) {
    VirtualDriver driver(TimePoint(0s), seed);
    std::string text;
    for (const char name : std::string("abcdef")) {
      driver.start(std::make_shared<FunctionLoop>([&text, name](TimePoint) {
        text += name;
        return kNever;
      }));
    }
    driver.settle();
    return text;
  };

  EXPECT_EQ(order(7), order(7));
  EXPECT_NE(order(7), order(8));
}

TEST(RealDriverTest, StepsWhenNotifiedAndStopsWhenAsked) {
  const SteadyWallClock clock;
  Channel<int> stepped(10);
  auto loop = std::make_shared<FunctionLoop>([&](TimePoint) {
    stepped.tryPush(1);
    return kNever;
  });
  RealDriver driver(clock);

  driver.start(loop);
  EXPECT_TRUE(stepped.pop({}));
  loop->signal().notify();
  EXPECT_TRUE(stepped.pop({}));
  driver.stop(*loop);
  loop->signal().notify();

  EXPECT_FALSE(stepped.tryPop());
}

TEST(RealDriverTest, TellsALoopThatHangsInAStep) {
  struct Hanging final : Loop {
    std::latch inStep{1};
    std::latch release{1};
    std::string_view name() const override { return "hanging"; }
    TimePoint step(TimePoint) override {
      inStep.count_down();
      release.wait();
      return kNever;
    }
  };
  const SteadyWallClock clock;
  const auto loop = std::make_shared<Hanging>();
  RealDriver driver(clock);
  EXPECT_EQ(driver.stuck(clock.now(), std::chrono::minutes(1)), "");
  driver.start(loop);
  loop->inStep.wait();
  EXPECT_EQ(driver.stuck(clock.now(), std::chrono::minutes(1)), "");
  const std::string stuck = driver.stuck(clock.now() + std::chrono::minutes(2), std::chrono::minutes(1));
  EXPECT_EQ(stuck.find("loop hanging has been in one step since "), 0u) << stuck;
  loop->release.count_down();
}

TEST(RealDriverTest, ALoopMayStopItself) {
  const SteadyWallClock clock;
  Channel<int> stepped(10);
  RealDriver driver(clock);
  {
    std::shared_ptr<FunctionLoop> loop;
    FunctionLoop* raw = nullptr;
    loop = std::make_shared<FunctionLoop>([&](TimePoint) {
      driver.stop(*raw);
      stepped.tryPush(1);
      return TimePoint(0s);
    });
    raw = loop.get();
    driver.start(loop);
    EXPECT_TRUE(stepped.pop({}));
  }

  EXPECT_EQ(stepped.size(), 0u);
}

TEST(ChannelTest, DropsWhenFullAndCounts) {
  Channel<int> channel(2);

  EXPECT_TRUE(channel.tryPush(1));
  EXPECT_TRUE(channel.tryPush(2));
  EXPECT_FALSE(channel.tryPush(3));

  EXPECT_EQ(channel.dropped(), 1u);
  EXPECT_EQ(channel.drain(), (std::vector<int>{1, 2}));
}

TEST(ChannelTest, PopGivesWhatIsLeftAfterCloseThenNothing) {
  Channel<int> channel(2);
  channel.tryPush(1);
  channel.close();

  EXPECT_EQ(channel.pop({}), 1);
  EXPECT_EQ(channel.pop({}), std::nullopt);
  EXPECT_FALSE(channel.tryPush(2));
}

TEST(ChannelTest, PushWaitsForRoom) {
  Channel<int> channel(1);
  channel.tryPush(1);
  std::jthread producer([&](std::stop_token stop) { channel.push(2, stop); });

  EXPECT_EQ(channel.pop({}), 1);
  EXPECT_EQ(channel.pop({}), 2);
}

TEST(ChannelTest, AStopRequestEndsAWaitingPop) {
  Channel<int> channel(1);
  std::stop_source source;
  std::jthread stopper([&] { source.request_stop(); });

  EXPECT_EQ(channel.pop(source.get_token()), std::nullopt);
}

}  // namespace
}  // namespace mainstay
