#include "local/cluster/pytorch_pods.h"

#include <algorithm>
#include <charconv>

#include "api/names.h"
#include "local/api/json_access.h"

namespace mainstay::local {
namespace {

constexpr char kOperatorNameLabel[] = "training.kubeflow.org/operator-name";
constexpr char kReplicaTypeLabel[] = "training.kubeflow.org/replica-type";
constexpr char kReplicaIndexLabel[] = "training.kubeflow.org/replica-index";
constexpr char kJobRoleLabel[] = "training.kubeflow.org/job-role";
constexpr char kOperatorName[] = "pytorchjob-controller";
constexpr char kMainContainer[] = "pytorch";
constexpr char kPortName[] = "pytorchjob-port";
constexpr int kDefaultPort = 23456;

std::string jobName(const Json& job) {
  return findString(job, "metadata", "name");
}

int numberIn(std::string_view text, int fallback) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : fallback;
}

const Json* mainContainer(const ReplicaSpec& replica) {
  for (const Json& container : arrayAt(replica.podTemplate, "spec", "containers")) {
    if (findString(container, "name") == kMainContainer) {
      return &container;
    }
  }
  return nullptr;
}

int portOf(const ReplicaSpec& replica) {
  for (const Json& port : arrayAt(*mainContainer(replica), "ports")) {
    if (findString(port, "name") == kPortName) {
      return static_cast<int>(integerAt(port, "containerPort").value_or(kDefaultPort));
    }
  }
  return kDefaultPort;
}

JsonObject labelsOf(const Json& job, const ReplicaSpec& replica, int index) {
  return {{kOperatorNameLabel, kOperatorName},
          {api::kTrainingJobNameLabel, jobName(job)},
          {kReplicaTypeLabel, replica.label},
          {kReplicaIndexLabel, std::to_string(index)}};
}

JsonObject replicaMetadata(const Json& job, const ReplicaSpec& replica, int index, JsonObject labels) {
  return {{"name", replicaPodName(job, replica, index)},
          {"namespace", findString(job, "metadata", "namespace")},
          {"labels", std::move(labels)},
          {"ownerReferences", JsonArray{{{"apiVersion", "kubeflow.org/v1"},
                                         {"kind", "PyTorchJob"},
                                         {"name", jobName(job)},
                                         {"uid", findString(job, "metadata", "uid")},
                                         {"controller", true},
                                         {"blockOwnerDeletion", true}}}}};
}

JsonArray withMainPort(const Json& container) {
  JsonArray ports = arrayAt(container, "ports");
  const auto isOurs = [](const Json& port) { return findString(port, "name") == kPortName; };
  if (std::ranges::none_of(ports, isOurs)) {
    ports.push_back({{"name", kPortName}, {"containerPort", kDefaultPort}, {"protocol", "TCP"}});
  }
  return ports;
}

// What torchrun and torch.distributed read, appended to the container's own.
JsonArray environmentOf(const Json& container, const Json& job, const std::vector<ReplicaSpec>& replicas,
                        const ReplicaSpec& replica, int index) {
  int total = 0;
  for (const ReplicaSpec& each : replicas) {
    total += each.count;
  }
  std::string perNode = findString(job, "spec", "nprocPerNode");
  perNode = perNode.empty() ? "auto" : perNode;
  JsonArray env = arrayAt(container, "env");
  const auto set = [&](const char* name, const std::string& value) {
    env.push_back({{"name", name}, {"value", value}});
  };
  set("PYTHONUNBUFFERED", "1");
  if (const ReplicaSpec& master = replicas.front(); master.label == "master") {
    const std::string rank = std::to_string(replica.label == "worker" ? index + 1 : index);
    set("MASTER_PORT", std::to_string(portOf(master)));
    set("PET_MASTER_PORT", std::to_string(portOf(master)));
    set("MASTER_ADDR", replicaPodName(job, master, 0));
    set("PET_MASTER_ADDR", replicaPodName(job, master, 0));
    set("WORLD_SIZE", std::to_string(total * numberIn(perNode, 1)));  // "auto" and the like count as one
    set("RANK", rank);
    set("PET_NODE_RANK", rank);
  }
  set("PET_NPROC_PER_NODE", perNode);
  set("PET_NNODES", std::to_string(total));
  return env;
}

}  // namespace

