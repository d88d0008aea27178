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

// Answers when it is let, to what was asked so far.
class ScriptedAsker final : public InstanceAsker {
 public:
  std::vector<InstanceQuestion> open;
  bool answers = true;

  void ask(std::vector<InstanceQuestion> questions) override {
    std::ranges::move(questions, std::back_inserter(open));
  }
  std::vector<InstanceAnswer> take() override {
    std::vector<InstanceAnswer> given;
    if (answers) {
      for (const InstanceQuestion& question : std::exchange(open, {})) {
        given.push_back({question.incident, {.at = question.at, .trouble = "", .instance = {}, .group = {}}});
      }
    }
    return given;
  }
};

Fleet fleetOfReplacedNodes(int nodes) {
  Fleet fleet;
  fleet.providers = {"local"};
  auto policy = std::make_shared<api::RecoveryPolicy>();
  policy->provider = "local";
  fleet.policies["p"] = policy;
  for (int i = 0; i < nodes; ++i) {
    auto incident = std::make_shared<api::NodeRecovery>();
    incident->meta.name = "n" + std::to_string(i) + "-1";
    incident->policy = "p";
    incident->status.phase = api::Phase::kReplacing;
    fleet.incidents[incident->meta.name] = incident;
  }
  return fleet;
}

TEST(InstanceWatchTest, WhatIsDueStillIsAskedAtOnceUnlessAnswersAreUnderWay) {
  auto owned = std::make_unique<ScriptedAsker>();
  ScriptedAsker& asker = *owned;
  InstanceWatch watch(std::move(owned));
  const Fleet fleet = fleetOfReplacedNodes(25);
  const TimePoint start = World::kStart;
  watch.step(fleet, start);
  EXPECT_EQ(watch.facts().size(), 20u);
  EXPECT_EQ(watch.wake(), start) << "five are due still";
  watch.step(fleet, start);
  EXPECT_EQ(watch.facts().size(), 25u);
  EXPECT_GT(watch.wake(), start);

  asker.answers = false;
  const TimePoint later = start + std::chrono::minutes(1);
  watch.step(fleet, later);
  EXPECT_EQ(asker.open.size(), 20u);
  EXPECT_EQ(watch.wake(), kNever) << "a silent provider must not make the loop spin";
  asker.answers = true;
  watch.step(fleet, later);
  EXPECT_LT(watch.wake(), later + std::chrono::minutes(1));
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
