// World: a small fleet with training jobs, built in a few words, for the tests of this folder.
#pragma once

#include <string>
#include <vector>

#include "api/names.h"
#include "jobs/planner.h"
#include "jobs/pytorch_job_adapter.h"

namespace mainstay::jobs {

inline constexpr TimePoint kNoon{std::chrono::hours(12)};
inline constexpr char kNeuron[] = "aws.amazon.com/neuron";

class World {
 public:
  // A healthy node with 16 devices.
  api::Node& addNode(const std::string& name) {
    auto node = std::make_shared<api::Node>();
    node->meta.name = name;
    node->meta.uid = name + "-uid";
    node->meta.labels = {{api::kHealthStatusLabel, api::kSchedulable}};
    node->conditions = {{.type = "Ready", .status = "True", .reason = "", .message = ""}};
    node->allocatable = {{kNeuron, 16000}, {"pods", 110000}};
    nodes[name] = node;
    return *node;
  }
  // The mini job: Master 1, Worker 2, each pod a whole node.
  Job& addJob(const std::string& name, const std::string& maxRetries = "2") {
    auto job = std::make_shared<Job>();
    job->meta.name = name;
    job->meta.ns = "kubeflow";
    job->meta.uid = name + "-uid";
    job->meta.resourceVersion = "1";
    job->meta.annotations = {{api::kAutoResumeAnnotation, "true"}, {api::kMaxRetryAnnotation, maxRetries}};
    api::Pod pod;
    pod.requests = {{kNeuron, 16000}, {"pods", 1000}};
    pod.nodeAffinity.nodeSelector = {{api::kHealthStatusLabel, api::kSchedulable}};
    job->replicas = {{"Master", 1, "OnFailure", pod}, {"Worker", 2, "OnFailure", pod}};
    jobs["kubeflow/" + name] = job;
    return *job;
  }
  // Rank 0 is the master; `node` "" = pending.
  api::Pod& addPod(const std::string& job, int rank, const std::string& node) {
    const bool master = rank == 0;
    const std::string index = std::to_string(master ? 0 : rank - 1);
    auto pod = std::make_shared<api::Pod>();
    pod->meta.name = job + (master ? "-master-" : "-worker-") + index;
    pod->meta.ns = "kubeflow";
    pod->meta.labels = {{api::kReplicaTypeLabel, master ? "master" : "worker"},
                        {api::kReplicaIndexLabel, index}};
    pod->meta.owners = {{"kubeflow.org/v1", "PyTorchJob", job, job + "-uid", true}};
    pod->nodeName = node;
    pod->phase = node.empty() ? "Pending" : "Running";
    pod->requests = {{kNeuron, 16000}, {"pods", 1000}};
    pods[pod->meta.key()] = pod;
    return *pod;
  }
  api::RecoveryPolicy& addPolicy(const std::string& name = "default") {
    auto policy = std::make_shared<api::RecoveryPolicy>();
    policy->meta.name = name;
    policy->mode = api::Mode::kEnforce;
    policies[name] = policy;
    return *policy;
  }
  api::NodeRecovery& addIncident(const std::string& name, const std::string& node,
                                 api::Phase phase = api::Phase::kIsolated) {
    auto incident = std::make_shared<api::NodeRecovery>();
    incident->meta.name = name;
    incident->node.name = node;
    incident->node.uid = node + "-uid";
    incident->policy = "default";
    incident->status.phase = phase;
    incident->status.mode = api::Mode::kEnforce;
    incident->status.fault = "NeuronHasError_DMA_ERROR";
    recoveries[name] = incident;
    return *incident;
  }
  // Nodes a, b, c under an enforcing policy, with the job "mini" on them: rank 1 on b.
  void addMini() {
    addPolicy();
    addJob("mini");
    int rank = 0;
    for (const char* node : {"a", "b", "c"}) {
      addNode(node);
      addPod("mini", rank++, node);
    }
  }
  // What recovery does to the node of an incident.
  void isolate(const std::string& node) {
    auto isolated = std::make_shared<api::Node>(*nodes.at(node));
    isolated->unschedulable = true;
    isolated->meta.labels[api::kHealthStatusLabel] = api::kPendingReplacement;
    nodes[node] = isolated;
  }

  // Copies on write: earlier plans keep the job they saw.
  Job& job(const std::string& name) {
    auto& place = jobs.at("kubeflow/" + name);
    auto copy = std::make_shared<Job>(*place);
    place = copy;
    return *copy;
  }
  void annotate(const std::string& name, const ResumeState& state, bool suspended) {
    Job& changed = job(name);
    changed.meta.annotations[api::kResumeAnnotation] = encodeResume(state);
    changed.suspended = suspended;
  }
  ResumeState stateOf(const std::string& name) {
    return decodeResume(jobs.at("kubeflow/" + name)->meta.annotation(api::kResumeAnnotation)).value();
  }

  std::vector<Step> plan(TimePoint now = kNoon) const {
    return jobs::plan({nodes, pods, recoveries, policies, {{&adapter, &jobs}}}, now);
  }

  const PyTorchJobAdapter adapter;
  Objects<api::Node> nodes;
  Objects<api::Pod> pods;
  Objects<api::NodeRecovery> recoveries;
  Objects<api::RecoveryPolicy> policies;
  Objects<Job> jobs;
};

// The steps of one kind.
inline std::vector<Step> only(const std::vector<Step>& steps, Step::Kind kind) {
  std::vector<Step> found;
  for (const Step& step : steps) {
    if (step.kind == kind) {
      found.push_back(step);
    }
  }
  return found;
}
// The one Event or action with this reason; null when there is none.
inline const Step* withReason(const std::vector<Step>& steps, const std::string& reason) {
  for (const Step& step : steps) {
    if (step.reason == reason) {
      return &step;
    }
  }
  return nullptr;
}

}  // namespace mainstay::jobs
