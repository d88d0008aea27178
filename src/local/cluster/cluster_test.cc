#include "local/cluster/cluster.h"

#include "local/cluster/cluster_testing.h"

namespace mainstay::local {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr char kSleeper[] = R"(
apiVersion: v1
kind: Pod
metadata: {name: sleeper, namespace: default}
spec:
  containers:
    - name: main
      image: any
      resources: {limits: {aws.amazon.com/neuron: 16}}
)";

constexpr char kJob[] = R"(
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: mini, namespace: default}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template: &template
        spec:
          containers:
            - {name: pytorch, image: any, resources: {limits: {aws.amazon.com/neuron: 16}}}
    Worker: {replicas: 2, template: *template}
)";

TEST_F(ClusterTest, NodesJoinAsTheirInstancesAreLaunched) {
  start();
  for (const char* name : {"node-a", "node-b", "node-c"}) {
    const Json present = node(name);
    EXPECT_EQ(condition(present, "Ready"), "True KubeletReady");
    EXPECT_EQ(findString(present, "status", "allocatable", "aws.amazon.com/neuron"), "16");
    EXPECT_EQ(findString(present, "metadata", "labels", "node.kubernetes.io/instance-type"), "trn1.32xlarge");
    EXPECT_EQ(findString(present, "metadata", "labels", "topology.kubernetes.io/zone"), "us-west-2b");
    EXPECT_TRUE(cluster_->cloud().instance(cloud::instanceIdOf(findString(present, "spec", "providerID"))));
    EXPECT_FALSE(findString(present, "status", "nodeInfo", "bootID").empty());
    EXPECT_EQ(arrayAt(present, "spec", "taints").size(), 0u);
  }
}

TEST_F(ClusterTest, APodIsScheduledRunsAndEnds) {
  options_.script = [](const ContainerSpec&, TimePoint) { return ModelRun{.lasts = seconds(30)}; };
  start();
  create(std::string(kSleeper) + "  restartPolicy: Never\n");
  pass(seconds(10));
  EXPECT_EQ(phase("sleeper"), "Running");
  EXPECT_EQ(condition(pod("sleeper"), "PodScheduled"), "True ");
  EXPECT_EQ(condition(pod("sleeper"), "Ready"), "True ");
  EXPECT_TRUE(findString(pod("sleeper"), "status", "podIP").starts_with("127."));
  pass(seconds(30));
  EXPECT_EQ(phase("sleeper"), "Succeeded");
}

TEST_F(ClusterTest, ADeletedPodGetsItsGracePeriodAndIsThenGone) {
  options_.script = [](const ContainerSpec&, TimePoint) { return ModelRun{.afterTerm = std::nullopt}; };
  start();
  create(std::string(kSleeper) + "  terminationGracePeriodSeconds: 7\n");
  pass(seconds(2));
  ASSERT_TRUE(kube::remove(api(), api::kPods, "default", "sleeper", ""));
  pass(seconds(6));
  EXPECT_TRUE(isDeleting(pod("sleeper")));
  pass(seconds(2));
  EXPECT_TRUE(pod("sleeper").is_null());
}

TEST_F(ClusterTest, AnUnplaceablePodSaysWhyAndIsPlacedWhenThereIsRoom) {
  start();
  for (const char* name : {"one", "two", "three"}) {
    std::string text = kSleeper;
    text.replace(text.find("sleeper"), 7, name);
    create(text);
  }
  pass(seconds(2));
  create(kSleeper);
  pass(seconds(2));
  EXPECT_EQ(condition(pod("sleeper"), "PodScheduled"), "False Unschedulable");
  EXPECT_EQ(findString(arrayAt(pod("sleeper"), "status", "conditions").at(0), "message"),
            "0/3 nodes are available: 3 Insufficient aws.amazon.com/neuron.");
  ASSERT_TRUE(kube::remove(api(), api::kPods, "default", "two", ""));
  pass(seconds(2));
  EXPECT_EQ(phase("sleeper"), "Running");
}

