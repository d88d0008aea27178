#include "cli/demo_cluster.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "api/names.h"
#include "base/yaml.h"
#include "local/assets.h"

namespace mainstay::cli {

namespace {

using namespace std::chrono_literals;

constexpr char kSystemNamespace[] = "mainstay-system";
// Milliseconds that a training step takes: slow enough that the group is stopped long before its last step.
constexpr char kPace[] = "50";

// Every document of a YAML file that travels inside the program.
Result<std::vector<Json>> documents(std::string_view asset) {
  const auto at = local::assets().find(asset);
  if (at == local::assets().end()) {
    return fail(Code::kInternal, std::string(asset) + " is not part of this program");
  }
  MAINSTAY_ASSIGN(auto parsed, parseYaml(at->second, std::string(asset)));
  std::vector<Json> values;
  for (YamlDocument& document : parsed) {
    values.push_back(std::move(document.value));
  }
  return values;
}

Json namespaceObject(const std::string& name) {
  return JsonObject{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", JsonObject{{"name", name}}}};
}

Json stringArray(const std::vector<std::string>& texts) {
  JsonArray array;
  for (const std::string& text : texts) {
    array.push_back(Json(text));
  }
  return array;
}

// One write per line: a record of the kernel log is what one write holds.
Result<> writeDevice(const std::string& path, const std::string& text) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return fail(Code::kPermissionDenied, "cannot open " + path + " for writing: " + std::strerror(errno));
  }
  const bool written = write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(descriptor);
  return written ? Result<>() : fail(Code::kInternal, "writing to " + path + ": " + std::strerror(errno));
}

}  // namespace

DemoCluster::DemoCluster(const DemoOptions& options, const Clock& clock)
    : options_(options), clock_(clock), folder_("mainstay-demo"), driver_(clock) {}

Result<std::unique_ptr<DemoCluster>> DemoCluster::start(const DemoOptions& options, const Clock& clock) {
  std::unique_ptr<DemoCluster> demo(new DemoCluster(options, clock));
  MAINSTAY_TRY(demo->readJob());
  MAINSTAY_TRY(demo->open());
  if (options.controller) {
    MAINSTAY_TRY(demo->startController());
  }
  return demo;
}

Result<> DemoCluster::readJob() {
  MAINSTAY_ASSIGN(auto objects, documents("examples/llama-mini.yaml"));
  jobObject_ = objects.at(0);
  jobName_ = findString(jobObject_, "metadata", "name");
  DecodeErrors errors("examples/llama-mini.yaml");
  const Cursor replicas = Cursor(jobObject_, errors).at("spec").at("pytorchReplicaSpecs");
  for (const char* role : {"Master", "Worker"}) {
    ranks_ += static_cast<int>(replicas.at(role).at("replicas").integer());
    Json& spec = jobObject_.at_pointer("/spec/pytorchReplicaSpecs/" + std::string(role) +
                                       "/template/spec/containers/0/env");
    spec.as_array().push_back(JsonObject{{"name", "TRAINER_STEP_MILLIS"}, {"value", kPace}});
  }
  const Cursor container =
      replicas.at("Master").at("template").at("spec").at("containers").at(std::size_t{0});
  for (const Cursor& argument : container.at("args").elements()) {
    trainerArguments_.push_back(argument.string());
  }
  return errors.result();
}

Result<> DemoCluster::open() {
  const std::string rules = folder_.path() + "/neuron-monitor.json";
  MAINSTAY_TRY(RealFileSystem().write(rules, local::assets().at("rules/neuron/kernel-monitor.json")));

  local::ClusterOptions cluster;
  cluster.folder = folder_.path();
  cluster.cloud.launchDelay = options_.launchDelay;
  local::GroupOptions workers{kWorkerGroup, 0, 4, 3, {}};
  workers.launch.allocatable = {
      {"cpu", "128"}, {"memory", "512Gi"}, {"pods", "110"}, {"aws.amazon.com/neuron", "16"}};
  cluster.cloud.groups = {workers};
  cluster.images = {{"mainstay/trainer:0.1", {options_.programs + "/mainstay-trainer"}},
                    {"mainstay/agent:0.1", {options_.programs + "/mainstay-agent"}}};
  cluster.objects = {namespaceObject(kSystemNamespace), namespaceObject("kubeflow")};
  for (const char* asset : {"deploy/crds/recoverypolicies.yaml", "deploy/crds/noderecoveries.yaml",
                            "examples/crds/pytorchjobs.yaml", "examples/policy.yaml"}) {
    MAINSTAY_ASSIGN(auto objects, documents(asset));
    cluster.objects.insert(cluster.objects.end(), objects.begin(), objects.end());
  }
  MAINSTAY_ASSIGN(cluster_, local::Cluster::start(std::move(cluster), driver_, clock_));
  MAINSTAY_TRY(kube::create(api(), api::Resource{"apps", "v1", "daemonsets", "DaemonSet", true},
                            kSystemNamespace, agentDaemonSet(), api::kCliManager));
  return {};
}

