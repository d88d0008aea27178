#include "local/cluster/scheduler.h"

#include <gtest/gtest.h>

namespace mainstay::local {
namespace {

Candidate machine(const std::string& name, const api::Resources& free) {
  auto node = std::make_shared<api::Node>();
  node->meta.name = name;
  node->conditions = {{.type = "Ready",
                       .status = "True",
                       .reason = "",
                       .message = "",
                       .lastTransition = {},
                       .lastHeartbeat = {}}};
  return {node, free};
}

api::Node& edit(Candidate& candidate) {
  return const_cast<api::Node&>(*candidate.node);
}

api::Pod wanting(const api::Resources& requests) {
  api::Pod pod;
  pod.requests = requests;
  return pod;
}

TEST(PlacePodTest, PrefersTheNodeWithMostRoomForPodsThenTheFirst) {
  const api::Pod pod = wanting({{"cpu", 1000}, {"pods", 1000}});
  EXPECT_EQ(placePod(pod, {machine("a", {{"cpu", 4000}, {"pods", 5000}}),
                           machine("b", {{"cpu", 4000}, {"pods", 9000}}),
                           machine("c", {{"cpu", 4000}, {"pods", 9000}})})
                .node,
            "b");
}

TEST(PlacePodTest, CountsEachReasonAsKubeSchedulerDoes) {
  const api::Resources room{{"cpu", 4000}, {"pods", 1000}};
  Candidate tainted = machine("a", room);
  edit(tainted).taints = {{"gpu", "broken", "NoSchedule"}};
  Candidate cordoned = machine("b", room);
  edit(cordoned).unschedulable = true;
  Candidate notReady = machine("c", room);
  edit(notReady).conditions[0].status = "Unknown";
  Candidate other = machine("d", room);
  edit(other).meta.labels = {{"zone", "2"}};
  api::Pod pod = wanting({{"cpu", 8000}, {"pods", 1000}});
  EXPECT_EQ(
      placePod(pod, {tainted, cordoned, notReady, machine("e", room), machine("f", {{"cpu", 1}})}).message,
      "0/5 nodes are available: 2 Insufficient cpu, 1 Too many pods, "
      "1 node(s) had untolerated taint {gpu: broken}, 1 node(s) were not ready, 1 node(s) were "
      "unschedulable.");
  pod.nodeAffinity.nodeSelector = {{"zone", "1"}};
  EXPECT_EQ(placePod(pod, {other}).message,
            "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.");
  EXPECT_EQ(placePod(pod, {}).message, "0/0 nodes are available.");
}

TEST(PlacePodTest, HonoursRequiredNodeAffinity) {
  Candidate small = machine("a", {{"pods", 9000}});
  edit(small).meta.labels = {{"gpus", "4"}};
  Candidate large = machine("b", {{"pods", 1000}});
  edit(large).meta.labels = {{"gpus", "8"}};
  api::Pod pod = wanting({{"pods", 1000}});
  pod.nodeAffinity.required = {{.labels = {{"gpus", api::NodeRequirement::Op::kGt, {"4"}}}}};
  EXPECT_EQ(placePod(pod, {small, large}).node, "b");
  EXPECT_EQ(placePod(pod, {small}).message,
            "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.");
}

TEST(PlacePodTest, PrefersWhatThePodPrefersToRoom) {
  const Candidate roomy = machine("a", {{"pods", 9000}});
  Candidate wanted = machine("b", {{"pods", 1000}});
  edit(wanted).meta.labels = {{"zone", "1"}};
  api::Pod pod = wanting({{"pods", 1000}});
  pod.nodeAffinity.preferred = {{1, {.labels = {{"zone", api::NodeRequirement::Op::kIn, {"1"}}}}}};
  EXPECT_EQ(placePod(pod, {roomy, wanted}).node, "b");
  EXPECT_EQ(placePod(pod, {roomy}).node, "a");
}

TEST(PlacePodTest, ATolerationOpensATaintedAndACordonedNode) {
  Candidate closed = machine("a", {{"pods", 1000}});
  edit(closed).taints = {{"gpu", "broken", "NoSchedule"}};
  edit(closed).unschedulable = true;
  api::Pod pod = wanting({{"pods", 1000}});
  pod.tolerations = {{.key = "", .op = "Exists", .value = "", .effect = "", .seconds = {}}};
  EXPECT_EQ(placePod(pod, {closed}).node, "a");
}

}  // namespace
}  // namespace mainstay::local
