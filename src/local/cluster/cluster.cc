#include "local/cluster/cluster.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "agent/sources/kmsg_reader.h"
#include "base/file_system.h"
#include "base/log.h"
#include "local/cluster/cluster_http.h"
#include "local/cluster/daemons.h"
#include "local/cluster/objects.h"
#include "local/cluster/pytorch_operator.h"
#include "local/cluster/scheduler.h"

namespace mainstay::local {
namespace {

constexpr char kClusterManager[] = "mainstay-local";

tl::unexpected<Error> noSuchNode(const std::string& name) {
  return fail(Code::kNotFound, "the local cluster has no node " + name);
}

// node-a ... node-z, node-aa ...
std::string letteredName(std::size_t serial) {
  std::string letters;
  for (std::size_t rest = serial + 1; rest > 0; rest = (rest - 1) / 26) {
    letters.insert(letters.begin(), static_cast<char>('a' + (rest - 1) % 26));
  }
  return "node-" + letters;
}

std::string kubeconfigText(const std::string& url) {
  return "apiVersion: v1\n"
         "kind: Config\n"
         "current-context: mainstay-local\n"
         "contexts:\n"
         "  - {name: mainstay-local, context: {cluster: mainstay-local, user: mainstay-local}}\n"
         "clusters:\n"
         "  - {name: mainstay-local, cluster: {server: \"" +
         url +
         "\"}}\n"
         "users:\n"
         "  - {name: mainstay-local, user: {}}\n";
}

// Two clusters of one machine must not meet at one address; in a simulation addresses are only text.
std::uint64_t addressSeed(const ClusterOptions& options) {
  return options.folder.empty() ? options.seed : options.seed + static_cast<std::uint64_t>(getpid());
}

}  // namespace

Result<std::unique_ptr<Cluster>> Cluster::start(ClusterOptions options, Driver& driver, const Clock& clock) {
  std::unique_ptr<Cluster> cluster(new Cluster(std::move(options), driver, clock));
  auto opened = cluster->open();
  if (!opened) {
    return fail(std::move(opened).error().with("starting the local cluster"));
  }
  return cluster;
}

Cluster::Cluster(ClusterOptions options, Driver& driver, const Clock& clock)
    : options_(std::move(options)),
      driver_(driver),
      clock_(clock),
      server_(clock, {.seed = options_.seed}),
      api_(server_),
      addresses_(addressSeed(options_)),
      random_(options_.seed),
      front_(server_, clock) {
  options_.cloud.seed += options_.seed;
  cloud_ = std::make_shared<Cloud>(options_.cloud, clock_, static_cast<Machines&>(*this));
}

Cluster::~Cluster() {
  http_.reset();
  for (auto loop = loops_.rbegin(); loop != loops_.rend(); ++loop) {
    driver_.stop(**loop);
  }
  for (auto& [name, node] : std::exchange(nodes_, {})) {
    halt(std::move(node));
  }
}

Result<> Cluster::open() {
  server_.serveLogs(*this);
  for (const Json& object : options_.objects) {
    MAINSTAY_TRY(createObject(api_, object, kClusterManager));
  }
  if (options_.http) {
    MAINSTAY_TRY(serve());
  }
  run(server_.housekeeper());
  run(std::make_shared<Scheduler>(api_));
  run(std::make_shared<NodeLifecycle>(api_, options_.lifecycle));
  run(std::make_shared<Daemons>(api_));
  run(std::make_shared<PyTorchOperator>(api_));
  run(cloud_);
  return {};
}

Result<> Cluster::serve() {
  auto handler = [this](const HttpRequest& request, HttpReply& reply) {
    auto own = isForeignRequest(request) ? std::nullopt : answerClusterRequest(*this, request);
    if (own) {
      reply.send(*std::move(own));
    } else {
      front_.handle(request, reply);
    }
  };
  MAINSTAY_ASSIGN(http_, HttpServer::listen({.port = options_.port}, std::move(handler)));
  url_ = "http://127.0.0.1:" + std::to_string(http_->port());
  if (options_.folder.empty()) {
    return {};
  }
  kubeconfig_ = options_.folder + "/kubeconfig";
  return RealFileSystem().write(kubeconfig_, kubeconfigText(url_));
}

void Cluster::run(std::shared_ptr<Loop> loop) {
  loops_.push_back(loop);
  driver_.start(std::move(loop));
}

// --- Nodes ---

void Cluster::powerOn(const cloud::Instance& instance, const LaunchTemplate& launch) {
  const NodeSpec spec{nextNodeName(),    instance.providerId, launch.instanceType, launch.labels, {},
                      launch.allocatable};
  if (const auto booted = boot(spec); !booted) {
    logError("instance does not boot", {{"instance", instance.id}, {"error", booted.error()}});
  }
}

void Cluster::powerOff(const cloud::Instance& instance) {
  for (const NodeState& node : nodes()) {
    if (node.providerId == instance.providerId) {
      ignore(killNode(node.name), "it may be dead already");
    }
  }
}

Result<> Cluster::startNode(const NodeSpec& spec) {
  return boot(spec);
}

Result<> Cluster::boot(const NodeSpec& spec) {
  std::lock_guard lock(mutex_);
  if (const auto old = nodes_.find(spec.name); old != nodes_.end() && old->second.kubelet) {
    return fail(Code::kAlreadyExists, "node " + spec.name + " is running");
  }
  Node node;
  node.spec = spec;
  // An agent in a process of its own turns the stamps of records into wall time by the machine's clock.
  const bool machineClock = !options_.folder.empty();
  node.log =
      std::make_shared<KernelRing>(machineClock ? clock_.now() - agent::monotonicTime() : clock_.now());
  node.bootId = newBootId();
  if (!options_.folder.empty()) {
    MAINSTAY_TRY(prepareFiles(spec, node));
  }
  KubeletOptions kubelet{.node = spec.name,
                         .providerId = spec.providerId,
                         .instanceType = spec.instanceType,
                         .zone = options_.cloud.zone,
                         .labels = spec.labels,
                         .allocatable = spec.allocatable,
                         .taints = spec.taints,
                         .bootId = node.bootId,
                         .address = addresses_.next(),
                         .hostRoot = hostRoot(),
                         .heartbeat = options_.heartbeat,
                         .crashBackOff = options_.crashBackOff};
  node.kubelet = std::make_shared<Kubelet>(api_, std::move(kubelet), makeRuntime(spec.name), addresses_);
  if (options_.aboard) {
    node.aboard = options_.aboard({spec.name, node.bootId, node.log});
  }
  driver_.start(node.kubelet);
  for (const auto& loop : node.aboard) {
    driver_.start(loop);
  }
  nodes_.insert_or_assign(spec.name, std::move(node));
  return {};
}

// What programs on the node find where the kernel would show it.
Result<> Cluster::prepareFiles(const NodeSpec& spec, Node& node) const {
  std::error_code notMade;  // then the next write fails, and says where
  std::filesystem::create_directories(options_.folder + "/nodes/" + spec.name, notMade);
  MAINSTAY_TRY(RealFileSystem().write(bootIdPath(spec.name), node.bootId + "\n"));
  MAINSTAY_ASSIGN(node.socket, KernelLogSocket::listen(kernelLogPath(spec.name), node.log));
  return {};
}

std::unique_ptr<PodRuntime> Cluster::makeRuntime(const std::string& node) const {
  if (options_.folder.empty()) {
    return std::make_unique<ModelRuntime>(options_.script);
  }
  return std::make_unique<ProcessRuntime>(podRoot(node), options_.images);
}

Result<> Cluster::killNode(const std::string& name) {
  Node dying;
  {
    std::lock_guard lock(mutex_);
    const auto entry = nodes_.find(name);
    if (entry == nodes_.end()) {
      return noSuchNode(name);
    }
    dying = std::move(entry->second);
    entry->second.spec = dying.spec;
    entry->second.bootId = dying.bootId;
    entry->second.log = dying.log;
    entry->second.silent = false;
  }
  halt(std::move(dying));
  return {};
}

// Without the lock: stopping a loop waits for its present step.
void Cluster::halt(Node node) {
  for (const auto& loop : node.aboard) {
    driver_.stop(*loop);
  }
  if (node.kubelet) {
    driver_.stop(*node.kubelet);
  }
  node.kubelet.reset();  // kills its containers
  node.log->close();
}

Result<> Cluster::silenceKubelet(const std::string& name) {
  std::shared_ptr<Kubelet> kubelet;
  {
    std::lock_guard lock(mutex_);
    const auto entry = nodes_.find(name);
    if (entry == nodes_.end()) {
      return noSuchNode(name);
    }
    if (!entry->second.kubelet || entry->second.silent) {
      return {};
    }
    entry->second.silent = true;
    kubelet = entry->second.kubelet;
  }
  driver_.stop(*kubelet);
  return {};
}

Result<> Cluster::reportNotReady(const std::string& name, bool notReady) {
  std::lock_guard lock(mutex_);
  const auto entry = nodes_.find(name);
  if (entry == nodes_.end() || !entry->second.kubelet) {
    return noSuchNode(name);
  }
  entry->second.kubelet->reportNotReady(notReady);
  return {};
}

Result<> Cluster::returnNode(const std::string& name) {
  NodeSpec spec;
  {
    std::lock_guard lock(mutex_);
    const auto entry = nodes_.find(name);
    if (entry == nodes_.end()) {
      return noSuchNode(name);
    }
    if (entry->second.silent) {
      entry->second.silent = false;
      driver_.start(entry->second.kubelet);
      return {};
    }
    spec = entry->second.spec;
  }
  return boot(spec);
}

Result<> Cluster::writeKernelLog(const std::string& name, const std::string& text) {
  const auto log = kernelLog(name);
  if (!log) {
    return noSuchNode(name);
  }
  Result<> written = log->write(text.ends_with('\n') ? text : text + "\n", clock_.now());
  return written ? written : fail(std::move(written).error().with("node " + name));
}

std::shared_ptr<KernelRing> Cluster::kernelLog(const std::string& name) const {
  std::lock_guard lock(mutex_);
  const auto entry = nodes_.find(name);
  return entry == nodes_.end() ? nullptr : entry->second.log;
}

std::string Cluster::kernelLogPath(const std::string& node) const {
  return options_.folder + "/nodes/" + node + "/kmsg";
}

std::string Cluster::bootIdPath(const std::string& node) const {
  return options_.folder + "/nodes/" + node + "/boot_id";
}

std::vector<Cluster::NodeState> Cluster::nodes() const {
  std::lock_guard lock(mutex_);
  std::vector<NodeState> states;
  for (const auto& [name, node] : nodes_) {
    states.push_back({name, node.spec.providerId, node.bootId, node.kubelet != nullptr,
                      node.kubelet != nullptr && !node.silent});
  }
  return states;
}

std::string Cluster::nextNodeName() {
  std::lock_guard lock(mutex_);
  while (namesUsed_ < options_.nodeNames.size()) {
    if (const std::string& name = options_.nodeNames[namesUsed_++]; !nodes_.contains(name)) {
      return name;
    }
  }
  std::size_t serial = 0;
  while (nodes_.contains(letteredName(serial))) {
    ++serial;
  }
  return letteredName(serial);
}

// A random UUID, from the seed. REQUIRES: mutex_ held.
std::string Cluster::newBootId() {
  std::array<char, 37> text{};
  const std::uint64_t high = random_();
  const std::uint64_t low = random_();
  std::snprintf(text.data(), text.size(), "%08x-%04x-4%03x-%04x-%012llx", static_cast<unsigned>(high >> 32),
                static_cast<unsigned>(high >> 16 & 0xFFFF), static_cast<unsigned>(high & 0xFFF),
                static_cast<unsigned>(0x8000 | (low >> 48 & 0x3FFF)),
                static_cast<unsigned long long>(low & 0xFFFFFFFFFFFF));
  return text.data();
}

Result<LogSource::Chunk> Cluster::read(const Json& pod, const std::string& container, bool previous,
                                       std::uint64_t offset) {
  const std::string name = findString(pod, "spec", "nodeName");
  if (options_.folder.empty()) {
    return Chunk{.text = "", .next = offset, .ended = true};
  }
  {
    std::lock_guard lock(mutex_);
    const auto entry = nodes_.find(name);
    if (entry == nodes_.end() || !entry->second.kubelet || entry->second.silent) {
      return fail(Code::kUnavailable, "the kubelet of node " + name + " does not answer");
    }
  }
  return readProcessLog(podRoot(name), pod, container, previous, offset);
}

}  // namespace mainstay::local
