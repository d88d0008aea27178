// For tests of the actors: a cluster in virtual time with three nodes (node-a, node-b, node-c) of 16 neuron devices in one
// group, and short ways to ask it.
#pragma once

#include <gtest/gtest.h>

#include "base/file_system.h"
#include "base/yaml.h"
#include "local/api/json_access.h"
#include "local/cluster/cluster.h"
#include "local/cluster/conditions.h"
#include "local/cluster/objects.h"

namespace mainstay::local {

inline std::vector<Json> readObjects(const std::string& path) {
  std::vector<Json> objects;
  const auto text = RealFileSystem().read(std::string(MAINSTAY_SOURCE_DIR) + "/" + path, 1 << 20);
  const auto documents = parseYaml(text.value(), path).value();
  for (const YamlDocument& document : documents) {
    objects.push_back(document.value);
  }
  return objects;
}

inline Json yaml(std::string_view text) {
  return parseYaml(text, "test").value().at(0).value;
}

inline GroupOptions threeWorkers() {
  GroupOptions workers{.name = "workers", .min = 0, .max = 5, .desired = 3};
  workers.launch.allocatable = {{"cpu", "8"}, {"pods", "110"}, {"aws.amazon.com/neuron", "16"}};
  return workers;
}

class ClusterTest : public testing::Test {
 protected:
  static constexpr Duration kSecond = std::chrono::seconds(1);

  ClusterTest() {
    options_.cloud.groups = {threeWorkers()};
    options_.http = false;
    options_.objects = readObjects("examples/crds/pytorchjobs.yaml");
  }

  // Starts it and lets the nodes join.
  void start() {
    cluster_ = Cluster::start(options_, time_, time_).value();
    pass(3 * kSecond);
  }
  void pass(Duration span) { ASSERT_TRUE(time_.runUntil(time_.now() + span)); }

  kube::Api& api() { return cluster_->api(); }
  Json create(std::string_view text) {
    auto created = createObject(api(), yaml(text), "test");
    EXPECT_TRUE(created) << (created ? "" : created.error().toString());
    return created ? *std::move(created) : Json();
  }
  // null when it is not there.
  Json node(const std::string& name) { return kube::get(api(), api::kNodes, "", name).value_or(Json()); }
  Json pod(const std::string& name) { return kube::get(api(), api::kPods, "default", name).value_or(Json()); }
  Json job(const std::string& name) {
    return kube::get(api(), api::kPyTorchJobs, "default", name).value_or(Json());
  }
  std::string phase(const std::string& podName) { return findString(pod(podName), "status", "phase"); }
  // "status reason" of a condition; "" when there is none.
  static std::string condition(const Json& object, std::string_view type) {
    for (const Json& each : arrayAt(object, "status", "conditions")) {
      if (findString(each, "type") == type) {
        return findString(each, "status") + " " + findString(each, "reason");
      }
    }
    return "";
  }
  std::vector<std::string> podNames(const std::string& ns = "default") {
    std::vector<std::string> names;
    const kube::ObjectList pods = kube::list(api(), api::kPods, ns).value();
    for (const Json& each : pods.items) {
      names.push_back(findString(each, "metadata", "name"));
    }
    return names;
  }
  void patchJob(const std::string& name, const Json& patch) {
    ASSERT_TRUE(
        kube::patch(api(), api::kPyTorchJobs, "default", name, kube::Body::kMergePatch, patch, "test"));
  }

  ClusterOptions options_;
  VirtualDriver time_{TimePoint(std::chrono::hours(24 * 365 * 50)), 1};
  std::unique_ptr<Cluster> cluster_;
};

}  // namespace mainstay::local
