#include "agent/stats/usage_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "base/file_system.h"

namespace mainstay::agent::stats {
namespace {

using namespace std::chrono_literals;

const TimePoint kAsked = *parseTime("2026-11-29T20:14:07Z");

// Threads that run when the test says so.
class UsageWatchTest : public ::testing::Test {
 protected:
  // Lets the thread that was started as the `n`th come back.
  void finish(std::size_t n) { threads.at(n)(); }
  std::string errorOf(const std::string& mountPoint) {
    const auto at = watch.answers().find(mountPoint);
    return at == watch.answers().end() || at->second ? "" : at->second.error().toString();
  }
  bool knows(const std::string& mountPoint) {
    const auto at = watch.answers().find(mountPoint);
    return at != watch.answers().end() && at->second;
  }

  std::vector<std::function<void()>> threads;
  Signal signal;
  UsageWatch watch{5s,
                   [](const std::string&) {
                     return Usage{3, 1};
                   },
                   [this](std::function<void()> work) { threads.push_back(std::move(work)); }};
};

TEST_F(UsageWatchTest, AsksOneAfterTheOther) {
  watch.start(signal);
  watch.ask({"/", "/data"});
  EXPECT_EQ(watch.step(kAsked), kAsked + 5s);
  EXPECT_EQ(threads.size(), 1u);
  finish(0);
  EXPECT_TRUE(signal.take());
  watch.step(kAsked + 1s);
  EXPECT_TRUE(knows("/"));
  EXPECT_EQ(threads.size(), 2u);
  finish(1);
  EXPECT_EQ(watch.step(kAsked + 1s), kNever);
  EXPECT_TRUE(knows("/data"));
  EXPECT_EQ(watch.answers().at("/data")->used, 3);
}

TEST_F(UsageWatchTest, OneThatHangsIsToldAndDoesNotKeepTheOthersWaiting) {
  watch.ask({"/dead", "/data"});
  watch.step(kAsked);
  watch.step(kAsked + 5s - 1us);
  EXPECT_EQ(errorOf("/dead"), "");
  EXPECT_EQ(threads.size(), 1u);
  watch.step(kAsked + 5s);
  EXPECT_NE(errorOf("/dead").find("statvfs of /dead has not returned for 5s"), std::string::npos);
  ASSERT_EQ(threads.size(), 2u);
  finish(1);
  watch.step(kAsked + 5s);
  EXPECT_TRUE(knows("/data"));
}

TEST_F(UsageWatchTest, OneThatHangsIsNotAskedAgainBeforeItAnswers) {
  watch.ask({"/dead"});
  watch.step(kAsked);
  watch.step(kAsked + 5s);
  watch.ask({"/dead"});
  EXPECT_EQ(watch.step(kAsked + 1min), kNever);
  EXPECT_EQ(threads.size(), 1u);
  EXPECT_NE(errorOf("/dead"), "");
  finish(0);
  watch.step(kAsked + 2min);
  EXPECT_TRUE(knows("/dead")) << "it sees again at once";
  watch.ask({"/dead"});
  watch.step(kAsked + 2min);
  EXPECT_EQ(threads.size(), 2u);
}

TEST_F(UsageWatchTest, OneThatIsMountedAgainWhileTheCallHangsIsNotUnknown) {
  watch.ask({"/dead"});
  watch.step(kAsked);
  watch.step(kAsked + 5s);
  watch.ask({});
  watch.step(kAsked + 1min);
  EXPECT_TRUE(watch.answers().empty());
  watch.ask({"/dead"});
  watch.step(kAsked + 2min);
  EXPECT_NE(errorOf("/dead"), "");
}

TEST_F(UsageWatchTest, EveryAnswerIsANewRevision) {
  watch.ask({"/"});
  watch.step(kAsked);
  const auto before = watch.revision();
  watch.step(kAsked + 1s);
  EXPECT_EQ(watch.revision(), before);
  finish(0);
  watch.step(kAsked + 1s);
  EXPECT_GT(watch.revision(), before);
}

TEST(UsageWatchThreadsTest, WithoutAThreadTheMountIsUnreadable) {
  UsageWatch watch(
      5s, [](const std::string&) { return Usage{}; },
      [](const std::function<void()>&) { throw std::system_error(EAGAIN, std::generic_category()); });
  watch.ask({"/"});
  EXPECT_EQ(watch.step(kAsked), kNever);
  EXPECT_NE(watch.answers().at("/").error().toString().find("no thread"), std::string::npos);
}

TEST(UsageWatchThreadsTest, ACallMayComeBackAfterTheWatchAndItsLoopAreGone) {
  std::promise<void> asked;
  std::promise<void> answer;
  std::promise<void> done;
  {
    Signal signal;
    UsageWatch watch(
        5s, [](const std::string&) { return Usage{}; },
        [&](std::function<void()> work) {
          launchThread([&, work = std::move(work)] {
            asked.set_value();
            answer.get_future().wait();
            work();
            done.set_value();
          });
        });
    watch.start(signal);
    watch.ask({"/"});
    watch.step(kAsked);
    asked.get_future().wait();
  }
  answer.set_value();
  EXPECT_EQ(done.get_future().wait_for(30s), std::future_status::ready);
}

TEST(ReadUsageTest, AsksTheKernel) {
  const TemporaryFolder folder("mainstay-test-");
  const auto usage = readUsage(folder.path());
  ASSERT_TRUE(usage) << usage.error().toString();
  EXPECT_GT(usage->used + usage->free, 0);
  const auto none = readUsage(folder.path() + "/none");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().toString().find("statvfs of " + folder.path() + "/none: No such file"),
            std::string::npos);
}

}  // namespace
}  // namespace mainstay::agent::stats
