#include "recovery/instance_watch.h"

#include <gtest/gtest.h>

#include <latch>

#include "recovery/test_world.h"

namespace mainstay::recovery {
namespace {

// A cloud that answers when it is let.
class SlowCloud final : public cloud::Provider {
 public:
  std::latch answers{1};
  std::string name() const override { return "slow"; }
  Result<std::optional<cloud::Instance>> describe(const std::string& providerId) override {
    answers.wait();
    cloud::Instance instance;
    instance.id = cloud::instanceIdOf(providerId);
    return instance;
  }
  Result<cloud::Group> describeGroup(const std::string&) override { return cloud::Group{}; }
  Result<> markUnhealthy(const std::string&, const std::string&) override { return {}; }
  Result<> markHealthy(const std::string&) override { return {}; }
};

TEST(AskAsideTest, NobodyWaitsForASlowProvider) {
  SlowCloud cloud;
  const Providers providers{{"slow", &cloud}};
  const SteadyWallClock clock;
  Signal signal;
  const auto asker = askAside(providers, signal);
  asker->ask({{"b-1", "slow", "aws:///z/i-b", "", clock.now()}});
  EXPECT_TRUE(asker->take().empty()) << "the question is under way";
  cloud.answers.count_down();
  std::vector<InstanceAnswer> answers;
  const TimePoint limit = clock.now() + std::chrono::seconds(10);
  while (answers.empty() && clock.now() < limit) {
    signal.waitUntil(clock, limit, {});
    answers = asker->take();
  }
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].incident, "b-1");
  EXPECT_EQ(answers[0].facts.instance->id, "i-b");
}

TEST(AskAtOnceTest, ATroubledProviderIsAskedOnceABatch) {
  FakeCloud cloud;
  cloud.trouble = Error(Code::kUnavailable, "no answer");
  const Providers providers{{"local", &cloud}};
  const auto asker = askAtOnce(providers);
  asker->ask({{"a-1", "local", "local:///z/i-a", "", TimePoint{}},
              {"b-1", "local", "local:///z/i-b", "", TimePoint{}}});
  const auto answers = asker->take();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[1].facts.trouble, answers[0].facts.trouble);
  EXPECT_EQ(cloud.questions, 1);
}

}  // namespace
}  // namespace mainstay::recovery
