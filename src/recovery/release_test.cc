#include "recovery/release.h"

#include <gmock/gmock.h>

#include "recovery/test_world.h"

namespace mainstay::recovery {
namespace {

using api::Phase;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ReleaseTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a", "b", "c"}) {
      world.addNode(name);
    }
    world.enforce();
    world.run();
  }
  // A node that stays in Draining, because its pod does not end.
  void drainForever(const std::string& node) {
    world.podsEnd = false;
    world.addPod(node, "web");
    world.raiseFault(node);
    world.run(seconds(1));
    ASSERT_EQ(world.phaseOf(node), Phase::kDraining);
  }
  Result<std::string> release(const std::string& node, bool dryRun = false) {
    return releaseNode(world.api, {{"local", &world.cloud}}, node,
                       {.reason = "false alarm", .dryRun = dryRun}, world.api.now);
  }
  bool isFree(const std::string& node) {
    const api::Node now = world.nodeOf(node);
    return !world.tainted(node) && !now.unschedulable && world.healthOf(node) == api::kSchedulable &&
           now.meta.annotation(api::kRecoveryAnnotation).empty() &&
           now.meta.annotation(api::kFaultDetailsAnnotation).empty() &&
           !now.meta.labels.contains(api::kFaultTypesLabel);
  }
  World world;
};

TEST_F(ReleaseTest, GivesANodeBackAndKeepsTheReason) {
  drainForever("b");
  EXPECT_THAT(release("b").value(), HasSubstr("node b is released: incident b-"));

  EXPECT_TRUE(isFree("b"));
  const api::NodeRecovery incident = world.incidentOf("b");
  EXPECT_EQ(incident.status.phase, Phase::kResolved);
  EXPECT_EQ(incident.status.outcome, "Released");
  EXPECT_THAT(incident.status.message, HasSubstr("false alarm"));
  EXPECT_THAT(world.slots(), IsEmpty());
  EXPECT_THAT(world.told("NodeReleased"), SizeIs(1));
}

TEST_F(ReleaseTest, IsNotUndoneByTheControllerUntilTheFaultIsSeenAgain) {
  drainForever("b");
  ASSERT_TRUE(release("b"));
  world.run(hours(48));
  EXPECT_THAT(world.incidents(), SizeIs(1));
  EXPECT_TRUE(isFree("b"));

  world.raiseFault("b");
  world.run(seconds(1));
  EXPECT_THAT(world.incidents(), SizeIs(2));
  EXPECT_TRUE(world.tainted("b"));
}

TEST_F(ReleaseTest, IsFinishedByTheControllerWhenItWasKilledHalfWay) {
  drainForever("b");
  world.api.refuse = [](const kube::ApiRequest& request) -> std::optional<Error> {
    const bool node = request.path == World::nodePath("b") && request.method == "PATCH";
    return node ? std::optional(Error(Code::kUnavailable, "killed")) : std::nullopt;
  };
  EXPECT_FALSE(release("b"));
  world.api.refuse = {};
  world.run(seconds(1));
  EXPECT_TRUE(isFree("b"));
  EXPECT_THAT(world.slots(), IsEmpty());
}

TEST_F(ReleaseTest, CanBeRunAgainWithoutAController) {
  drainForever("b");
  world.leading = false;
  world.api.refuse = [](const kube::ApiRequest& request) -> std::optional<Error> {
    const bool node = request.path == World::nodePath("b") && request.method == "PATCH";
    return node ? std::optional(Error(Code::kUnavailable, "killed")) : std::nullopt;
  };
  EXPECT_FALSE(release("b"));
  world.api.refuse = {};
  ASSERT_TRUE(release("b"));
  EXPECT_TRUE(isFree("b"));
}

TEST_F(ReleaseTest, OnlySaysWhatItWouldDoOnADryRun) {
  drainForever("b");
  const std::size_t writes = world.api.writes.size();
  EXPECT_THAT(release("b", true).value(), HasSubstr("would be released"));
  EXPECT_EQ(world.api.writes.size(), writes);
  EXPECT_TRUE(world.tainted("b"));
}

TEST_F(ReleaseTest, LeavesANodeAloneThatBearsNoMarks) {
  EXPECT_THAT(release("a").value(), HasSubstr("nothing to release"));
  EXPECT_THAT(world.incidents(), IsEmpty());
}

TEST_F(ReleaseTest, TakesTheMarkBackWhileTheInstanceIsThere) {
  world.cloud.onMark = {};  // the group is slow to act on it
  world.raiseFault("b");
  world.run(seconds(1));
  ASSERT_EQ(world.phaseOf("b"), Phase::kReplacing);
  ASSERT_FALSE(world.cloud.instances.at("local:///zone/i-b").healthy);
  EXPECT_THAT(release("b").value(), HasSubstr("marked healthy again"));

  EXPECT_TRUE(world.cloud.instances.at("local:///zone/i-b").healthy);
  EXPECT_TRUE(isFree("b"));
  world.run(minutes(5));
  EXPECT_THAT(world.cloud.marks, SizeIs(1)) << "and it is not marked again";
}

TEST_F(ReleaseTest, RefusesWhenTheInstanceIsEndingAlready) {
  world.cloud.onMark = {};
  world.raiseFault("b");
  world.run(seconds(1));
  world.cloud.instances.at("local:///zone/i-b").lifecycle = "Terminating";
  const auto released = release("b");
  ASSERT_FALSE(released);
  EXPECT_THAT(released.error().toString(), HasSubstr("is ending already"));
  EXPECT_TRUE(world.tainted("b"));
}

