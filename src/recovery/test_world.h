// For the tests of this folder: a small cluster and its cloud in memory, with the controller at work in it. Time is the
// test's.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "api/names.h"
#include "base/yaml.h"
#include "cloud/testing.h"
#include "fault/finding.h"
#include "kube/testing.h"
#include "recovery/controller.h"
#include "recovery/fake_api.h"

namespace mainstay::recovery {

// One Auto Scaling group. Unhealthy instances end after `endDelay`; the world launches others. Marks may come from
// several threads.
class FakeCloud final : public cloud::Provider {
 public:
  std::map<std::string, cloud::Instance> instances;  // by providerID
  std::vector<cloud::ScalingActivity> activities;    // newest first
  std::string obstacle;                              // what holds the group
  std::vector<std::string> marks;                    // providerIDs, in order
  std::optional<Error> trouble;                      // every call fails with it
  std::optional<Error> refusal;                      // markUnhealthy fails with it
  std::function<void(const std::string&)> onMark;
  int questions = 0;

  std::string name() const override { return "local"; }
  Result<std::optional<cloud::Instance>> describe(const std::string& providerId) override {
    ++questions;
    if (trouble) {
      return fail(*trouble);
    }
    const auto at = instances.find(providerId);
    return at == instances.end() ? std::nullopt : std::optional(at->second);
  }
  Result<cloud::Group> describeGroup(const std::string& group) override {
    if (trouble) {
      return fail(*trouble);
    }
    cloud::Group found;
    found.name = group;
    found.activities = activities;
    found.obstacle = obstacle;
    for (const auto& [id, instance] : instances) {
      if (instance.group == group) {
        found.instances.push_back(instance);
      }
    }
    return found;
  }
  Result<> markUnhealthy(const std::string& providerId, const std::string&) override {
    const std::lock_guard lock(mutex_);
    if (refusal) {
      return fail(*refusal);
    }
    const auto at = instances.find(providerId);
    if (at != instances.end() && at->second.healthy && !at->second.ending()) {
      at->second.healthy = false;
      marks.push_back(providerId);
      if (onMark) {
        onMark(providerId);
      }
    }
    return {};
  }
  Result<> markHealthy(const std::string& providerId) override {
    const auto at = instances.find(providerId);
    if (at == instances.end()) {
      return fail(Code::kNotFound, providerId + " does not exist");
    }
    at->second.healthy = true;
    return {};
  }

