// TestCluster: the mini job on three nodes behind a TestApi, with a training operator that obeys suspend.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/names.h"
#include "jobs/resume_state.h"
#include "jobs/test_api.h"

namespace mainstay::jobs {

inline constexpr char kKubeflow[] = "kubeflow";

class TestCluster {
 public:
  TestCluster() {
    for (const char* name : {"a", "b", "c"}) {
      addNode(name);
    }
    api.put(api::kRecoveryPolicies, "", "default",
            json(R"({"spec": {"nodes": {}, "mode": "Enforce", "provider": "local"}})"));
    api.put(api::kPyTorchJobs, kKubeflow, "mini", json(R"({
      "metadata": {"annotations": {"sagemaker.amazonaws.com/enable-job-auto-resume": "true",
                                   "sagemaker.amazonaws.com/job-max-retry-count": "2"}},
      "spec": {"runPolicy": {"suspend": false}, "pytorchReplicaSpecs": {
        "Master": {"replicas": 1, "template": {"spec": {"containers": [{"resources": {"limits": {"n": 1}}}]}}},
        "Worker": {"replicas": 2, "template": {"spec": {"containers": [{"resources": {"limits": {"n": 1}}}]}}}}}})"));
    runOperator();
  }

  static Json json(std::string_view text) { return parseJson(text).value(); }

  void addNode(const std::string& name) {
    api.put(api::kNodes, "", name, json(R"({
      "metadata": {"labels": {"sagemaker.amazonaws.com/node-health-status": "Schedulable"}},
      "status": {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"n": "1", "pods": "10"}}})"));
    nodes_.push_back(name);
  }
  // An incident that has taken the node out of service.
  void openIncident(const std::string& name, const std::string& node) {
    api.change(api::kNodes, "", node, json(R"({"spec": {"unschedulable": true}})"));
    Json incident = json(
        R"({"spec": {"policy": "default"}, "status": {"phase": "Isolated", "mode": "Enforce", "fault": "F"}})");
    incident.as_object()["spec"].as_object()["node"] = JsonObject{{"name", node}, {"uid", node + "-uid"}};
    api.put(api::kNodeRecoveries, "", name, std::move(incident));
  }
  void closeIncident(const std::string& name, const std::string& node) {
    api.change(api::kNodes, "", node, json(R"({"spec": {"unschedulable": null}})"));
    api.change(api::kNodeRecoveries, "", name, json(R"({"status": {"phase": "Resolved"}})"));
  }
  void suspend(bool on) {
    api.change(api::kPyTorchJobs, kKubeflow, "mini",
               JsonObject{{"spec", JsonObject{{"runPolicy", JsonObject{{"suspend", on}}}}}});
  }
  void setMode(const std::string& mode) {
    api.change(api::kRecoveryPolicies, "", "default", JsonObject{{"spec", JsonObject{{"mode", mode}}}});
  }

  // The training operator and the scheduler in one: no pods while suspended or finished, else a node for
  // each.
  void runOperator() {
    if (suspended() || finished()) {
      while (!pods_.empty()) {
        removePod(pods_.begin()->first);
      }
      return;
    }
    for (int rank = 0; rank < 3; ++rank) {
      const std::string name = podName(rank);
      const std::string node = freeNode();
      if (!pods_.contains(name) && !node.empty()) {
        addPod(name, rank, node);
      }
    }
  }
  void removePod(const std::string& name) {
    api.erase(api::kPods, kKubeflow, name);
    pods_.erase(name);
  }

  const Json& job() const { return api.at(api::kPyTorchJobs, kKubeflow, "mini"); }
  bool suspended() const {
    const Json* suspend = find(job(), "spec", "runPolicy", "suspend");
    return suspend && suspend->is_bool() && suspend->get_bool();
  }
  bool finished() const {
    const std::string status = toText(find(job(), "status") ? *find(job(), "status") : Json());
    return status.find("\"completionTime\"") != std::string::npos;
  }
  bool touched() const { return !annotation().empty(); }
  ResumeState state() const { return decodeResume(annotation()).value(); }
  // Pod name -> node.
  const std::map<std::string, std::string>& pods() const { return pods_; }
  const std::vector<std::string>& nodes() const { return nodes_; }

  TestApi api;

 private:
  std::string annotation() const {
    return findString(job(), "metadata", "annotations", api::kResumeAnnotation);
  }
  static std::string podName(int rank) {
    return rank == 0 ? "mini-master-0" : "mini-worker-" + std::to_string(rank - 1);
  }
  void addPod(const std::string& name, int rank, const std::string& node) {
    Json pod = json(R"({"metadata": {"ownerReferences": [
      {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "mini", "uid": "mini-uid", "controller": true}]},
      "spec": {"containers": [{"resources": {"limits": {"n": 1}}}]}, "status": {"phase": "Running"}})");
    pod.as_object()["spec"].as_object()["nodeName"] = node;
    pod.as_object()["metadata"].as_object()["labels"] =
        JsonObject{{api::kReplicaTypeLabel, rank == 0 ? "master" : "worker"},
                   {api::kReplicaIndexLabel, std::to_string(rank == 0 ? 0 : rank - 1)}};
    api.put(api::kPods, kKubeflow, name, std::move(pod));
    pods_[name] = node;
  }
  std::string freeNode() const {
    for (const std::string& node : nodes_) {
      const Json* cordoned = find(api.at(api::kNodes, "", node), "spec", "unschedulable");
      const bool taken = std::ranges::any_of(pods_, [&](const auto& pod) { return pod.second == node; });
      if (!taken && !(cordoned && cordoned->is_bool() && cordoned->get_bool())) {
        return node;
      }
    }
    return "";
  }

  std::vector<std::string> nodes_;
  std::map<std::string, std::string> pods_;
};

}  // namespace mainstay::jobs