TEST_F(ReleaseTest, RefusesWhenTheProviderCannotBeAskedAboutAMark) {
  world.cloud.onMark = {};
  world.raiseFault("b");
  world.run(seconds(1));
  EXPECT_THAT(releaseNode(world.api, {}, "b", {}, world.api.now).error().toString(),
              HasSubstr("cannot be asked"));
}

TEST_F(ReleaseTest, CallsHealthyWhatIsOnlyObserved) {
  world.setPolicy("mode: Observe\n");
  world.raiseFault("b");
  world.run(seconds(1));
  ASSERT_TRUE(release("b"));
  world.run(hours(1));
  EXPECT_THAT(world.incidents(), SizeIs(1));
  EXPECT_FALSE(world.incidentOf("b").open());
}

TEST_F(ReleaseTest, TakesEverythingBackForAnUninstall) {
  drainForever("b");
  world.leading = false;
  world.addNode("foreign");
  world.label("foreign", api::kUnschedulable);
  const Released released =
      releaseAllNodes(world.api, {{"local", &world.cloud}}, {.reason = "uninstall"}, world.api.now).value();

  EXPECT_FALSE(released.failed);
  EXPECT_THAT(released.sentences,
              testing::ElementsAre(HasSubstr("node b is released"), HasSubstr("taken off node b")));
  EXPECT_EQ(world.healthOf("b"), "");
  EXPECT_FALSE(world.tainted("b"));
  EXPECT_EQ(world.healthOf("foreign"), api::kUnschedulable);
}

// A node as an agent leaves it; `theirs` is a condition that another detector has written as well.
Json nodeWithAgentTraces(const std::string& name, const std::string& theirs) {
  const auto fields = [](const std::string& type) {
    return JsonObject{
        {"f:status", JsonObject{{"f:conditions", JsonObject{{"k:{\"type\":\"" + type + "\"}", Json()}}}}}};
  };
  const auto entry = [&](const char* manager, const std::string& type) {
    return JsonObject{{"manager", manager}, {"fieldsV1", fields(type)}};
  };
  return JsonObject{
      {"metadata", JsonObject{{"name", name},
                              {"uid", "uid-1"},
                              {"annotations", JsonObject{{api::kFindingsAnnotation, "[]"}}},
                              {"managedFields", JsonArray{entry(api::kAgentManager, "NeuronHealth"),
                                                          entry(api::kAgentManager, theirs),
                                                          entry("node-problem-detector", theirs)}}}}};
}

TEST_F(ReleaseTest, AnUninstallTakesOffWhatAgentsWrote) {
  world.api.put(World::nodePath("d"), nodeWithAgentTraces("d", "KernelDeadlock"));
  const Released tried =
      releaseAllNodes(world.api, {}, {.reason = "", .dryRun = true}, world.api.now).value();
  EXPECT_THAT(tried.sentences, testing::Contains(HasSubstr("would be taken off node d")));
  world.api.writes.clear();

  const Released released = releaseAllNodes(world.api, {}, {}, world.api.now).value();
  EXPECT_THAT(released.sentences, testing::Contains(HasSubstr("are taken off node d")));
  EXPECT_EQ(world.api.writes.back().path, World::nodePath("d") + "/status");
  EXPECT_EQ(world.api.writes.back().body,
            parseJson(R"({"metadata": {"uid": "uid-1", "annotations": {"mainstay.dev/findings": null,
                                                                   "mainstay.dev/clear": null}},
                          "status": {"conditions": [{"$patch": "delete", "type": "NeuronHealth"}]}})")
                .value());
}

TEST_F(ReleaseTest, AnUninstallNeedsNoneOfOurKinds) {
  world.api.put(World::nodePath("d"), nodeWithAgentTraces("d", "KernelDeadlock"));
  world.api.refuse = [](const kube::ApiRequest& request) -> std::optional<Error> {
    const bool ours = request.path.starts_with("/apis/mainstay.dev/");
    return ours ? std::optional(Error(Code::kNotFound, "the server could not find it")) : std::nullopt;
  };
  const Released released = releaseAllNodes(world.api, {}, {}, world.api.now).value();
  EXPECT_FALSE(released.failed);
  EXPECT_THAT(released.sentences, testing::Contains(HasSubstr("are taken off node d")));
}

TEST_F(ReleaseTest, GoesOnAfterAFailureOnOneNode) {
  world.enforce("limits: {isolated: {max: 2}, inRecovery: {max: 2}, perHour: 5}\n");
  drainForever("b");
  world.addPod("c", "web-c");
  world.raiseFault("c");
  world.run(seconds(1));
  world.api.refuse = [](const kube::ApiRequest& request) -> std::optional<Error> {
    const bool node = request.path == World::nodePath("b") && request.method == "PATCH";
    return node ? std::optional(Error(Code::kPermissionDenied, "no")) : std::nullopt;
  };
  const Released released = releaseAllNodes(world.api, {{"local", &world.cloud}}, {}, world.api.now).value();

  EXPECT_TRUE(released.failed);
  EXPECT_THAT(released.sentences, SizeIs(2)) << "what stays out of service keeps its evidence";
  EXPECT_FALSE(world.tainted("c"));
}

}  // namespace
}  // namespace mainstay::recovery
