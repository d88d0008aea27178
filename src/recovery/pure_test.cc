// The small pure parts, each by itself.
#include <gmock/gmock.h>

#include "recovery/budget.h"
#include "recovery/evidence.h"
#include "recovery/life_cycle.h"
#include "recovery/node_marks.h"
#include "recovery/planner.h"
#include "recovery/replacement.h"
#include "recovery/test_world.h"

namespace mainstay::recovery {
namespace {

using api::Phase;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::SizeIs;

constexpr TimePoint kAt = World::kStart;

TEST(LifeCycleTest, HasNoOtherWays) {
  EXPECT_TRUE(allowed(Phase::kHeld, Phase::kIsolated));
  EXPECT_FALSE(allowed(Phase::kHeld, Phase::kReplacing)) << "nothing is replaced that was not drained";
  EXPECT_FALSE(allowed(Phase::kResolved, Phase::kHeld)) << "what is closed stays closed";
  EXPECT_FALSE(allowed(Phase::kStale, Phase::kResolved));
  EXPECT_FALSE(allowed(Phase::kIsolated, Phase::kHeld));
}

TEST(LifeCycleTest, LeadsFromEveryPhaseToAnEnd) {
  for (Phase phase = Phase::kNew; phase <= Phase::kEscalated;
       phase = static_cast<Phase>(static_cast<int>(phase) + 1)) {
    EXPECT_TRUE(allowed(phase, Phase::kResolved)) << phaseName(phase) << ": a person can always release";
  }
}

TEST(LifeCycleTest, RefusesToEnterWithoutAWay) {
  api::NodeRecoveryStatus status;
  EXPECT_FALSE(enter(status, Phase::kReplacing, "x", kAt));
  EXPECT_EQ(status.phase, Phase::kNew);
  EXPECT_TRUE(status.transitions.empty());
}

TEST(LifeCycleTest, AddsUpTheTimePerPhaseAtTheEnd) {
  api::NodeRecoveryStatus status;
  enter(status, Phase::kHeld, "seen", kAt);
  enter(status, Phase::kIsolated, "isolated", kAt + seconds(2));
  enter(status, Phase::kResolved, "released", kAt + seconds(5));
  EXPECT_EQ(status.phaseSeconds, (std::map<std::string, double>{{"Held", 2}, {"Isolated", 3}}));
  EXPECT_EQ(status.closed, kAt + seconds(5));
}

TEST(LifeCycleTest, KnowsWhetherOneStatusFollowsAnother) {
  api::NodeRecoveryStatus before;
  enter(before, Phase::kHeld, "seen", kAt);
  api::NodeRecoveryStatus after = before;
  enter(after, Phase::kIsolated, "isolated", kAt);
  enter(after, Phase::kDraining, "draining", kAt + seconds(1));
  EXPECT_TRUE(follows(before, after));
  EXPECT_TRUE(follows({}, after));
  EXPECT_TRUE(follows(before, before));
  EXPECT_FALSE(follows(after, before));
  after.phase = Phase::kReplacing;
  EXPECT_FALSE(follows(before, after)) << "no transition says so";
}

fault::Finding finding(const std::string& reason, TimePoint last) {
  fault::Finding made;
  made.id = made.reason = reason;
  made.type = "T";
  made.first = made.last = last;
  return made;
}

TEST(EvidenceTest, KeepsTheFirstFaultsWithinItsBounds) {
  std::vector<fault::Finding> evidence;
  for (int i = 0; i < 30; ++i) {
    addEvidence(evidence, {finding("f" + std::to_string(i), kAt + seconds(i))});
  }
  EXPECT_THAT(evidence, SizeIs(fault::kMaxFindings));
  EXPECT_EQ(evidence.front().reason, "f0");
  EXPECT_FALSE(addEvidence(evidence, {finding("f30", kAt + seconds(30))})) << "and comes to rest there";
}

TEST(EvidenceTest, CoversAFaultUntilItIsSeenAgain) {
  const std::vector<fault::Finding> evidence = {finding("f", kAt)};
  EXPECT_TRUE(covers(evidence, finding("f", kAt)));
  EXPECT_FALSE(covers(evidence, finding("f", kAt + seconds(1))));
  EXPECT_FALSE(covers(evidence, finding("g", kAt)));
}

TEST(EvidenceTest, WaitsForConfirmation) {
  api::Node node;
  node.conditions = {{"T", "True", "R", "", kAt, kAt}};
  api::RecoveryPolicy policy;
  policy.faults = {{.type = "T", .confirm = seconds(5)}};
  EXPECT_TRUE(standingFaults(node, policy, kAt + seconds(4)).faults.empty());
  EXPECT_EQ(standingFaults(node, policy, kAt + seconds(4)).wake, kAt + seconds(5));
  EXPECT_THAT(standingFaults(node, policy, kAt + seconds(5)).faults, SizeIs(1));
}

// One fault that the agent tells in its own condition, in EKS' and in HyperPod's.
api::Node nodeInThreeVocabularies() {
  fault::Finding told = finding("Xid79", kAt);
  told.type = "GPUFault";
  told.also = {{"AcceleratedHardwareReady", "NvidiaXID79Error"}, {"NvidiaGPUUnhealthy", "Pending"}};
  api::Node node;
  node.meta.annotations[api::kFindingsAnnotation] = fault::encodeFindings({told});
  node.conditions = {{"GPUFault", "True", "Xid79", "", kAt, {}},
                     {"AcceleratedHardwareReady", "False", "NvidiaXID79Error", "", kAt, {}},
                     {"NvidiaGPUUnhealthy", "True", "Pending", "", kAt, {}},
                     {"KernelReady", "True", "KernelIsReady", "", kAt, {}}};
  return node;
}

TEST(EvidenceTest, CountsAFaultOnceThoughSeveralConditionsTellIt) {
  api::RecoveryPolicy policy;
  for (const char* type : {"GPUFault", "AcceleratedHardwareReady", "NvidiaGPUUnhealthy", "KernelReady"}) {
    policy.faults.push_back({.type = type, .reason = "*"});
  }
  const Standing standing = standingFaults(nodeInThreeVocabularies(), policy, kAt);
  ASSERT_THAT(standing.faults, SizeIs(1));
  EXPECT_EQ(standing.faults[0].type, "GPUFault");
  EXPECT_THAT(standing.faults[0].also, SizeIs(0)) << "evidence has no room for it";
}

TEST(EvidenceTest, APolicyMayNameAFaultInAnyVocabularyOfTheAgent) {
  for (const char* type : {"GPUFault", "AcceleratedHardwareReady", "NvidiaGPUUnhealthy"}) {
    api::RecoveryPolicy policy;
    policy.faults = {{.type = type, .reason = "*"}};
    EXPECT_THAT(standingFaults(nodeInThreeVocabularies(), policy, kAt).faults, SizeIs(1)) << type;
  }
}

TEST(EvidenceTest, ConditionsOfTheEksAgentAreFaultsWhenFalse) {
  api::RecoveryPolicy policy;
  policy.faults = {{.type = "AcceleratedHardwareReady", .reason = "*"}};
  api::Node node;
  const auto faultsWhen = [&](const char* status) {
    node.conditions = {{"AcceleratedHardwareReady", status, "R", "", kAt, {}}};
    return standingFaults(node, policy, kAt).faults.size();
  };
  EXPECT_EQ(faultsWhen("True"), 0u);
  EXPECT_EQ(faultsWhen("Unknown"), 0u);
  EXPECT_EQ(faultsWhen("False"), 1u);
}

TEST(NodeMarksTest, WritesLabelValuesThatTheApiServerTakes) {
  const Json node = JsonObject{{"metadata", JsonObject{}}};
  fault::Finding odd = finding("_odd reason, with signs! " + std::string(100, 'x') + "...", kAt);
  const kube::NodeChange change = isolation(node, "r", {odd});
  const std::string value = change.labels.at(api::kFaultReasonsLabel).value();
  EXPECT_LE(value.size(), 63u);
  EXPECT_TRUE(value.starts_with("odd_reason__with_signs__xxx")) << value;
}

TEST(NodeMarksTest, RemovesAHealthLabelOnlyIfWeWroteIt) {
  Json node = JsonObject{
      {"metadata", JsonObject{{"labels", JsonObject{{api::kHealthStatusLabel, api::kSchedulable}}}}}};
  EXPECT_FALSE(bearsOurMarks(node));
  EXPECT_TRUE(restoration(node, std::nullopt).labels.empty());
  node.as_object()["metadata"].as_object()["managedFields"] = JsonArray{JsonObject{
      {"manager", api::kRecoveryManager},
      {"fieldsV1",
       JsonObject{{"f:metadata",
                   JsonObject{{"f:labels",
                               JsonObject{{std::string("f:") + api::kHealthStatusLabel, JsonObject{}}}}}}}}}};
  EXPECT_TRUE(bearsOurMarks(node));
  EXPECT_EQ(restoration(node, std::nullopt).labels.count(api::kHealthStatusLabel), 1u);
}

TEST(ReplacementTest, ComparesDevicesAlone) {
  const api::Resources old = {
      {"cpu", 96000}, {"aws.amazon.com/neuron", 16000}, {"attachable.kubernetes.io/x", 1000}};
  EXPECT_EQ(missingDevices(old, {{"cpu", 1000}, {"aws.amazon.com/neuron", 16000}}), "");
  EXPECT_EQ(missingDevices(old, {{"aws.amazon.com/neuron", 15000}}), "aws.amazon.com/neuron: 15 of 16");
  EXPECT_EQ(missingDevices(old, {}), "aws.amazon.com/neuron: 0 of 16");
}

TEST(ReplacementTest, QuotesTheNewestFailureSinceThen) {
  cloud::Group group;
  group.activities = {{"Failed", "no capacity", kAt}, {"Successful", "", kAt - seconds(5)}};
  EXPECT_EQ(replacementTrouble(group, kAt - seconds(1)), "no capacity");
  EXPECT_EQ(replacementTrouble(group, kAt + seconds(1)), "") << "an old story";
  group.activities.insert(group.activities.begin(), {"InProgress", "", kAt + seconds(2)});
  EXPECT_EQ(replacementTrouble(group, kAt), "");
  group.obstacle = "process Launch is suspended";
  EXPECT_EQ(replacementTrouble(group, kAt), "process Launch is suspended");
}

TEST(BudgetTest, CountsAPlaceThatItsIncidentDoesNotKnowOfYet) {
  // The leader died between taking the place and recording it.
  Fleet fleet;
  auto policy = std::make_shared<api::RecoveryPolicy>();
  policy->meta.name = "p";
  policy->meta.created = kAt;
  policy->active = {{api::Slot::kInRecovery, "x", "node-x", kAt}};
  policy->inRecovery = {5, false, 0};
  fleet.policies["p"] = policy;
  const FleetIndex index(fleet);
  Budget budget(fleet, index, kAt + seconds(60));
  api::NodeRecovery other;
  other.meta.name = "y";
  EXPECT_THAT(budget.take(*policy, other, api::Slot::kInRecovery), HasSubstr("recoveries an hour"));
  other.meta.name = "x";
  EXPECT_EQ(budget.take(*policy, other, api::Slot::kInRecovery), "") << "it holds the place already";
}

TEST(PlannerTest, TheSameFleetGivesTheSamePlan) {
  Fleet fleet;
  for (const char* name : {"a", "b"}) {
    api::Node node;
    node.meta.name = name;
    node.meta.uid = std::string("uid-") + name;
    node.providerId = std::string("local:///z/i-") + name;
    node.conditions = {{"NeuronHealth", "True", World::kDma, "", kAt, kAt}};
    fleet.nodes[name] = std::make_shared<const api::Node>(node);
  }
  fleet.policies["p"] = std::make_shared<const api::RecoveryPolicy>();
  const auto texts = [&] {
    std::vector<std::string> all;
    for (const Step& step : plan(fleet, kAt).steps) {
      all.push_back(describe(step) + " because " + step.reason);
    }
    return all;
  };
  EXPECT_EQ(texts(), texts());
  EXPECT_THAT(texts(), testing::ElementsAre(HasSubstr("OpenIncident a-uid-a-1 for a"),
                                            HasSubstr("OpenIncident b-uid-b-1 for b")));
}

}  // namespace
}  // namespace mainstay::recovery
