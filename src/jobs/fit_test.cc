#include "jobs/fit.h"

#include <gtest/gtest.h>

#include "jobs/test_world.h"

namespace mainstay::jobs {
namespace {

class FitTest : public testing::Test {
 protected:
  FitTest() {
    world.addJob("mini");
    for (const char* node : {"a", "b", "c"}) {
      world.addNode(node);
    }
  }
  bool fits() {
    std::string why;
    return Fit(world.nodes, world.pods).place(world.job("mini"), why);
  }
  World world;
};

TEST_F(FitTest, AGroupFitsWhenEveryPodHasAPlace) {
  EXPECT_TRUE(fits());
  world.nodes.erase("c");
  EXPECT_FALSE(fits());
}

TEST_F(FitTest, NodesThatAreNotWellOfferNothing) {
  const api::Node well = *world.nodes.at("c");
  world.addNode("c").unschedulable = true;
  EXPECT_FALSE(fits());
  world.addNode("c").conditions[0].status = "False";
  EXPECT_FALSE(fits());
  world.addNode("c").meta.labels[api::kHealthStatusLabel] = api::kPendingReplacement;
  EXPECT_FALSE(fits());
  world.addNode("c").meta.labels.clear();
  EXPECT_FALSE(fits());
  world.addNode("c").meta.deleted = kNoon;
  EXPECT_FALSE(fits());
  world.addNode("c").taints = {{"foreign", "", "NoSchedule"}};
  EXPECT_FALSE(fits());
  world.addNode("c");
  EXPECT_TRUE(fits());
}

TEST_F(FitTest, ToleratedTaintsAndMatchingSelectorsAreNoObstacle) {
  world.addNode("c").taints = {{"foreign", "x", "NoSchedule"}};
  world.job("mini").replicas[1].pod.tolerations = {
      {.key = "foreign", .op = "Exists", .value = "", .effect = "", .seconds = {}}};
  EXPECT_TRUE(fits());
  world.job("mini").replicas[0].pod.nodeAffinity.nodeSelector["pool"] = "x";
  EXPECT_FALSE(fits());
  world.addNode("a").meta.labels["pool"] = "x";
  EXPECT_TRUE(fits());
}

TEST_F(FitTest, RequiredNodeAffinityIsAnObstacleAndAPreferenceIsNot) {
  const api::NodeSelectorTerm large{.labels = {{"gpus", api::NodeRequirement::Op::kGt, {"4"}}}};
  world.job("mini").replicas[0].pod.nodeAffinity.preferred = {{100, large}};
  EXPECT_TRUE(fits());
  world.job("mini").replicas[0].pod.nodeAffinity.required = {large};
  EXPECT_FALSE(fits());
  world.addNode("a").meta.labels["gpus"] = "8";
  EXPECT_TRUE(fits());
}

TEST_F(FitTest, RunningPodsTakeRoomAndFinishedOnesDoNot) {
  api::Pod& pod = world.addPod("another", 0, "c");
  EXPECT_FALSE(fits());
  pod.phase = "Succeeded";
  EXPECT_TRUE(fits());
}

TEST_F(FitTest, SmallPodsShareANode) {
  for (Replica& replica : world.job("mini").replicas) {
    replica.pod.requests[kNeuron] = 5000;
  }
  world.nodes.erase("b");
  world.nodes.erase("c");
  EXPECT_TRUE(fits());
}

TEST_F(FitTest, AGroupThatDoesNotFitTakesNothing) {
  world.nodes.erase("c");
  Fit fit(world.nodes, world.pods);
  std::string why;
  EXPECT_FALSE(fit.place(world.job("mini"), why));
  world.job("mini").replicas[1].count = 1;
  EXPECT_TRUE(fit.place(world.job("mini"), why));
  EXPECT_FALSE(fit.place(world.job("mini"), why));
}

}  // namespace
}  // namespace mainstay::jobs