 private:
  std::mutex mutex_;
};

class World {
 public:
  static constexpr TimePoint kStart = TimePoint(std::chrono::seconds(1'800'000'000));
  static constexpr char kDma[] = "NeuronHasError_DMA_ERROR";

  World() {
    api.now = kStart;
    cloud.onMark = [this](const std::string& id) { replaceLater(id); };
    restart();
  }

  // --- The cluster ---
  void addNode(const std::string& name, const std::string& devices = "16") {
    const std::string id = "local:///zone/i-" + name;
    cloud.instances[id] = {"i-" + name, id, "workers", "InService", true, api.now};
    putNode(name, id, devices);
  }
  void putNode(const std::string& name, const std::string& providerId, const std::string& devices) {
    api.put(
        nodePath(name),
        JsonObject{{"metadata", JsonObject{{"name", name}, {"labels", JsonObject{{"pool", "trn"}}}}},
                   {"spec", JsonObject{{"providerID", providerId}}},
                   {"status",
                    JsonObject{{"allocatable", JsonObject{{"cpu", "8"}, {"aws.amazon.com/neuron", devices}}},
                               {"nodeInfo", JsonObject{{"bootID", "boot-" + std::to_string(++boots_)}}},
                               {"conditions", JsonArray()}}}});
    setCondition(name, "Ready", "True", "KubeletReady");
  }
  void addPod(const std::string& node, const std::string& name, Json metadata = JsonObject()) {
    JsonObject meta = metadata.as_object();
    meta["name"] = name;
    meta["namespace"] = "ns";
    api.put(podPath(name), JsonObject{{"metadata", std::move(meta)},
                                      {"spec", JsonObject{{"nodeName", node}}},
                                      {"status", JsonObject{{"phase", "Running"}}}});
  }
  // `spec`: YAML below spec:, in addition to nodes.
  void setPolicy(const std::string& spec, const std::string& name = "p") {
    const auto documents = parseYaml("nodes: {matchLabels: {pool: trn}}\n" + spec, name);
    const std::string path = api::kRecoveryPolicies.path("", name);
    if (Json* present = api.find(path)) {
      Json object = *present;
      object.as_object()["spec"] = documents.value().at(0).value;
      return api.put(path, std::move(object));
    }
    api.put(path,
            JsonObject{{"metadata", JsonObject{{"name", name}}}, {"spec", documents.value().at(0).value}});
  }
  void enforce(const std::string& more = "") { setPolicy("mode: Enforce\nprovider: local\n" + more); }

  void setCondition(const std::string& node, const std::string& type, const std::string& status,
                    const std::string& reason, const std::string& message = "") {
    Json object = *api.find(nodePath(node));
    JsonArray& conditions = object.as_object()["status"].as_object()["conditions"].as_array();
    const auto same = [&](const Json& condition) { return findString(condition, "type") == type; };
    conditions.erase(std::remove_if(conditions.begin(), conditions.end(), same), conditions.end());
    conditions.push_back(JsonObject{{"type", type},
                                    {"status", status},
                                    {"reason", reason},
                                    {"message", message},
                                    {"lastTransitionTime", formatTime(api.now)},
                                    {"lastHeartbeatTime", formatTime(api.now)}});
    api.put(nodePath(node), std::move(object));
  }
  // As the agent does: condition and finding in one write.
  void raiseFault(const std::string& node, const std::string& reason = kDma) {
    std::vector<fault::Finding> findings =
        fault::decodeFindings(nodeOf(node).meta.annotation(api::kFindingsAnnotation)).value();
    fault::Finding finding;
    finding.id = reason + "@3";
    finding.type = "NeuronHealth";
    finding.reason = reason;
    finding.device = "3";
    finding.action = fault::RepairAction::kReplace;
    finding.rule = "neuron.json#rules[0]";
    finding.instance = nodeOf(node).providerId;
    finding.first = finding.last = api.now;
    finding.line = "NEURON_HW_ERR=" + reason;
    findings.push_back(finding);
    annotate(node, api::kFindingsAnnotation, fault::encodeFindings(findings));
    setCondition(node, "NeuronHealth", "True", reason, finding.line);
  }
  void clearFault(const std::string& node) {
    setCondition(node, "NeuronHealth", "False", "NeuronHasNoError");
  }
  void annotate(const std::string& node, const std::string& key, const std::string& value) {
    api.edit(nodePath(node), JsonObject{{"metadata", JsonObject{{"annotations", JsonObject{{key, value}}}}}});
  }
  void label(const std::string& node, const std::string& value) {
    const Json change = value.empty() ? Json(nullptr) : Json(value);
    api.edit(nodePath(node),
             JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{api::kHealthStatusLabel, change}}}}}});
  }

  // --- Time ---
  // Steps the controller until it has nothing more to do before `span` is over.
  void run(Duration span = Duration{}) {
    const TimePoint end = api.now + span;
    for (int i = 0; i < 20000; ++i) {
      const TimePoint wake = controller_->step(api.now);
      finishPods();
      if (controller_->signal().take() || wake <= api.now) {
        continue;
      }
      const TimePoint next = std::min(wake, events_.empty() ? kNever : events_.begin()->first);
      if (next > end) {
        api.now = end;
        return;
      }
      api.now = std::max(api.now, next);
      playEvents();
    }
    ADD_FAILURE() << "the controller does not come to rest";
  }
  // A new process: nothing remembered but what is in Kubernetes. `crash`: where it ends.
  void restart(CrashPoint* crash = nullptr) {
    controller_.reset();
    kube::Api* door = &api;
    cloud::Provider* provider = &cloud;
    if (crash) {
      door = &crashingApi_.emplace(api, *crash);
      provider = &crashingCloud_.emplace(cloud, *crash);
    }
    controller_ = std::make_unique<Controller>(
        *door, Providers{{"local", provider}}, "host",
        [this, crash] { return leading && !(crash && crash->dead()); }, metrics, concurrency);
  }
  void after(Duration span, std::function<void()> what) { events_.emplace(api.now + span, std::move(what)); }

  // --- What is there ---
  api::Node nodeOf(const std::string& name) { return api::decodeNode(*api.find(nodePath(name))).value(); }
  bool hasNode(const std::string& name) { return api.find(nodePath(name)) != nullptr; }
  std::string healthOf(const std::string& name) { return nodeOf(name).meta.label(api::kHealthStatusLabel); }
  bool tainted(const std::string& name) {
    for (const api::Taint& taint : nodeOf(name).taints) {
      if (taint.key == api::kHealthTaintKey) {
        return true;
      }
    }
    return false;
  }
  std::vector<api::NodeRecovery> incidents() const {
    std::vector<api::NodeRecovery> all;
    for (const Json& object : api.all(api::kNodeRecoveries)) {
      all.push_back(api::decodeNodeRecovery(object).value());
    }
    return all;
  }
  // The last incident of a node of this name.
  api::NodeRecovery incidentOf(const std::string& node) const {
    api::NodeRecovery found;
    for (api::NodeRecovery& incident : incidents()) {
      if (incident.node.name == node && (found.meta.name.empty() || incident.open())) {
        found = incident;
      }
    }
    return found;
  }
  api::Phase phaseOf(const std::string& node) const { return incidentOf(node).status.phase; }
  std::vector<api::TakenSlot> slots(const std::string& policy = "p") {
    return api::decodeRecoveryPolicy(*api.find(api::kRecoveryPolicies.path("", policy))).value().active;
  }
  // Messages of Events with this reason.
  std::vector<std::string> told(const std::string& reason) const {
    std::vector<std::string> messages;
    for (const Json& event : api.all(api::kEvents)) {
      if (findString(event, "reason") == reason) {
        messages.push_back(findString(event, "message"));
      }
    }
    return messages;
  }

  static std::string nodePath(const std::string& name) { return api::kNodes.path("", name); }
  static std::string podPath(const std::string& name) { return api::kPods.path("ns", name); }

  FakeApi api;
  FakeCloud cloud;
  Metrics metrics;
  bool leading = true;
  Concurrency concurrency;  // from the next restart() on
  bool launches = true;     // the group launches another for one that ends
  bool podsEnd = true;      // kubelets end the pods that are told to
  std::string newDevices = "16";

 private:
  void replaceLater(const std::string& providerId) {
    after(std::chrono::milliseconds(200), [this, providerId] { cloud.instances.erase(providerId); });
    if (launches) {
      after(std::chrono::seconds(1), [this] { addNode("new-" + std::to_string(++launched_), newDevices); });
    }
  }
  void playEvents() {
    while (!events_.empty() && events_.begin()->first <= api.now) {
      const std::function<void()> what = std::move(events_.begin()->second);
      events_.erase(events_.begin());
      what();
    }
  }
  void finishPods() {
    for (const Json& pod : podsEnd ? api.all(api::kPods) : std::vector<Json>()) {
      if (find(pod, "metadata", "deletionTimestamp")) {
        api.erase(podPath(findString(pod, "metadata", "name")));
      }
    }
  }

  std::multimap<TimePoint, std::function<void()>> events_;
  std::optional<kube::CrashingApi> crashingApi_;
  std::optional<cloud::CrashingProvider> crashingCloud_;
  std::unique_ptr<Controller> controller_;
  int launched_ = 0;
  int boots_ = 0;
};

}  // namespace mainstay::recovery
