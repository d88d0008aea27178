#include "sidecar/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainstay::sidecar {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr TimePoint kNow{std::chrono::hours(500000)};

Settings settingsFor(std::set<std::string> counters) {
  Settings settings;
  settings.counters = std::move(counters);
  settings.recover = true;
  return settings;
}

TEST(MemoryTest, AnErrorSeenIsNotForgottenWhenTheCounterStartsAgain) {
  Memory memory = remember({}, {{{"A", true}, {"B", false}}, 0});
  EXPECT_THAT(memory.errors, ElementsAre("A"));
  memory = remember(memory, {{{"A", false}, {"B", true}}, 0});
  EXPECT_THAT(memory.errors, ElementsAre("A", "B"));
}

TEST(ValuesTest, PublishesAnErrorAtOnceAndAgainEveryInterval) {
  const Settings settings = settingsFor({"A", "B"});
  const Problems problems{{{"A", true}, {"B", false}}, 0};
  Memory memory = remember({}, problems);
  EXPECT_THAT(valuesDue(memory, problems, settings, kNow), ElementsAre(Value{"A", 1}));
  memory.publishedAt = kNow;
  memory.published = memory.errors;
  EXPECT_THAT(valuesDue(memory, problems, settings, kNow + seconds(59)), IsEmpty());
  EXPECT_THAT(valuesDue(memory, problems, settings, kNow + seconds(60)), ElementsAre(Value{"A", 1}));
  memory = remember(memory, {{{"B", true}}, 0});
  EXPECT_THAT(valuesDue(memory, problems, settings, kNow + seconds(1)),
              ElementsAre(Value{"A", 1}, Value{"B", 1}));
}

TEST(ValuesTest, AZeroNeedsADetectorThatKnowsTheReason) {
  Settings settings = settingsFor({"A", "B"});
  const Problems problems{{{"A", false}}, 0};
  EXPECT_THAT(valuesDue({}, problems, settings, kNow), IsEmpty());
  settings.publishZeros = true;
  EXPECT_THAT(valuesDue({}, problems, settings, kNow), ElementsAre(Value{"A", 0}));
  EXPECT_THAT(valuesDue({}, std::nullopt, settings, kNow), IsEmpty());
}

TEST(ValuesTest, ADetectorThatIsSilentTakesNoErrorBack) {
  const Memory memory = remember({}, {{{"A", true}}, 0});
  EXPECT_THAT(valuesDue(memory, std::nullopt, settingsFor({"A"}), kNow), ElementsAre(Value{"A", 1}));
}

cloud::Instance instance(const std::string& id, bool healthy = true,
                         const std::string& lifecycle = "InService") {
  return {.id = id,
          .providerId = "aws:///us-west-2b/" + id,
          .group = "workers",
          .lifecycle = lifecycle,
          .healthy = healthy,
          .launched = kNow};
}

// A group of three; ours is i-own.
Surroundings around(const cloud::Instance& own, const cloud::Instance& second = instance("i-b"),
                    const cloud::Instance& third = instance("i-c")) {
  return {own, cloud::Group{.name = "workers",
                            .min = 3,
                            .max = 3,
                            .desired = 3,
                            .instances = {own, second, third},
                            .activities = {}}};
}

Judgement judged(const Surroundings& surroundings, bool lookBack = false, int maxUnhealthy = 1) {
  Settings settings = settingsFor({"A"});
  settings.maxUnhealthy = maxUnhealthy;
  return judge(surroundings, settings, lookBack);
}

TEST(JudgeTest, MarksWhenEveryOtherInstanceIsInService) {
  EXPECT_EQ(judged(around(instance("i-own"))).verdict, Verdict::kMark);
}

TEST(JudgeTest, StandsBackWhileAnotherInstanceIsNotHealthyAndInService) {
  for (const auto& other : {instance("i-b", false), instance("i-b", true, "Pending"),
                            instance("i-b", true, "Standby"), instance("i-b", false, "Terminating:Wait")}) {
    const Judgement judgement = judged(around(instance("i-own"), other));
    EXPECT_EQ(judgement.verdict, Verdict::kWait) << other.lifecycle;
    EXPECT_THAT(judgement.why, HasSubstr("i-b is " + std::string(other.healthy ? "Healthy" : "Unhealthy") +
                                         " and " + other.lifecycle));
    EXPECT_THAT(judgement.why, HasSubstr("--max-unhealthy=1"));
    EXPECT_EQ(judged(around(instance("i-own"), other), false, 2).verdict, Verdict::kMark);
  }
}

