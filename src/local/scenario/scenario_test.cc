#include "local/scenario/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/core.h"
#include "api/pytorch_job.h"
#include "api/recovery_policy.h"

namespace mainstay::local {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kPage[] = R"(
scenario: a page
seed: 7
nodes: [{name: a, labels: {x: y}}, {name: b, providerID: "aws:///z/i-1"}]
group: {launchDelay: 5s, max: 4, capacity: 1, names: [c]}
policy: {mode: Enforce, limits: {perHour: 2}}
job: {name: llama, pods: 3, retries: 4, runs: 10m}
objects:
  - {apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {}}
timeline:
  - {at: 20s, kill: {node: b}}
  - {at: 5s, kmsg: {node: a, text: hello}}
expect:
  - {node: a, phase: Isolated, by: 1m}
never:
  - {cloud: SetInstanceHealth, instance: a}
)";

std::string mistakesOf(const std::string& yaml) {
  const auto scenario = parseScenario(yaml, "page.yaml");
  return scenario ? "" : scenario.error().message();
}

TEST(ScenarioTest, ReadsAWholePage) {
  const auto scenario = parseScenario(kPage, "page.yaml");
  ASSERT_TRUE(scenario.has_value()) << scenario.error().toString();
  EXPECT_EQ(scenario->seed, 7u);
  ASSERT_EQ(scenario->nodes.size(), 2u);
  EXPECT_EQ(scenario->nodes[0].labels.at("x"), "y");
  EXPECT_EQ(scenario->nodes[1].providerId, "aws:///z/i-1");
  EXPECT_EQ(scenario->group.launchDelay, std::chrono::seconds(5));
  EXPECT_EQ(scenario->group.max, 4);
  EXPECT_EQ(scenario->group.capacity, 1);
  EXPECT_FALSE(scenario->group.min.has_value());
  EXPECT_THAT(scenario->group.names, ElementsAre("c"));
  EXPECT_EQ(scenario->expectations.at(0).line, 14);
}

TEST(ScenarioTest, PlaysTheTimelineInTimeAndTenMinutesMore) {
  const auto scenario = parseScenario(kPage, "page.yaml");
  ASSERT_TRUE(scenario.has_value());
  ASSERT_EQ(scenario->timeline.size(), 2u);
  EXPECT_EQ(std::get<KernelLine>(scenario->timeline[0].action).text, "hello");
  EXPECT_EQ(std::get<KillNode>(scenario->timeline[1].action).node, "b");
  EXPECT_EQ(scenario->timeline[1].line, 11);
  EXPECT_EQ(scenario->until, std::chrono::seconds(20) + std::chrono::minutes(10));
}

TEST(ScenarioTest, MakesWholeObjectsOfTheShortForms) {
  const auto scenario = parseScenario(kPage, "page.yaml");
  ASSERT_TRUE(scenario.has_value());
  ASSERT_EQ(scenario->objects.size(), 3u);
  const auto policy = api::decodeRecoveryPolicy(scenario->objects[0]);
  ASSERT_TRUE(policy.has_value()) << policy.error().toString();
  EXPECT_EQ(policy->mode, api::Mode::kEnforce);
  EXPECT_EQ(policy->perHour, 2);
  const auto job = api::decodePyTorchJob(scenario->objects[1]);
  ASSERT_TRUE(job.has_value()) << job.error().toString();
  ASSERT_EQ(job->replicas.size(), 2u);
  EXPECT_EQ(job->replicas[0].count, 1);
  EXPECT_EQ(job->replicas[1].count, 2);
  EXPECT_EQ(job->meta.annotation("sagemaker.amazonaws.com/job-max-retry-count"), "4");
  EXPECT_EQ(findString(scenario->objects[2], "metadata", "namespace"), "default");
}

TEST(ScenarioTest, ReportsEveryMistakeWithItsPlace) {
  const std::string mistakes = mistakesOf(
      "scenario: x\n"
      "nodes: [{name: a, lable: {}}]\n"
      "timeline:\n"
      "  - {at: soon, kill: {node: a}}\n"
      "  - {at: 1s, kill: {node: a}, return: {node: a}}\n"
      "expect:\n"
      "  - {node: a, redy: true}\n");
  EXPECT_THAT(mistakes, HasSubstr("page.yaml:2:19: nodes[0].lable: unknown field, did you mean labels?"));
  EXPECT_THAT(mistakes, HasSubstr("page.yaml:4:"));
  EXPECT_THAT(mistakes, HasSubstr("\"soon\" is not a duration"));
  EXPECT_THAT(mistakes, HasSubstr("page.yaml:5:"));
  EXPECT_THAT(mistakes, HasSubstr("exactly one of"));
  EXPECT_THAT(mistakes, HasSubstr("did you mean ready?"));
}

TEST(ScenarioTest, RefusesAPageThatExpectsNothing) {
  EXPECT_THAT(mistakesOf("scenario: x\nnodes: [{name: a}]\n"), HasSubstr("proves nothing"));
}

TEST(ScenarioTest, RefusesAnUnknownKindAndAnEmptyPatch) {
  const std::string mistakes = mistakesOf(
      "scenario: x\n"
      "nodes: [{name: a}]\n"
      "timeline:\n"
      "  - {at: 1s, patch: {kind: Toaster, name: a, merge: {spec: {}}}}\n"
      "  - {at: 1s, patch: {kind: Node, name: a}}\n"
      "expect: [{node: a, ready: true}]\n");
  EXPECT_THAT(mistakes, HasSubstr("\"Toaster\" is no kind that a scenario knows"));
  EXPECT_THAT(mistakes, HasSubstr("expected one patch"));
}

TEST(ScenarioTest, RefusesAnyOtherThanOneDocument) {
  EXPECT_THAT(mistakesOf(""), HasSubstr("expected one document"));
  EXPECT_THAT(mistakesOf("[1, 2]"), HasSubstr("expected an object"));
}

}  // namespace
}  // namespace mainstay::local