std::vector<ReplicaSpec> readReplicaSpecs(const Json& job) {
  std::vector<ReplicaSpec> replicas;
  for (const auto& [type, spec] : objectAt(job, "spec", "pytorchReplicaSpecs")) {
    ReplicaSpec& replica = replicas.emplace_back();
    replica.type = type;
    std::ranges::transform(replica.type, std::back_inserter(replica.label),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    replica.count = static_cast<int>(integerAt(spec, "replicas").value_or(1));
    if (const std::string policy = findString(spec, "restartPolicy"); !policy.empty()) {
      replica.restartPolicy = policy;
    }
    replica.podTemplate = objectAt(spec, "template");
  }
  std::ranges::sort(replicas, {}, &ReplicaSpec::label);  // "master" before "worker"
  return replicas;
}

std::string checkReplicaSpecs(const Json& job, const std::vector<ReplicaSpec>& replicas) {
  if (replicas.empty()) {
    return "PyTorchJob " + jobName(job) + " has no spec.pytorchReplicaSpecs";
  }
  for (const ReplicaSpec& replica : replicas) {
    if (replica.label != "master" && replica.label != "worker") {
      return "PyTorchReplicaType is " + replica.type + " but must be one of [Master Worker]";
    }
    if (!mainContainer(replica)) {
      return "There is no container named pytorch in " + replica.type;
    }
    const JsonArray& containers = arrayAt(replica.podTemplate, "spec", "containers");
    if (!std::ranges::all_of(containers, [](const Json& container) { return container.is_object(); })) {
      return "A container of " + replica.type + " is not an object";
    }
  }
  return "";
}

std::string replicaPodName(const Json& job, const ReplicaSpec& replica, int index) {
  return jobName(job) + "-" + replica.label + "-" + std::to_string(index);
}

Json replicaPod(const Json& job, const std::vector<ReplicaSpec>& replicas, const ReplicaSpec& replica,
                int index) {
  JsonObject labels = objectAt(replica.podTemplate, "metadata", "labels");
  for (const auto& [key, value] : labelsOf(job, replica, index)) {
    labels[key] = value;
  }
  if (replica.label == "master") {
    labels[kJobRoleLabel] = "master";
  }
  JsonObject metadata = replicaMetadata(job, replica, index, std::move(labels));
  metadata["annotations"] = objectAt(replica.podTemplate, "metadata", "annotations");
  JsonObject spec = objectAt(replica.podTemplate, "spec");
  // ExitCode is the operator's own: a pod knows nothing of it, and is not restarted in place.
  spec["restartPolicy"] = replica.restartPolicy == "ExitCode" ? "Never" : replica.restartPolicy;
  for (Json& container : spec["containers"].get_array()) {
    JsonArray environment = environmentOf(container, job, replicas, replica, index);
    container.get_object()["env"] = std::move(environment);
    if (findString(container, "name") == kMainContainer) {
      container.get_object()["ports"] = withMainPort(container);
    }
  }
  return {
      {"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", std::move(metadata)}, {"spec", std::move(spec)}};
}

Json replicaService(const Json& job, const ReplicaSpec& replica, int index) {
  const JsonObject labels = labelsOf(job, replica, index);
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", replicaMetadata(job, replica, index, labels)},
          {"spec",
           {{"clusterIP", "None"},
            {"selector", labels},
            {"ports", JsonArray{{{"name", kPortName}, {"port", portOf(replica)}}}}}}};
}

std::string replicaSelector(const Json& job, const ReplicaSpec& replica) {
  return std::string(api::kTrainingJobNameLabel) + "=" + jobName(job) + "," + kOperatorNameLabel + "=" +
         kOperatorName + "," + kReplicaTypeLabel + "=" + replica.label;
}

std::string replicaLabelOf(const Json& pod) {
  return findString(pod, "metadata", "labels", kReplicaTypeLabel);
}

int replicaIndexOf(const Json& pod) {
  return numberIn(findString(pod, "metadata", "labels", kReplicaIndexLabel), -1);
}

std::optional<std::int64_t> exitCodeOf(const Json& pod) {
  for (const Json& container : arrayAt(pod, "status", "containerStatuses")) {
    if (findString(container, "name") == kMainContainer) {
      return integerAt(container, "state", "terminated", "exitCode");
    }
  }
  return std::nullopt;
}

}  // namespace mainstay::local