TEST_F(ClusterTest, AKilledNodeIsUnknownThenTaintedAndItsPodsStayTerminating) {
  start();
  create(kSleeper);
  pass(seconds(2));
  const std::string name = findString(pod("sleeper"), "spec", "nodeName");
  ASSERT_TRUE(cluster_->killNode(name));
  pass(seconds(25));
  EXPECT_EQ(condition(node(name), "Ready"), "True KubeletReady");
  pass(seconds(20));
  EXPECT_EQ(condition(node(name), "Ready"), "Unknown NodeStatusUnknown");
  EXPECT_EQ(arrayAt(node(name), "spec", "taints").size(), 2u);
  pass(seconds(290));
  EXPECT_FALSE(isDeleting(pod("sleeper")));
  pass(seconds(20));
  EXPECT_TRUE(isDeleting(pod("sleeper")));
  EXPECT_EQ(phase("sleeper"), "Running");

  ASSERT_TRUE(kube::remove(api(), api::kNodes, "", name, ""));
  pass(minutes(1));
  EXPECT_TRUE(pod("sleeper").is_null());
}

TEST_F(ClusterTest, ASilentKubeletsContainersGoOnAndItsReturnMendsTheNode) {
  start();
  create(kSleeper);
  pass(seconds(2));
  const std::string name = findString(pod("sleeper"), "spec", "nodeName");
  ASSERT_TRUE(cluster_->silenceKubelet(name));
  pass(minutes(1));
  EXPECT_EQ(condition(node(name), "Ready"), "Unknown NodeStatusUnknown");
  ASSERT_TRUE(cluster_->returnNode(name));
  pass(seconds(15));
  EXPECT_EQ(condition(node(name), "Ready"), "True KubeletReady");
  EXPECT_EQ(arrayAt(node(name), "spec", "taints").size(), 0u);
  EXPECT_EQ(integerAt(arrayAt(pod("sleeper"), "status", "containerStatuses").at(0), "restartCount"), 0);
}

TEST_F(ClusterTest, ARebootedNodeKeepsItsObjectAndRestartsItsContainers) {
  start();
  create(kSleeper);
  pass(seconds(2));
  const std::string name = findString(pod("sleeper"), "spec", "nodeName");
  const Json before = node(name);
  ASSERT_TRUE(cluster_->killNode(name));
  ASSERT_TRUE(cluster_->returnNode(name));
  pass(seconds(5));
  const Json after = node(name);
  EXPECT_EQ(findString(after, "metadata", "uid"), findString(before, "metadata", "uid"));
  EXPECT_NE(findString(after, "status", "nodeInfo", "bootID"),
            findString(before, "status", "nodeInfo", "bootID"));
  const Json status = arrayAt(pod("sleeper"), "status", "containerStatuses").at(0);
  EXPECT_EQ(integerAt(status, "restartCount"), 1);
  EXPECT_EQ(findString(status, "lastState", "terminated", "reason"), "ContainerStatusUnknown");
}

TEST_F(ClusterTest, AnUnhealthyInstanceIsReplacedAndItsNodeDies) {
  start();
  DirectProvider provider(cluster_->cloud());
  ASSERT_TRUE(provider.markUnhealthy(findString(node("node-b"), "spec", "providerID"), "token"));
  pass(seconds(3));
  EXPECT_EQ(condition(node("node-d"), "Ready"), "True KubeletReady");
  for (const Cluster::NodeState& state : cluster_->nodes()) {
    EXPECT_EQ(state.alive, state.name != "node-b") << state.name;
  }
  EXPECT_EQ(cluster_->writeKernelLog("node-b", "x").error().code(), Code::kUnavailable);
}