// The agents' DaemonSet. Where a real one mounts /dev/kmsg, these are told the node's stand-in.
Json DemoCluster::agentDaemonSet() const {
  std::string kmsg = folder_.path() + "/nodes/$(NODE_NAME)/kmsg";
  if (!options_.kmsg.empty()) {
    // One node reads the real device: a link for each node that may come, because their pods have one
    // template.
    const std::string links = folder_.path() + "/kmsg";
    std::filesystem::create_directories(links);
    for (const char letter : std::string_view("abcdefgh")) {
      const std::string node = std::string("node-") + letter;
      std::filesystem::create_symlink(node == "node-b" ? options_.kmsg : cluster_->kernelLogPath(node),
                                      links + "/" + node);
    }
    kmsg = links + "/$(NODE_NAME)";
  }
  const Json environment = JsonArray{
      JsonObject{{"name", "NODE_NAME"},
                 {"valueFrom", JsonObject{{"fieldRef", JsonObject{{"fieldPath", "spec.nodeName"}}}}}}};
  const Json arguments = stringArray(
      {"--config.system-log-monitor=" + folder_.path() + "/neuron-monitor.json",
       "--kubeconfig=" + cluster_->kubeconfig(), "--kmsg-path=" + kmsg,
       "--boot-id-path=" + cluster_->bootIdPath("$(NODE_NAME)"), "--port=0", "--prometheus-port=0"});
  const Json container = JsonObject{
      {"name", "mainstay-agent"}, {"image", "mainstay/agent:0.1"}, {"args", arguments}, {"env", environment}};
  const Json labels = JsonObject{{"app", "mainstay-agent"}};
  return JsonObject{
      {"apiVersion", "apps/v1"},
      {"kind", "DaemonSet"},
      {"metadata",
       JsonObject{{"name", "mainstay-agent"}, {"namespace", kSystemNamespace}, {"labels", labels}}},
      {"spec",
       JsonObject{{"selector", JsonObject{{"matchLabels", labels}}},
                  {"template", JsonObject{{"metadata", JsonObject{{"labels", labels}}},
                                          {"spec", JsonObject{{"containers", JsonArray{container}}}}}}}}};
}

Result<> DemoCluster::startController() {
  Command command;
  command.arguments = {options_.programs + "/mainstay-controller", "--kubeconfig=" + kubeconfig(),
                       "--local-cloud=" + cluster_->url(), "--metrics-port=0"};
  command.environment = safeEnvironment();
  command.outputFile = folder_.path() + "/controller.log";
  auto started = Subprocess::start(command);
  if (!started) {
    return fail(std::move(started).error().with("starting the controller"));
  }
  controller_ = std::move(*started);
  return {};
}

Result<> DemoCluster::submitJob() {
  MAINSTAY_TRY(kube::create(api(), api::kPyTorchJobs, findString(jobObject_, "metadata", "namespace"),
                            jobObject_, api::kCliManager));
  return {};
}

Result<> DemoCluster::writeFault(const std::string& node, const std::string& line) {
  if (options_.kmsg.empty()) {
    return cluster_->writeKernelLog(node, "<3>" + line);
  }
  return writeDevice(options_.kmsg, "<4>" + line + "\n");
}

Result<> DemoCluster::checkPrograms() {
  const auto ended = controller_ ? controller_->poll() : std::nullopt;
  if (!ended) {
    return {};
  }
  folder_.keep();
  return fail(Code::kInternal, "the controller ended with code " + std::to_string(ended->code) +
                                   "; its log is " + folder_.path() + "/controller.log");
}

}  // namespace mainstay::cli
