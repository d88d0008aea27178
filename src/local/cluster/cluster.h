// Cluster: a whole small cluster in one process: API server, scheduler, controllers, operator, cloud, and a
// kubelet with a kernel log for each instance. The same parts run in real time with host processes (the demo)
// and in virtual time with a model (scenarios).
//
//   RealDriver driver(clock);
//   auto cluster = Cluster::start({.folder = folder, .cloud = {.groups = {workers}}, .images = images},
//   driver, clock);
//   (*cluster)->kubeconfig();                         // for everybody else
//   (*cluster)->writeKernelLog("node-b", "<3>NEURON_HW_ERR=...");
//
// Every part fails on purpose by call: killNode, silenceKubelet, cloud().setCapacity, server().faults().
#pragma once

#include "base/http_server.h"
#include "local/api/direct_api.h"
#include "local/api/http_front.h"
#include "local/cluster/cloud.h"
#include "local/cluster/kernel_log_socket.h"
#include "local/cluster/kubelet.h"
#include "local/cluster/model_runtime.h"
#include "local/cluster/node_lifecycle.h"
#include "local/cluster/process_runtime.h"

namespace mainstay::local {

// A machine that becomes a node.
struct NodeSpec {
  std::string name = {};
  std::string providerId = {};
  std::string instanceType = {};
  api::Labels labels = {};
  JsonArray taints = {};
  std::map<std::string, std::string> allocatable = {};
};

// One boot of a node, for what runs on it without being a pod.
struct Boot {
  std::string node = {};
  std::string bootId = {};
  std::shared_ptr<KernelRing> log = {};
};

struct ClusterOptions {
  // Kubeconfig, logs, kernel log sockets, the host's "/" of all nodes. "": nothing on disk, and containers
  // are a model.
  std::string folder = {};
  std::uint64_t seed = 1;
  CloudOptions cloud = {};
  std::vector<std::string> nodeNames =
      {};                   // of launched instances, in order; then node-a, node-b, ... that are free
  ImageTable images = {};   // with a folder
  ModelScript script = {};  // without
  Duration heartbeat = std::chrono::seconds(10);
  CrashBackOff crashBackOff = {};
  NodeLifecycleOptions lifecycle = {};
  // (The operator waits for the kind PyTorchJob: examples/crds/pytorchjobs.yaml.)
  std::vector<Json> objects = {};  // created in this order before anything runs: CRDs first
  int port = 0;                    // 0: a free one
  bool http = true;                // serve the API on a free loopback port
  // Loops that live on each node beside its kubelet (the agent of a simulation) and die with it.
  std::function<std::vector<std::shared_ptr<Loop>>(const Boot& boot)> aboard = {};
};

// Its methods may be called by any thread.
class Cluster final : private Machines, private LogSource {
 public:
  // `driver` and `clock` outlive it. Nodes appear as the cloud launches them.
  static Result<std::unique_ptr<Cluster>> start(ClusterOptions options, Driver& driver, const Clock& clock);
  // Everything stops, everything dies.
  ~Cluster() override;

  kube::Api& api() { return api_; }
  ApiServer& server() { return server_; }
  Cloud& cloud() { return *cloud_; }
  // "http://127.0.0.1:34567"; "" without HTTP.
  const std::string& url() const { return url_; }
  // Path of a kubeconfig for this cluster; "" without HTTP or folder.
  const std::string& kubeconfig() const { return kubeconfig_; }
  // Of all nodes: what a hostPath volume "/x" is.
  std::string hostRoot() const { return options_.folder.empty() ? "" : options_.folder + "/host"; }
  // Where an agent of its own process reads the node's kernel log and boot id. "$(NODE_NAME)" is a node, too:
  // both paths differ in the name only.
  std::string kernelLogPath(const std::string& node) const;
  std::string bootIdPath(const std::string& node) const;

  // --- Nodes; kNotFound for an unknown name ---
  struct NodeState {
    std::string name;
    std::string providerId;
    std::string bootId;
    bool alive = false;    // its machine is on
    bool kubelet = false;  // and its kubelet works
  };
  std::vector<NodeState> nodes() const;
  // A machine that no group owns. kAlreadyExists while one of this name is on.
  Result<> startNode(const NodeSpec& spec);
  // Everything on it dies without a word; its instance stays as it is.
  Result<> killNode(const std::string& name);
  // Only the kubelet stops; containers go on, unseen.
  Result<> silenceKubelet(const std::string& name);
  // Its kubelet says from now on that it is not ready, or is again.
  Result<> reportNotReady(const std::string& name, bool notReady);
  // A dead node boots again under its old name and provider id; a silent kubelet speaks again.
  Result<> returnNode(const std::string& name);
  // One line, as user space writes it ("<3>..." sets the level). kUnavailable when the node is dead.
  Result<> writeKernelLog(const std::string& name, const std::string& text);
  std::shared_ptr<KernelRing> kernelLog(const std::string& name) const;

 private:
  struct Node {
    NodeSpec spec;
    std::string bootId;
    std::shared_ptr<KernelRing> log;
    std::unique_ptr<KernelLogSocket> socket;
    std::shared_ptr<Kubelet> kubelet;  // null: the machine is off
    bool silent = false;
    std::vector<std::shared_ptr<Loop>> aboard;
  };
  Cluster(ClusterOptions options, Driver& driver, const Clock& clock);
  Result<> open();
  Result<> serve();
  Result<> prepareFiles(const NodeSpec& spec, Node& node) const;
  void run(std::shared_ptr<Loop> loop);
  Result<> boot(const NodeSpec& spec);
  std::unique_ptr<PodRuntime> makeRuntime(const std::string& node) const;
  std::string podRoot(const std::string& node) const { return options_.folder + "/nodes/" + node + "/pods"; }
  void halt(Node node);
  std::string nextNodeName();
  std::string newBootId();

  void powerOn(const cloud::Instance& instance, const LaunchTemplate& launch) override;
  void powerOff(const cloud::Instance& instance) override;
  Result<Chunk> read(const Json& pod, const std::string& container, bool previous,
                     std::uint64_t offset) override;

  ClusterOptions options_;
  Driver& driver_;
  const Clock& clock_;
  ApiServer server_;
  DirectApi api_;
  AddressPool addresses_;
  std::shared_ptr<Cloud> cloud_;
  std::vector<std::shared_ptr<Loop>> loops_;
  std::string url_;
  std::string kubeconfig_;
  mutable std::mutex mutex_;  // guards all below
  std::mt19937_64 random_;
  std::map<std::string, Node> nodes_;
  std::size_t namesUsed_ = 0;  // of options_.nodeNames
  HttpFront front_;
  std::unique_ptr<HttpServer> http_;  // last: its threads use all of the above
};

}  // namespace mainstay::local
