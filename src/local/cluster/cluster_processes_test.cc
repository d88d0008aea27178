// The cluster in real time, with host processes and HTTP: what the demo stands on.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "agent/sources/kernel_log.h"
#include "base/http_client.h"
#include "local/cluster/cluster_testing.h"

namespace mainstay::local {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ClusterProcessesTest : public testing::Test {
 protected:
  void SetUp() override {
    ClusterOptions options;
    options.folder = folder_.path();
    options.cloud.groups = {threeWorkers()};
    options.cloud.launchDelay = milliseconds(1);
    options.images = {{"shell", {"/bin/sh", "-c"}}};
    options.objects = readObjects("examples/crds/pytorchjobs.yaml");
    auto started = Cluster::start(options, driver_, clock_);
    ASSERT_TRUE(started) << started.error().toString();
    cluster_ = *std::move(started);
    waitFor([&] { return kube::list(cluster_->api(), api::kNodes).value().items.size() == 3; });
  }
  // Looks again and again; the test's own timeout bounds it.
  void waitFor(const std::function<bool()>& holds) {
    Signal never;
    while (!holds()) {
      never.waitUntil(clock_, clock_.now() + milliseconds(5), {});
    }
  }
  void create(std::string_view text) {
    const auto created = createObject(cluster_->api(), yaml(text), "test");
    ASSERT_TRUE(created) << created.error().toString();
  }
  Json pod(const std::string& name) {
    return kube::get(cluster_->api(), api::kPods, "default", name).value_or(Json());
  }
  std::string phase(const std::string& name) { return findString(pod(name), "status", "phase"); }
  HttpResponse send(const std::string& method, const std::string& path, const std::string& body = "") {
    HttpRequest request{.method = method, .target = cluster_->url() + path, .headers = {}, .body = body};
    return client_.send(request, Deadline::after(seconds(10))).value();
  }
  HttpResponse log(const std::string& name) {
    return send("GET", "/api/v1/namespaces/default/pods/" + name + "/log");
  }

  TemporaryFolder folder_{"cluster"};
  SteadyWallClock clock_;
  RealDriver driver_{clock_};
  HttpClient client_{{}};
  std::unique_ptr<Cluster> cluster_;
};

TEST_F(ClusterProcessesTest, AJobsRanksFindTheirMasterAndShareAFolder) {
  create(R"(
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: mini, namespace: default}
spec:
  pytorchReplicaSpecs:
    Master:
      template: &template
        spec:
          volumes: [{name: shared, hostPath: {path: /shared}}]
          containers:
            - name: pytorch
              image: shell
              args: ['echo "$RANK of $WORLD_SIZE at $MASTER_ADDR" | tee $DIR/rank-$RANK; echo done >&2;
                       until [ -e $DIR/rank-0 -a -e $DIR/rank-1 -a -e $DIR/rank-2 ]; do sleep 0.01; done']
              env: [{name: DIR, value: /data}]
              volumeMounts: [{name: shared, mountPath: /data}]
    Worker: {replicas: 2, template: *template}
)");
  waitFor([&] { return phase("mini-master-0") == "Succeeded" && phase("mini-worker-1") == "Succeeded"; });
  const std::string master = findString(pod("mini-master-0"), "status", "podIP");
  EXPECT_EQ(log("mini-worker-1").body, "2 of 3 at " + master + "\ndone\n");
  EXPECT_EQ(RealFileSystem().read(cluster_->hostRoot() + "/shared/rank-2", 100).value(),
            "2 of 3 at " + master + "\n");
  waitFor([&] {
    const Json job = kube::get(cluster_->api(), api::kPyTorchJobs, "default", "mini").value();
    return conditionStatus(find(job, "status", "conditions"), "Succeeded") == "True";
  });
}

TEST_F(ClusterProcessesTest, AKilledNodeTakesItsProcessesLogAndKernelLogWithIt) {
  create(R"({apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default},
             spec: {containers: [{name: c, image: shell, args: ["echo $$$$; exec sleep 1000"]}]}})");
  waitFor([&] { return log("p").status == 200 && !log("p").body.empty(); });
  const HttpResponse first = log("p");
  ASSERT_EQ(first.status, 200) << first.body;
  const pid_t process = std::stoi(first.body);
  const std::string name = findString(pod("p"), "spec", "nodeName");
  auto kernelLog = agent::openKernelLog(cluster_->kernelLogPath(name)).value();
  EXPECT_EQ(kernelLog->read()->kind, agent::KernelLogRead::Kind::kEmpty);
  EXPECT_EQ(send("POST", "/local/v1/nodes/" + name + "/kill").status, 200);
  EXPECT_EQ(::kill(process, 0), -1);
  EXPECT_FALSE(kernelLog->read());
  EXPECT_EQ(log("p").status, 500);  // as Kubernetes, whose kubelet does not answer
  EXPECT_EQ(phase("p"), "Running");
}

