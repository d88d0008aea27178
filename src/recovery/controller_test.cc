// The rules of recovery, shown on a small cluster in memory: planner, executor and controller together.
#include "recovery/controller.h"

#include <gmock/gmock.h>

#include "recovery/test_world.h"

namespace mainstay::recovery {
namespace {

using api::Phase;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Three nodes, labelled Schedulable by an enforcing policy.
class RecoveryTest : public testing::Test {
 protected:
  void begin(const std::string& more = "") {
    for (const char* name : {"a", "b", "c"}) {
      world.addNode(name);
    }
    world.enforce(more);
    world.run();
  }
  World world;
};

TEST_F(RecoveryTest, ReplacesANodeWithAFault) {
  begin();
  world.addPod("b", "web");
  world.raiseFault("b");
  world.run(seconds(5));

  const api::NodeRecovery incident = world.incidentOf("b");
  EXPECT_EQ(incident.status.phase, Phase::kResolved);
  EXPECT_EQ(incident.status.outcome, "Replaced");
  EXPECT_EQ(incident.status.replacement.name, "new-1");
  EXPECT_FALSE(world.hasNode("b"));
  EXPECT_FALSE(world.api.find(World::podPath("web")));
  EXPECT_EQ(world.healthOf("new-1"), api::kSchedulable);
  EXPECT_THAT(world.cloud.marks, ElementsAre("local:///zone/i-b"));
  EXPECT_THAT(world.slots(), IsEmpty());
  std::vector<Phase> way;
  for (const api::Transition& transition : incident.status.transitions) {
    way.push_back(transition.phase);
  }
  EXPECT_THAT(way, ElementsAre(Phase::kHeld, Phase::kIsolated, Phase::kDraining, Phase::kReplacing,
                               Phase::kValidating, Phase::kResolved));
  EXPECT_NEAR(incident.status.phaseSeconds.at("Replacing"), 1.0, 0.3);
}

TEST_F(RecoveryTest, MarksTheNodeAsHyperPodDoes) {
  world.launches = false;
  begin();
  world.podsEnd = false;
  world.addPod("b", "web");
  world.raiseFault("b");
  world.run();

  const api::Node node = world.nodeOf("b");
  EXPECT_EQ(world.phaseOf("b"), Phase::kDraining);
  EXPECT_EQ(world.healthOf("b"), api::kPendingReplacement);
  EXPECT_TRUE(world.tainted("b"));
  EXPECT_TRUE(node.unschedulable);
  EXPECT_EQ(node.meta.label(api::kFaultTypesLabel), "NeuronHealth");
  EXPECT_EQ(node.meta.label(api::kFaultReasonsLabel), World::kDma);
  EXPECT_EQ(node.meta.annotation(api::kRecoveryAnnotation), world.incidentOf("b").meta.name);
  EXPECT_THAT(node.meta.annotation(api::kFaultDetailsAnnotation), HasSubstr("\"type\":\"NeuronHealth\""));
  EXPECT_THAT(world.told("NodeIsolated"), ElementsAre(HasSubstr("DMA_ERROR on device 3")));
}

TEST_F(RecoveryTest, AsksTheProviderNothingBeforeTheNodeIsIsolated) {
  begin();
  world.raiseFault("b");
  int questions = -1;
  world.api.refuse = [&](const kube::ApiRequest& request) -> std::optional<Error> {
    if (request.method == "PATCH" && request.path == World::nodePath("b")) {
      questions = world.cloud.questions;
    }
    return std::nullopt;
  };
  world.run();
  EXPECT_EQ(questions, 0);
  EXPECT_GT(world.cloud.questions, 0) << "before its pods are asked to leave";
}

TEST_F(RecoveryTest, ANodeWhoseInstanceIsUnknownIsIsolatedAndNoMore) {
  begin();
  world.addPod("b", "web");
  world.cloud.instances.erase("local:///zone/i-b");
  world.raiseFault("b");
  world.run(hours(1));
  EXPECT_EQ(world.phaseOf("b"), Phase::kIsolated);
  EXPECT_THAT(world.incidentOf("b").status.message, HasSubstr("a kubelet answers under the node's name"));
  EXPECT_TRUE(world.api.find(World::podPath("web")));
  EXPECT_TRUE(world.hasNode("b"));
  EXPECT_THAT(world.told("InstanceUnknown"), SizeIs(testing::Ge(1u)));
}

// Many nodes at once: their places in one write of the policy, the rest by several threads.
TEST_F(RecoveryTest, IsolatesManyNodesSideBySide) {
  world.concurrency.writers = 4;
  world.restart();
  constexpr int kNodes = 12;
  for (int i = 0; i < kNodes; ++i) {
    world.addNode("n" + std::to_string(i));
  }
  world.enforce("limits: {isolated: {max: 100%}, inRecovery: {max: 100%}, perHour: 100}\n");
  world.run();
  world.api.writes.clear();
  for (int i = 0; i < kNodes; ++i) {
    world.raiseFault("n" + std::to_string(i));
  }
  world.launches = false;
  world.run();
  EXPECT_THAT(world.slots(), SizeIs(2 * kNodes));
  const auto slotWrites = std::ranges::count_if(world.api.writes, [](const kube::ApiRequest& write) {
    return write.path.find("/recoverypolicies/") != std::string::npos;
  });
  EXPECT_EQ(slotWrites, 1);
  for (int i = 0; i < kNodes; ++i) {
    EXPECT_TRUE(world.tainted("n" + std::to_string(i))) << i;
  }
}

TEST_F(RecoveryTest, GivesANewReadyNodeItsFirstLabel) {
  world.addNode("a");
  world.addNode("booting");
  world.setCondition("booting", "Ready", "False", "KubeletNotReady");
  world.addNode("tested");
  world.label("tested", api::kUnschedulable);
  world.enforce();
  world.run();

  EXPECT_EQ(world.healthOf("a"), api::kSchedulable);
  EXPECT_EQ(world.healthOf("booting"), "");
  EXPECT_EQ(world.healthOf("tested"), api::kUnschedulable);
}

TEST_F(RecoveryTest, ChangesNothingButItsOwnObjectsWhileItObserves) {
  world.addNode("a");
  world.setPolicy("mode: Observe\nprovider: local\n");
  world.raiseFault("a");
  world.run(hours(1));

  const api::NodeRecovery incident = world.incidentOf("a");
  EXPECT_EQ(incident.status.phase, Phase::kHeld);
  EXPECT_THAT(incident.status.message, HasSubstr("would take the node out of service"));
  EXPECT_THAT(world.cloud.marks, IsEmpty());
  for (const kube::ApiRequest& write : world.api.writes) {
    EXPECT_TRUE(write.path.find("/noderecoveries") != std::string::npos ||
                write.path.find("/events") != std::string::npos)
        << write.method << " " << write.path;
  }
}

TEST_F(RecoveryTest, StartsNoNewStepWhenSwitchedToObserve) {
  begin();
  world.podsEnd = false;
  world.addPod("b", "web");
  world.raiseFault("b");
  world.run();
  ASSERT_EQ(world.phaseOf("b"), Phase::kDraining);
  world.setPolicy("mode: Observe\nprovider: local\n");
  world.podsEnd = true;
  world.run(hours(1));

  EXPECT_EQ(world.phaseOf("b"), Phase::kDraining);
  EXPECT_THAT(world.incidentOf("b").status.message, HasSubstr("mainstay node release b"));
  EXPECT_THAT(world.cloud.marks, IsEmpty());
}

TEST_F(RecoveryTest, OnlyObservesNodesThatHyperPodManages) {
  world.cloud.instances["aws:///use1-az1/sagemaker/cluster/hyperpod-x-i-1"] = {};
  world.putNode("h", "aws:///use1-az1/sagemaker/cluster/hyperpod-x-i-1", "16");
  world.enforce();
  world.raiseFault("h");
  world.run(hours(1));

  EXPECT_EQ(world.phaseOf("h"), Phase::kHeld);
  EXPECT_THAT(world.incidentOf("h").status.message, HasSubstr("HyperPod"));
  EXPECT_EQ(world.healthOf("h"), "");
  EXPECT_FALSE(world.tainted("h"));
}

// --- Limits ---

TEST_F(RecoveryTest, HoldsTheSecondNodeAtTheIsolationLimit) {
  begin("limits: {perHour: 10}\n");
  world.podsEnd = false;
  world.addPod("b", "web");
  world.raiseFault("b");
  world.run();
  world.raiseFault("c");
  world.run(seconds(5));

  EXPECT_EQ(world.phaseOf("b"), Phase::kDraining);
  EXPECT_EQ(world.phaseOf("c"), Phase::kHeld);
  EXPECT_THAT(world.incidentOf("c").status.message,
              HasSubstr("allows 1 of its 3 nodes to be isolated (now b)"));
  EXPECT_FALSE(world.tainted("c"));
  EXPECT_THAT(world.slots(), SizeIs(2));

  world.podsEnd = true;
  world.run(minutes(1));
  EXPECT_EQ(world.phaseOf("b"), Phase::kResolved);
  EXPECT_EQ(world.phaseOf("c"), Phase::kResolved);
}

TEST_F(RecoveryTest, IsolatesButHoldsWhatMayNotYetBeRecovered) {
  begin("limits: {isolated: {max: 2}, inRecovery: {max: 1}, perHour: 10}\n");
  world.podsEnd = false;
  world.addPod("b", "web");
  world.raiseFault("b");
  world.run();
  world.raiseFault("c");
  world.run();

  EXPECT_EQ(world.phaseOf("c"), Phase::kHeld);
  EXPECT_TRUE(world.tainted("c"));
  EXPECT_THAT(world.incidentOf("c").status.message, HasSubstr("to be in recovery (now b)"));
}

TEST_F(RecoveryTest, BeginsOneRecoveryAnHourWhileThePolicyIsYoung) {
  begin();
  world.raiseFault("b");
  world.run(minutes(1));
  ASSERT_EQ(world.phaseOf("b"), Phase::kResolved);
  world.raiseFault("c");
  world.run(minutes(58));

  EXPECT_EQ(world.phaseOf("c"), Phase::kHeld);
  EXPECT_THAT(world.incidentOf("c").status.message, HasSubstr("begins 1 recoveries an hour"));
  world.run(minutes(2));
  EXPECT_EQ(world.phaseOf("c"), Phase::kResolved);
}

TEST_F(RecoveryTest, FreesThePlacesOfADeletedIncident) {
  begin();
  world.podsEnd = false;
  world.addPod("b", "web");
  world.raiseFault("b");
  world.run();
  ASSERT_THAT(world.slots(), SizeIs(2));
  world.clearFault("b");
  world.api.erase(api::kNodeRecoveries.path("", world.incidentOf("b").meta.name));
  world.run();

  EXPECT_THAT(world.slots(), IsEmpty());
  EXPECT_FALSE(world.tainted("b")) << "marks without an incident come off";
  EXPECT_FALSE(world.nodeOf("b").unschedulable);
}

// --- Evidence ---

TEST_F(RecoveryTest, PutsASecondFaultIntoTheOpenIncident) {
  begin();
  world.podsEnd = false;
  world.addPod("b", "web");
  world.raiseFault("b");
  world.run();
  world.run(seconds(1));
  world.raiseFault("b", "NeuronHasError_SRAM_UNCORRECTABLE_ERROR");
  world.run(seconds(1));

  EXPECT_THAT(world.incidents(), SizeIs(1));
  EXPECT_THAT(world.incidentOf("b").status.evidence, SizeIs(2));
  EXPECT_THAT(world.nodeOf("b").meta.annotation(api::kFaultDetailsAnnotation),
              HasSubstr("SRAM_UNCORRECTABLE"));
}

TEST_F(RecoveryTest, ClosesAHeldIncidentWhoseFaultCleared) {
  begin("limits: {perHour: 0}\n");
  world.raiseFault("b");
  world.run(seconds(1));
  ASSERT_EQ(world.phaseOf("b"), Phase::kHeld);
  world.clearFault("b");
  world.run(seconds(1));

  const api::NodeRecovery incident = world.incidentOf("b");
  EXPECT_EQ(incident.status.phase, Phase::kResolved);
  EXPECT_EQ(incident.status.outcome, "Cleared");
  EXPECT_EQ(world.healthOf("b"), api::kSchedulable);
  EXPECT_FALSE(world.tainted("b"));
  EXPECT_THAT(world.slots(), IsEmpty());
}

TEST_F(RecoveryTest, DoesNotCloseAnIsolatedIncidentWhoseConditionTurnsFalse) {
  begin();
  world.podsEnd = false;
  world.addPod("b", "web");
  world.raiseFault("b");
  world.run();
  world.clearFault("b");
  world.run(seconds(1));
  EXPECT_EQ(world.phaseOf("b"), Phase::kDraining);
  world.podsEnd = true;
  world.run(seconds(10));
  EXPECT_EQ(world.incidentOf("b").status.outcome, "Replaced");
}

TEST_F(RecoveryTest, ActsOnAConditionThatAnotherDetectorSet) {
  begin("faults: [{match: {type: KernelDeadlock, reason: Docker*}, ladder: [{action: replace}]}]\n");
  world.setCondition("b", "KernelDeadlock", "True", "DockerHung", "task docker:1 blocked");
  world.setCondition("c", "KernelDeadlock", "True", "OtherHung");
  world.run(seconds(5));

  EXPECT_EQ(world.incidentOf("b").status.outcome, "Replaced");
  EXPECT_EQ(world.incidentOf("b").status.evidence.front().line, "task docker:1 blocked");
  EXPECT_EQ(world.incidentOf("c").meta.name, "");
}

TEST_F(RecoveryTest, PassesOverAFindingOfAnotherMachine) {
  begin();
  world.raiseFault("b");
  const std::string findings = world.nodeOf("b").meta.annotation(api::kFindingsAnnotation);
  world.annotate("a", api::kFindingsAnnotation, findings);
  world.setCondition("a", "NeuronHealth", "False", "NeuronHasNoError");
  world.run(seconds(5));

  EXPECT_EQ(world.incidentOf("a").meta.name, "");
}

TEST_F(RecoveryTest, TellsOfFindingsThatCannotBeRead) {
  begin();
  world.annotate("b", api::kFindingsAnnotation, "[{\"id\": 7}]");
  world.setCondition("b", "NeuronHealth", "True", World::kDma);
  world.run(seconds(5));

  EXPECT_THAT(world.told("FindingsUnreadable"), SizeIs(1));
  EXPECT_EQ(world.incidentOf("b").status.outcome, "Replaced") << "its condition counts all the same";
}

TEST_F(RecoveryTest, ReplacesALostNodeAfterItsConfirmation) {
  begin();
  world.podsEnd = false;
  world.addPod("b", "web");
  world.setCondition("b", "Ready", "Unknown", "NodeStatusUnknown");
  world.run(seconds(119));
  EXPECT_EQ(world.incidentOf("b").meta.name, "");
  world.run(seconds(10));

  const api::NodeRecovery incident = world.incidentOf("b");
  EXPECT_EQ(incident.status.outcome, "Replaced");
  EXPECT_EQ(incident.status.evidence.front().type, api::kNodeLost);
  EXPECT_FALSE(world.api.find(World::podPath("web"))) << "force-deleted once the instance was gone";
}

TEST_F(RecoveryTest, DoesNotTakeAStartingNodeForLost) {
  begin();
  world.addNode("slow");
  world.setCondition("slow", "Ready", "False", "KubeletNotReady");
  world.run(hours(1));
  EXPECT_EQ(world.incidentOf("slow").meta.name, "");
}

TEST_F(RecoveryTest, ObeysAPersonWhoLabelsANode) {
  begin();
  world.label("b", api::kPendingReplacement);
  world.run(seconds(5));

  EXPECT_EQ(world.incidentOf("b").status.outcome, "Replaced");
  EXPECT_EQ(world.incidentOf("b").status.evidence.front().type, "PersonRequest");
}

TEST_F(RecoveryTest, SaysThatItCannotRebootYet) {
  begin();
  world.label("b", api::kPendingReboot);
  world.run(seconds(5));
  EXPECT_THAT(world.told("RebootNotImplemented"), SizeIs(1));
  EXPECT_THAT(world.incidents(), IsEmpty());
}

// --- Identity ---

TEST_F(RecoveryTest, IsStaleWhenTheNodeWasBootedSince) {
  begin("limits: {perHour: 0}\n");
  world.raiseFault("b");
  world.run(seconds(1));
  const std::string first = world.incidentOf("b").meta.name;
  world.clearFault("b");
  world.api.edit(World::nodePath("b"),
                 JsonObject{{"status", JsonObject{{"nodeInfo", JsonObject{{"bootID", "other"}}}}}});
  world.run(seconds(1));

  EXPECT_EQ(world.incidentOf("b").status.phase, Phase::kStale);
  EXPECT_EQ(world.healthOf("b"), api::kSchedulable);
  EXPECT_FALSE(world.tainted("b"));
  world.raiseFault("b");
  world.run(seconds(1));
  EXPECT_NE(world.incidentOf("b").meta.name, first);
  EXPECT_TRUE(world.incidentOf("b").meta.name.ends_with("-2"));
}

TEST_F(RecoveryTest, IsStaleWhenTheNodeIsAnotherOne) {
  begin("limits: {perHour: 0}\n");
  world.raiseFault("b");
  world.run(seconds(1));
  world.api.erase(World::nodePath("b"));
  world.addNode("b");
  world.run(seconds(1));

  EXPECT_EQ(world.incidentOf("b").status.phase, Phase::kStale);
  EXPECT_EQ(world.healthOf("b"), api::kSchedulable) << "the new node of that name is sound";
}

TEST_F(RecoveryTest, LeavesAMachineAloneThatAnswersUnderTheOldName) {
  world.launches = false;
  begin();
  world.raiseFault("b");
  world.after(milliseconds(200), [&] {
    world.api.edit(World::nodePath("b"),
                   JsonObject{{"status", JsonObject{{"nodeInfo", JsonObject{{"bootID", "other"}}}}}});
  });
  world.run(minutes(10));

  EXPECT_TRUE(world.hasNode("b"));
  EXPECT_EQ(world.phaseOf("b"), Phase::kReplacing);
  EXPECT_THAT(world.told("NodeOutlivesInstance"), testing::Not(IsEmpty()));
}

TEST_F(RecoveryTest, DoesNotActOnAReadyNodeWhoseInstanceWasReplaced) {
  begin("limits: {perHour: 10}\n");
  world.raiseFault("b");
  world.run(seconds(5));
  ASSERT_EQ(world.phaseOf("b"), Phase::kResolved);
  world.putNode("b", "local:///zone/i-b", "16");
  world.raiseFault("b");
  world.run(minutes(10));

  EXPECT_EQ(world.healthOf("b"), "");
  EXPECT_THAT(world.incidents(), SizeIs(1));
  EXPECT_THAT(world.told("NodeOutlivesInstance"), testing::Not(IsEmpty()));
}

// --- What is not ours ---

TEST_F(RecoveryTest, LeavesAForeignTaintAndAPersonsCordonAlone) {
  begin("limits: {perHour: 0}\n");
  world.api.edit(
      World::nodePath("b"),
      JsonObject{
          {"spec", JsonObject{{"unschedulable", true},
                              {"taints", JsonArray{JsonObject{{"key", "mine"},
                                                              {"effect", "NoExecute"},
                                                              {"timeAdded", "2026-01-01T00:00:00Z"}}}}}}});
  world.raiseFault("b");
  world.run(seconds(1));
  ASSERT_TRUE(world.tainted("b"));
  EXPECT_EQ(world.nodeOf("b").meta.annotation(api::kCordonedAnnotation), "");
  world.clearFault("b");
  world.run(seconds(1));

  EXPECT_FALSE(world.tainted("b"));
  EXPECT_TRUE(world.nodeOf("b").unschedulable);
  EXPECT_THAT(toText(*find(*world.api.find(World::nodePath("b")), "spec", "taints")), HasSubstr("timeAdded"));
}

TEST_F(RecoveryTest, LetsTheStricterOfTwoPoliciesHold) {
  begin();
  world.setPolicy("mode: Observe\n", "a-lax");
  world.raiseFault("b");
  world.run(seconds(5));

  EXPECT_EQ(world.incidentOf("b").policy, "p");
  EXPECT_EQ(world.incidentOf("b").status.outcome, "Replaced");
  EXPECT_THAT(world.told("PoliciesOverlap"), ElementsAre(testing::AllOf(HasSubstr("p"), HasSubstr("a-lax"))));
}

TEST_F(RecoveryTest, TellsOfAPolicyThatItCannotRead) {
  begin();
  world.setPolicy("mode: Sometimes\n", "bad");
  world.raiseFault("b");
  world.run(seconds(5));

  EXPECT_THAT(world.told("PolicyUnreadable"), ElementsAre(HasSubstr("neither Observe nor Enforce")));
  EXPECT_EQ(world.incidentOf("b").status.outcome, "Replaced");
}

TEST_F(RecoveryTest, HoldsStillWhatItsUnreadablePolicyGoverns) {
  begin();
  world.podsEnd = false;
  world.addPod("b", "web");
  world.raiseFault("b");
  world.run();
  world.setPolicy("mode: Sometimes\n");
  world.podsEnd = true;
  world.run(minutes(20));

  EXPECT_EQ(world.phaseOf("b"), Phase::kDraining);
  EXPECT_THAT(world.incidentOf("b").status.message, HasSubstr("cannot be read"));
}

// --- Drain ---

class DrainTest : public RecoveryTest {
 protected:
  static Json ownedBy(const std::string& kind, const std::string& name) {
    return JsonObject{
        {"labels", JsonObject{{"app", name}}},
        {"ownerReferences",
         JsonArray{JsonObject{{"kind", kind}, {"name", name}, {"uid", "u"}, {"controller", true}}}}};
  }
  void addOptedInJob(const std::string& name) {
    world.api.put(
        api::kPyTorchJobs.path("ns", name),
        JsonObject{{"metadata", JsonObject{{"name", name},
                                           {"namespace", "ns"},
                                           {"annotations", JsonObject{{api::kAutoResumeAnnotation, "true"},
                                                                      {api::kMaxRetryAnnotation, "2"}}}}}});
  }
  int evictions() const {
    return static_cast<int>(std::ranges::count_if(
        world.api.writes, [](const kube::ApiRequest& write) { return write.path.ends_with("/eviction"); }));
  }
};

TEST_F(DrainTest, LeavesDaemonSetAndMirrorPods) {
  begin();
  world.podsEnd = false;
  world.addPod("b", "agent", ownedBy("DaemonSet", "agent"));
  world.addPod("b", "static", JsonObject{{"annotations", JsonObject{{api::kMirrorPodAnnotation, "x"}}}});
  world.raiseFault("b");
  world.run(milliseconds(50));

  EXPECT_EQ(evictions(), 0);
  EXPECT_EQ(world.phaseOf("b"), Phase::kReplacing);
}

TEST_F(DrainTest, WaitsForTheJobsSideUntilTheDeadline) {
  begin("drain: {deadline: 3m}\n");
  addOptedInJob("llama");
  world.addPod("b", "llama-worker-0", ownedBy("PyTorchJob", "llama"));
  world.raiseFault("b");
  world.run(minutes(2));

  EXPECT_EQ(world.phaseOf("b"), Phase::kDraining);
  EXPECT_EQ(evictions(), 0);
  EXPECT_THAT(world.incidentOf("b").status.message, HasSubstr("1 of them stop with their job"));
  world.api.erase(World::podPath("llama-worker-0"));
  world.run(seconds(5));
  EXPECT_EQ(world.incidentOf("b").status.outcome, "Replaced");
}

TEST_F(DrainTest, DeletesAJobsPodsAtTheDeadline) {
  begin("drain: {deadline: 3m}\n");
  addOptedInJob("llama");
  world.addPod("b", "llama-worker-0", ownedBy("PyTorchJob", "llama"));
  world.raiseFault("b");
  world.run(minutes(4));

  EXPECT_EQ(world.incidentOf("b").status.outcome, "Replaced");
  EXPECT_THAT(world.told("DrainBlocked"), SizeIs(1));
}

TEST_F(DrainTest, EvictsThePodsOfAJobThatDidNotOptIn) {
  begin();
  world.addPod("b", "other-worker-0", ownedBy("PyTorchJob", "other"));
  world.raiseFault("b");
  world.run(seconds(5));
  EXPECT_EQ(evictions(), 1);
  EXPECT_EQ(world.incidentOf("b").status.outcome, "Replaced");
}

TEST_F(DrainTest, RespectsABudgetUntilTheDeadlineAndNamesItThen) {
  begin("drain: {deadline: 1m}\n");
  world.addPod("b", "web-1", ownedBy("ReplicaSet", "web"));
  world.api.put(
      api::kPodDisruptionBudgets.path("ns", "web-budget"),
      JsonObject{
          {"metadata", JsonObject{{"name", "web-budget"}, {"namespace", "ns"}}},
          {"spec", JsonObject{{"selector", JsonObject{{"matchLabels", JsonObject{{"app", "web"}}}}}}}});
  int refused = 0;
  world.api.refuse = [&](const kube::ApiRequest& request) -> std::optional<Error> {
    if (!request.path.ends_with("/eviction")) {
      return std::nullopt;
    }
    ++refused;
    return Error(Code::kResourceExhausted,
                 "Cannot evict pod as it would violate the pod's disruption budget.");
  };
  world.raiseFault("b");
  world.run(seconds(59));
  EXPECT_EQ(world.phaseOf("b"), Phase::kDraining);
  EXPECT_EQ(refused, 12) << "every five seconds";
  world.run(seconds(10));

  EXPECT_EQ(world.incidentOf("b").status.outcome, "Replaced");
  EXPECT_THAT(world.told("DrainBlocked"), ElementsAre(HasSubstr("disruption budget web-budget")));
}

// --- Provider ---

TEST_F(RecoveryTest, TellsOfRefusedCapacityInTheProvidersWords) {
  world.launches = false;
  begin();
  world.raiseFault("b");
  world.after(seconds(2), [&] {
    world.cloud.activities = {
        {"Failed", "We currently do not have sufficient trn1.32xlarge capacity", world.api.now}};
  });
  world.run(minutes(2));

  const api::NodeRecovery incident = world.incidentOf("b");
  EXPECT_EQ(incident.status.phase, Phase::kReplacing);
  EXPECT_THAT(incident.status.message, HasSubstr("sufficient trn1.32xlarge capacity"));
  EXPECT_THAT(world.told("CapacityRefused"), SizeIs(1));
}

TEST_F(RecoveryTest, TellsWhatHoldsTheGroup) {
  world.launches = false;
  begin();
  world.raiseFault("b");
  world.after(seconds(2), [&] { world.cloud.obstacle = "process Launch of group workers is suspended"; });
  world.run(minutes(2));

  const api::NodeRecovery incident = world.incidentOf("b");
  EXPECT_EQ(incident.status.phase, Phase::kReplacing);
  EXPECT_THAT(incident.status.message, HasSubstr("process Launch of group workers is suspended"));
  EXPECT_THAT(incident.status.provider.message, HasSubstr("process Launch of group workers is suspended"));
  EXPECT_THAT(world.told("ReplacementHeld"), SizeIs(1));
}

TEST_F(RecoveryTest, TellsWhatHoldsTheEndOfTheInstance) {
  begin();
  world.cloud.onMark = [&](const std::string& id) {
    world.cloud.instances[id].lifecycle = "Terminating:Wait";
    world.cloud.instances[id].obstacle = "a lifecycle hook holds it";
  };
  world.raiseFault("b");
  world.run(minutes(2));

  const api::NodeRecovery incident = world.incidentOf("b");
  EXPECT_EQ(incident.status.phase, Phase::kReplacing);
  EXPECT_THAT(incident.status.message, HasSubstr("(Terminating:Wait): a lifecycle hook holds it"));
  EXPECT_EQ(incident.status.provider.message, "a lifecycle hook holds it");
}

TEST_F(RecoveryTest, EscalatesAfterHalfAnHourAndGoesOnWatching) {
  world.launches = false;
  begin();
  world.raiseFault("b");
  world.run(minutes(31));
  ASSERT_EQ(world.phaseOf("b"), Phase::kEscalated);
  EXPECT_THAT(world.told("RecoveryEscalated"), SizeIs(1));
  EXPECT_THAT(world.slots(), SizeIs(1)) << "it is isolated, and no longer in recovery";

  world.addNode("late");
  world.run(minutes(1));
  EXPECT_EQ(world.incidentOf("b").status.outcome, "Replaced");
  EXPECT_EQ(world.healthOf("late"), api::kSchedulable);
  EXPECT_THAT(world.slots(), IsEmpty());
}

TEST_F(RecoveryTest, EscalatesAtOnceWhenTheInstanceIsInNoGroup) {
  begin();
  world.cloud.instances["local:///zone/i-b"].group = "";
  world.raiseFault("b");
  world.run(minutes(1));

  EXPECT_EQ(world.phaseOf("b"), Phase::kEscalated);
  EXPECT_THAT(world.incidentOf("b").status.message, HasSubstr("is not in any group"));
  EXPECT_TRUE(world.tainted("b"));
  EXPECT_THAT(world.cloud.marks, IsEmpty());

  world.cloud.instances["local:///zone/i-b"].group = "workers";
  world.run(minutes(1));
  EXPECT_EQ(world.incidentOf("b").status.outcome, "Replaced");
}

TEST_F(RecoveryTest, EscalatesWithTheProvidersRefusal) {
  begin();
  world.cloud.refusal = Error(Code::kFailedPrecondition, "ValidationError: nothing to be done");
  world.raiseFault("b");
  world.run(minutes(1));
  EXPECT_EQ(world.phaseOf("b"), Phase::kEscalated);
  EXPECT_THAT(world.told("RecoveryEscalated"), ElementsAre(HasSubstr("nothing to be done")));

  world.cloud.refusal.reset();
  world.run(minutes(1));
  EXPECT_EQ(world.incidentOf("b").status.outcome, "Replaced");
}

TEST_F(RecoveryTest, IsolatesAndDrainsWhileTheProviderCannotBeAsked) {
  begin();
  world.cloud.trouble = Error(Code::kUnavailable, "connection refused");
  world.raiseFault("b");
  world.run(minutes(1));
  EXPECT_EQ(world.phaseOf("b"), Phase::kReplacing);
  EXPECT_THAT(world.incidentOf("b").status.message, HasSubstr("connection refused"));
  EXPECT_LT(world.cloud.questions, 20) << "it backs off";

  world.cloud.trouble.reset();
  world.run(minutes(1));
  EXPECT_EQ(world.incidentOf("b").status.outcome, "Replaced");
}

TEST_F(RecoveryTest, DoesNotMarkAnInstanceThatIsEndingAlready) {
  begin();
  cloud::Instance& instance = world.cloud.instances["local:///zone/i-b"];
  instance.lifecycle = "Terminating:Wait";
  world.raiseFault("b");
  world.after(seconds(3), [&] {
    world.cloud.instances.erase("local:///zone/i-b");
    world.addNode("d");
  });
  world.run(minutes(1));

  EXPECT_THAT(world.cloud.marks, IsEmpty());
  EXPECT_EQ(world.incidentOf("b").status.outcome, "Replaced");
  EXPECT_EQ(world.incidentOf("b").status.replacement.name, "d");
}

TEST_F(RecoveryTest, WaitsForTheDevicesOfTheReplacement) {
  world.newDevices = "15";
  begin();
  world.raiseFault("b");
  world.run(minutes(1));
  EXPECT_EQ(world.phaseOf("b"), Phase::kValidating);
  EXPECT_THAT(world.incidentOf("b").status.message, HasSubstr("aws.amazon.com/neuron: 15 of 16"));
  EXPECT_EQ(world.healthOf("new-1"), "") << "no work until its devices are there";

  world.api.edit(
      World::nodePath("new-1"),
      JsonObject{{"status", JsonObject{{"allocatable", JsonObject{{"aws.amazon.com/neuron", "16"}}}}}});
  world.run(seconds(1));
  EXPECT_EQ(world.incidentOf("b").status.outcome, "Replaced");
}

TEST_F(RecoveryTest, ReplacesAReplacementThatFaultsAtOnce) {
  begin("limits: {perHour: 10, isolated: {max: 2}, inRecovery: {max: 2}}\n");
  world.newDevices = "15";
  world.raiseFault("b");
  world.run(seconds(5));
  ASSERT_EQ(world.phaseOf("b"), Phase::kValidating);
  world.newDevices = "16";
  world.raiseFault("new-1");
  world.run(minutes(1));

  EXPECT_THAT(world.incidentOf("b").status.message,
              HasSubstr("replaced by new-1, which has an incident of its own"));
  EXPECT_EQ(world.incidentOf("new-1").status.replacement.name, "new-2");
  EXPECT_EQ(world.incidentOf("new-1").allocatable.at("aws.amazon.com/neuron"), 16000) << "as many as b had";
  EXPECT_EQ(world.healthOf("new-2"), api::kSchedulable);
}

TEST_F(RecoveryTest, ClaimsDifferentReplacementsForIncidentsOfOneGroup) {
  begin("limits: {perHour: 10, isolated: {max: 3}, inRecovery: {max: 3}}\n");
  world.raiseFault("b");
  world.raiseFault("c");
  world.run(minutes(1));

  EXPECT_EQ(world.incidentOf("b").status.outcome, "Replaced");
  EXPECT_EQ(world.incidentOf("c").status.outcome, "Replaced");
  EXPECT_NE(world.incidentOf("b").status.replacement.name, world.incidentOf("c").status.replacement.name);
}

// --- Leadership, restarts, retention ---

TEST_F(RecoveryTest, DoesNothingWithoutTheLease) {
  begin();
  world.leading = false;
  world.raiseFault("b");
  const std::size_t writes = world.api.writes.size();
  world.run(minutes(5));
  EXPECT_EQ(world.api.writes.size(), writes);
}

TEST_F(RecoveryTest, GoesOnAfterARestartInEveryPhase) {
  begin();
  world.podsEnd = false;
  world.addPod("b", "web");
  world.raiseFault("b");
  world.run();
  world.restart();
  world.podsEnd = true;
  world.run(milliseconds(500));
  ASSERT_EQ(world.phaseOf("b"), Phase::kReplacing);
  world.restart();
  world.run(seconds(10));

  EXPECT_EQ(world.incidentOf("b").status.outcome, "Replaced");
  EXPECT_THAT(world.cloud.marks, SizeIs(1));
}

TEST_F(RecoveryTest, ReadsAgainWhenSomebodyWroteInBetween) {
  begin();
  int conflicts = 0;
  world.api.refuse = [&](const kube::ApiRequest& request) -> std::optional<Error> {
    if (request.method == "PATCH" && request.path.ends_with("/status") && ++conflicts <= 2) {
      return Error(Code::kConflict, "was changed in between");
    }
    return std::nullopt;
  };
  world.raiseFault("b");
  world.run(seconds(10));
  EXPECT_EQ(world.incidentOf("b").status.outcome, "Replaced");
}

TEST_F(RecoveryTest, KeepsClosedIncidentsForADay) {
  begin();
  world.raiseFault("b");
  world.run(hours(23));
  ASSERT_THAT(world.incidents(), SizeIs(1));
  world.run(hours(2));
  EXPECT_THAT(world.incidents(), IsEmpty());
}

TEST_F(RecoveryTest, KeepsTheLastIncidentOfANodeThatIsStillThere) {
  begin("limits: {perHour: 0}\n");
  world.raiseFault("b");
  world.run(seconds(1));
  world.clearFault("b");
  world.run(hours(48));
  EXPECT_THAT(world.incidents(), SizeIs(1));
}

TEST_F(RecoveryTest, CountsWhatItDoes) {
  begin();
  world.raiseFault("b");
  world.run(seconds(5));
  const std::string text = world.metrics.text();
  EXPECT_THAT(text, HasSubstr("mainstay_recovery_incidents_closed_total{outcome=\"Replaced\"} 1"));
  EXPECT_THAT(text, HasSubstr("step=\"MarkUnhealthy\""));
  EXPECT_THAT(text, HasSubstr("mainstay_recovery_phase_seconds"));
}

}  // namespace
}  // namespace mainstay::recovery
