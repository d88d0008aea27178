// The pods and headless Services of a PyTorchJob, as the Kubeflow training operator (v1.8) names, labels and
// equips them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace mainstay::local {

struct ReplicaSpec {
  std::string type;   // "Master", "Worker"
  std::string label;  // "master", "worker"
  int count = 1;
  std::string restartPolicy = "OnFailure";
  Json podTemplate;
};

// spec.pytorchReplicaSpecs, the master first.
std::vector<ReplicaSpec> readReplicaSpecs(const Json& job);
// What is wrong with them; "" = nothing. REQUIRED of all functions below: nothing.
std::string checkReplicaSpecs(const Json& job, const std::vector<ReplicaSpec>& replicas);

std::string replicaPodName(const Json& job, const ReplicaSpec& replica, int index);
Json replicaPod(const Json& job, const std::vector<ReplicaSpec>& replicas, const ReplicaSpec& replica,
                int index);
Json replicaService(const Json& job, const ReplicaSpec& replica, int index);
// The text of replicaStatuses' selector.
std::string replicaSelector(const Json& job, const ReplicaSpec& replica);
// "master", "worker", and the index, from a pod's labels; -1 when it has none.
std::string replicaLabelOf(const Json& pod);
int replicaIndexOf(const Json& pod);
// Exit code of a pod's training container; nullopt while it runs, or when it never came to exit.
std::optional<std::int64_t> exitCodeOf(const Json& pod);

}  // namespace mainstay::local