TEST_F(ClusterTest, AJobRunsToItsEnd) {
  options_.script = [](const ContainerSpec&, TimePoint) { return ModelRun{.lasts = minutes(1)}; };
  start();
  create(kJob);
  pass(seconds(5));
  EXPECT_EQ(podNames(), (std::vector<std::string>{"mini-master-0", "mini-worker-0", "mini-worker-1"}));
  EXPECT_EQ(condition(job("mini"), "Running"), "True PyTorchJobRunning");
  EXPECT_EQ(integerAt(job("mini"), "status", "replicaStatuses", "Worker", "active"), 2);
  pass(minutes(2));
  EXPECT_EQ(condition(job("mini"), "Succeeded"), "True PyTorchJobSucceeded");
  EXPECT_EQ(condition(job("mini"), "Running"), "False PyTorchJobRunning");
}

TEST_F(ClusterTest, ASuspendedJobHasNoPodsAndResumesWithNewOnes) {
  start();
  create(kJob);
  pass(seconds(5));
  const std::string uid = findString(pod("mini-worker-1"), "metadata", "uid");
  patchJob("mini", {{"spec", {{"runPolicy", {{"suspend", true}}}}}});
  pass(seconds(5));
  EXPECT_TRUE(podNames().empty());
  EXPECT_EQ(condition(job("mini"), "Suspended"), "True PyTorchJobSuspended");
  EXPECT_EQ(condition(job("mini"), "Running"), "False PyTorchJobSuspended");
  patchJob("mini", {{"spec", {{"runPolicy", {{"suspend", false}}}}}});
  pass(seconds(5));
  EXPECT_EQ(phase("mini-worker-1"), "Running");
  EXPECT_NE(findString(pod("mini-worker-1"), "metadata", "uid"), uid);
  EXPECT_EQ(condition(job("mini"), "Suspended"), "False PyTorchJobResumed");
}

TEST_F(ClusterTest, ADaemonSetHasOnePodOnEveryNodeAlsoOnLaterOnes) {
  start();
  create(R"(
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: kube-system}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: any}]}
)");
  pass(seconds(3));
  EXPECT_EQ(podNames("kube-system").size(), 3u);
  ASSERT_TRUE(cluster_->cloud().setDesired("workers", 4));
  pass(seconds(3));
  EXPECT_EQ(podNames("kube-system").size(), 4u);
  const Json set =
      kube::get(api(), api::Resource{"apps", "v1", "daemonsets", "DaemonSet", true}, "kube-system", "agent")
          .value();
  EXPECT_EQ(integerAt(set, "status", "numberReady"), 4);
}

TEST_F(ClusterTest, LoopsAboardLiveAndDieWithTheirNode) {
  struct Companion final : Loop {
    std::string_view name() const override { return "companion"; }
    TimePoint step(TimePoint now) override {
      ++steps;
      return now + seconds(1);
    }
    int steps = 0;
  };
  std::map<std::string, std::shared_ptr<Companion>> aboard;
  options_.aboard = [&](const Boot& boot) -> std::vector<std::shared_ptr<Loop>> {
    aboard[boot.node] = std::make_shared<Companion>();
    return {aboard[boot.node]};
  };
  start();
  pass(seconds(5));
  const int before = aboard.at("node-a")->steps;
  EXPECT_GE(before, 5);
  ASSERT_TRUE(cluster_->killNode("node-a"));
  pass(seconds(5));
  EXPECT_EQ(aboard.at("node-a")->steps, before);
  EXPECT_GT(aboard.at("node-b")->steps, before);
}

TEST_F(ClusterTest, TheSameSeedGivesTheSameRun) {
  const auto ids = [&] {
    start();
    std::vector<std::string> all;
    for (const CloudEffect& effect : cluster_->cloud().effects()) {
      all.push_back(effect.instance);
    }
    for (const Cluster::NodeState& state : cluster_->nodes()) {
      all.push_back(state.bootId);
    }
    cluster_.reset();
    return all;
  };
  const auto first = ids();
  EXPECT_EQ(first, ids());
}

}  // namespace
}  // namespace mainstay::local