TEST(JudgeTest, StandsBackWhileTheGroupIsShortOfAnInstance) {
  Surroundings surroundings = around(instance("i-own"));
  surroundings.group->instances.pop_back();
  const Judgement judgement = judged(surroundings);
  EXPECT_EQ(judgement.verdict, Verdict::kWait);
  EXPECT_THAT(judgement.why, HasSubstr("1 not yet launched"));
}

TEST(JudgeTest, NamesThreeInstancesAndCountsTheOthers) {
  Surroundings surroundings = around(instance("i-own"));
  for (const char* id : {"i-1", "i-2", "i-3", "i-4", "i-5"}) {
    surroundings.group->instances.push_back(instance(id, false));
  }
  EXPECT_THAT(judged(surroundings).why,
              testing::AllOf(HasSubstr("i-3"), HasSubstr("2 more"), Not(HasSubstr("i-4"))));
}

TEST(JudgeTest, DoesNotMarkTwice) {
  EXPECT_EQ(judged(around(instance("i-own", false))).verdict, Verdict::kNothing);
  EXPECT_EQ(judged(around(instance("i-own", true, "Terminating"))).verdict, Verdict::kNothing);
  EXPECT_EQ(judged({std::nullopt, std::nullopt}).verdict, Verdict::kNothing);
}

TEST(JudgeTest, SaysWhatToDoWithAnInstanceInNoGroup) {
  const Judgement judgement = judged({instance("i-own"), std::nullopt});
  EXPECT_EQ(judgement.verdict, Verdict::kWait);
  EXPECT_THAT(judgement.why, HasSubstr("attach it to a group"));
}

TEST(JudgeTest, TheLookBackKeepsAMarkThatTheGroupCanSpare) {
  EXPECT_EQ(judged(around(instance("i-own", false)), true).verdict, Verdict::kNothing);
  EXPECT_EQ(judged(around(instance("i-own")), true).verdict, Verdict::kMark) << "the mark did not stick";
}

TEST(JudgeTest, TheLookBackWithdrawsWhenAnotherMarkedAtTheSameMoment) {
  EXPECT_EQ(judged(around(instance("i-own", false), instance("i-b", false)), true).verdict,
            Verdict::kWithdraw);
  EXPECT_EQ(judged(around(instance("i-own", false), instance("i-b", false)), true, 2).verdict,
            Verdict::kNothing);
  // Too late to take it back.
  EXPECT_EQ(judged(around(instance("i-own", false, "Terminating"), instance("i-b", false)), true).verdict,
            Verdict::kNothing);
}

// However many mark in one moment, and in whatever order their writes and looks back fall, no more than allowed keep it.
TEST(JudgeTest, OfThoseThatMarkTogetherAtMostOneKeepsItsMark) {
  std::vector<int> order = {0, 0, 1, 1, 2, 2};  // each number: first its write, then its look back
  int histories = 0;
  do {
    std::vector<cloud::Instance> all = {instance("i-0"), instance("i-1"), instance("i-2")};
    std::vector<int> turns(3);
    int kept = 0;
    for (const int who : order) {
      auto& own = all[static_cast<std::size_t>(who)];
      if (++turns[static_cast<std::size_t>(who)] == 1) {
        own.healthy = false;
        continue;
      }
      const Surroundings seen{
          own, cloud::Group{
                   .name = "workers", .min = 3, .max = 3, .desired = 3, .instances = all, .activities = {}}};
      const bool withdraws = judged(seen, true).verdict == Verdict::kWithdraw;
      own.healthy = withdraws;
      kept += withdraws ? 0 : 1;
    }
    EXPECT_LE(kept, 1);
    ++histories;
  } while (std::ranges::next_permutation(order).found);
  EXPECT_EQ(histories, 90);
}

TEST(WithdrawalTest, ThoseThatCollidedWaitDifferently) {
  const Settings settings;
  std::set<Duration> waits;
  for (int i = 0; i < 50; ++i) {
    const Duration wait = waitAfterWithdrawal("i-" + std::to_string(i), 1, settings);
    EXPECT_GE(wait, settings.interval);
    EXPECT_LE(wait, settings.interval * 16);
    waits.insert(wait);
  }
  EXPECT_GT(waits.size(), 8u);
}

}  // namespace
}  // namespace mainstay::sidecar
