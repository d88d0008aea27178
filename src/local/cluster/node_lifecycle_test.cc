#include "local/cluster/node_lifecycle.h"

#include "local/cluster/cluster_testing.h"

namespace mainstay::local {
namespace {

using std::chrono::seconds;

api::Node nodeThatIs(const std::string& ready) {
  api::Node node;
  node.conditions = {{.type = "Ready",
                      .status = ready,
                      .reason = "",
                      .message = "",
                      .lastTransition = {},
                      .lastHeartbeat = {}}};
  return node;
}

api::Toleration toleration(const std::string& key, std::optional<std::int64_t> span) {
  return {.key = key, .op = "Exists", .value = "", .effect = "NoExecute", .seconds = span};
}

TEST(LifecycleTaintsTest, FollowReadyAndTheCordon) {
  EXPECT_TRUE(lifecycleTaints(nodeThatIs("True")).empty());
  EXPECT_EQ(lifecycleTaints(nodeThatIs("Unknown")),
            (std::vector<api::Taint>{{"node.kubernetes.io/unreachable", "", "NoSchedule"},
                                     {"node.kubernetes.io/unreachable", "", "NoExecute"}}));
  api::Node cordoned = nodeThatIs("False");
  cordoned.unschedulable = true;
  const std::vector<api::Taint> taints = lifecycleTaints(cordoned);
  ASSERT_EQ(taints.size(), 3u);
  EXPECT_EQ(taints[0].key, "node.kubernetes.io/not-ready");
  EXPECT_EQ(taints[2].key, "node.kubernetes.io/unschedulable");
}

TEST(ToleratedForTest, TheShortestTolerationCountsAndNoneIsNoTime) {
  const api::Taint taint{"k", "", "NoExecute"};
  api::Pod pod;
  EXPECT_EQ(toleratedFor(pod, taint), Duration(0));
  pod.tolerations = {toleration("k", std::nullopt)};
  EXPECT_EQ(toleratedFor(pod, taint), std::nullopt);
  pod.tolerations = {toleration("k", std::nullopt), toleration("k", 60), toleration("k", 30),
                     toleration("other", 1)};
  EXPECT_EQ(toleratedFor(pod, taint), Duration(seconds(30)));
  pod.tolerations = {toleration("k", -5)};
  EXPECT_EQ(toleratedFor(pod, taint), Duration(0));
}

class NodeLifecycleTest : public ClusterTest {};

TEST_F(NodeLifecycleTest, KeepsForeignTaintsWhileItsOwnComeAndGo) {
  start();
  const Json foreign{
      {"spec",
       {{"taints", JsonArray{{{"key", "mine"}, {"effect", "NoSchedule"}}}}, {"unschedulable", true}}}};
  ASSERT_TRUE(kube::patch(api(), api::kNodes, "", "node-a", kube::Body::kMergePatch, foreign, "test"));
  pass(seconds(1));
  EXPECT_EQ(arrayAt(node("node-a"), "spec", "taints").size(), 2u);
  ASSERT_TRUE(kube::patch(api(), api::kNodes, "", "node-a", kube::Body::kMergePatch,
                          {{"spec", {{"unschedulable", false}}}}, "test"));
  pass(seconds(1));
  ASSERT_EQ(arrayAt(node("node-a"), "spec", "taints").size(), 1u);
  EXPECT_EQ(findString(arrayAt(node("node-a"), "spec", "taints")[0], "key"), "mine");
}

TEST_F(NodeLifecycleTest, ANoExecuteTaintDeletesWhoDoesNotTolerateItWhenTheTimeIsUp) {
  start();
  for (const char* name : {"stays", "leaves", "lingers"}) {
    const std::string tolerations =
        std::string(name) == "stays" ? "[{key: maintenance, operator: Exists}]"
        : std::string(name) == "lingers"
            ? "[{key: maintenance, operator: Exists, effect: NoExecute, tolerationSeconds: 20}]"
            : "[]";
    create("{apiVersion: v1, kind: Pod, metadata: {name: " + std::string(name) +
           ", namespace: default}, spec: {nodeName: node-a, tolerations: " + tolerations +
           ", containers: [{name: c, image: any}]}}");
  }
  pass(seconds(2));
  const Json taint{{"spec", {{"taints", JsonArray{{{"key", "maintenance"}, {"effect", "NoExecute"}}}}}}};
  ASSERT_TRUE(kube::patch(api(), api::kNodes, "", "node-a", kube::Body::kMergePatch, taint, "test"));
  pass(seconds(10));
  EXPECT_EQ(podNames(), (std::vector<std::string>{"lingers", "stays"}));
  pass(seconds(15));
  EXPECT_EQ(podNames(), std::vector<std::string>{"stays"});
}

TEST_F(NodeLifecycleTest, AKubeletThatSaysItIsNotReadyIsTaintedSo) {
  start();
  ASSERT_TRUE(cluster_->reportNotReady("node-b", true));
  pass(seconds(1));
  EXPECT_EQ(condition(node("node-b"), "Ready"), "False KubeletNotReady");
  EXPECT_EQ(findString(arrayAt(node("node-b"), "spec", "taints").at(0), "key"),
            "node.kubernetes.io/not-ready");
  ASSERT_TRUE(cluster_->reportNotReady("node-b", false));
  pass(seconds(1));
  EXPECT_EQ(condition(node("node-b"), "Ready"), "True KubeletReady");
  EXPECT_TRUE(arrayAt(node("node-b"), "spec", "taints").empty());
}

}  // namespace
}  // namespace mainstay::local
