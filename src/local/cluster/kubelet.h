// Kubelet: one node's Loop. Registers the Node, keeps its lease and its Ready condition, runs the pods that
// are bound to it and confirms their deletion.
//
// Its silence is the driver's doing: a stopped kubelet writes nothing, and destroying it kills its pods'
// containers. Not modelled: static and mirror pods, images, volumes other than in container_spec.h, resource
// pressure, the kubelet's own HTTP server. As the real one, it does not register again when its Node is
// deleted, and it adopts an existing Node of its name with its UID, labels, taints and providerID.
#pragma once

#include <atomic>

#include "api/core.h"
#include "base/loop.h"
#include "kube/events.h"
#include "kube/watch_cache.h"
#include "local/cluster/network.h"
#include "local/cluster/pod_worker.h"

namespace mainstay::local {

struct KubeletOptions {
  std::string node;
  std::string providerId;
  std::string instanceType;
  std::string zone;
  api::Labels labels;                              // besides the well-known ones
  std::map<std::string, std::string> allocatable;  // quantities as text; also the capacity
  JsonArray taints;                                // that it registers with
  std::string bootId;
  std::string address;
  std::string hostRoot;                           // where hostPath volumes lie
  Duration heartbeat = std::chrono::seconds(10);  // lease renewal, and a look at its own Node
  CrashBackOff crashBackOff;
};

class Kubelet final : public Loop {
 public:
  // `api` and `addresses` outlive it.
  Kubelet(kube::Api& api, KubeletOptions options, std::unique_ptr<PodRuntime> runtime,
          AddressPool& addresses);

  std::string_view name() const override { return name_; }
  TimePoint step(TimePoint now) override;

  // Says from now on that its container runtime is down, or is well again. Any thread.
  void reportNotReady(bool notReady);

 private:
  struct Running {
    std::unique_ptr<PodWorker> worker;
    Json written;                // the status as last written
    TimePoint writeNotBefore{};  // after a failed write
  };
  Result<> registerNode(TimePoint now);
  TimePoint keepNode(TimePoint now);
  Result<> renewLease(TimePoint now);
  Result<> refreshNode(TimePoint now);
  Json nodeStatus(const Json* before, TimePoint now) const;
  TimePoint syncPods(TimePoint now);
  TimePoint syncPod(const Json& pod, TimePoint now);
  Running& admit(const Json& pod, TimePoint now);
  bool writeStatus(const Json& pod, Running& running, TimePoint now);
  TimePoint confirmDeletion(const Json& pod, TimePoint now);
  void recordEvents(const Json& pod, Running& running, TimePoint now);

  kube::Api& api_;
  const KubeletOptions options_;
  const std::string name_;
  const std::unique_ptr<PodRuntime> runtime_;
  AddressPool& addresses_;
  kube::EventRecorder events_;
  kube::WatchCache<Json> pods_;
  std::map<std::string, Running> running_;  // by pod UID; before runtime_ in destruction
  std::string uid_;                         // the Node's; "" until registered
  TimePoint nextHeartbeat_{};
  TimePoint statusWritten_{};
  std::atomic<bool> notReady_ = false;
  bool readyWritten_ = false;
};

}  // namespace mainstay::local