TEST_F(ClusterProcessesTest, ALineWrittenOverHttpIsInTheNodesKernelLog) {
  EXPECT_EQ(send("POST", "/local/v1/nodes/node-b/kmsg", "<3>NEURON_HW_ERR=DMA_ERROR").status, 200);
  auto kernelLog = agent::openKernelLog(cluster_->kernelLogPath("node-b")).value();
  const std::string record = kernelLog->read()->record;
  EXPECT_TRUE(record.starts_with("11,0,")) << record;
  EXPECT_TRUE(record.ends_with(";NEURON_HW_ERR=DMA_ERROR\n")) << record;
  EXPECT_EQ(send("POST", "/local/v1/nodes/node-x/kmsg", "x").status, 404);
  EXPECT_EQ(send("POST", "/local/v1/nodes/node-b/kmsg", std::string(2000, 'x')).status, 400);
  EXPECT_EQ(send("POST", "/local/v1/nodes/node-b/explode").status, 404);
}

TEST_F(ClusterProcessesTest, TellsOfItsNodesAndWhereToFindIt) {
  const Json nodes = parseJson(send("GET", "/local/v1/nodes").body).value();
  ASSERT_EQ(nodes.get_array().size(), 3u);
  EXPECT_EQ(findString(nodes.get_array()[1], "name"), "node-b");
  EXPECT_EQ(RealFileSystem().read(cluster_->bootIdPath("node-b"), 100).value(),
            findString(nodes.get_array()[1], "bootId") + "\n");
  const Json config = parseYaml(RealFileSystem().read(cluster_->kubeconfig(), 10000).value(), "kubeconfig")
                          .value()
                          .at(0)
                          .value;
  EXPECT_EQ(findString(arrayAt(config, "clusters").at(0), "cluster", "server"), cluster_->url());
}

TEST_F(ClusterProcessesTest, TheCloudIsReachedOverHttp) {
  const std::string id = cluster_->cloud().group("workers")->instances.at(0).id;
  EXPECT_EQ(findString(parseJson(send("GET", "/cloud/v1/instances/" + id).body).value(), "lifecycle"),
            "InService");
  EXPECT_EQ(send("GET", "/cloud/v1/instances/i-0").status, 404);
  EXPECT_EQ(send("GET", "/cloud/v1/groups/none").status, 404);
  EXPECT_EQ(send("POST", "/cloud/v1/instances/" + id + "/health", R"({"healthStatus": "Poorly"})").status,
            400);
  EXPECT_EQ(send("POST", "/cloud/v1/instances/" + id + "/health", "{").status, 400);
  EXPECT_EQ(send("POST", "/cloud/v1/capacity", R"({"instanceType": "trn1.32xlarge", "left": 0})").status,
            200);
  EXPECT_EQ(
      send("POST", "/cloud/v1/instances/" + id + "/health", R"({"healthStatus": "Unhealthy", "token": "t"})")
          .status,
      200);
  waitFor([&] { return cluster_->cloud().group("workers")->activities.at(0).status == "Failed"; });
  EXPECT_EQ(send("POST", "/cloud/v1/instances/" + id + "/health", R"({"healthStatus": "Healthy"})").status,
            409);
  const Json effects = parseJson(send("GET", "/cloud/v1/effects").body).value();
  EXPECT_EQ(findString(effects.get_array().at(3), "token"), "t");
}

}  // namespace
}  // namespace mainstay::local
