// NodeLifecycle: what Kubernetes' node controllers do about nodes: a kubelet whose lease is not renewed for
// the grace period makes Ready Unknown; Ready and cordon become taints; pods that do not tolerate a NoExecute
// taint are deleted when their time is up (they stay Terminating while nobody confirms); pods of a Node that
// no longer exists are removed.
//
// Not modelled: disruption modes for whole zones, rate limits on eviction, the Ready condition of a lost
// node's pods, and the cloud controller that deletes Nodes of terminated instances (recovery does it here).
#pragma once

#include "api/core.h"
#include "base/loop.h"
#include "kube/events.h"
#include "kube/watch_cache.h"

namespace mainstay::local {

// Kubernetes' defaults.
struct NodeLifecycleOptions {
  Duration monitorGrace = std::chrono::seconds(40);  // without a sign of life until Ready is Unknown
  Duration orphanGrace = std::chrono::seconds(40);   // a pod without its Node, until it is removed
};

// The taints that Ready and a cordon ask for: node.kubernetes.io/{not-ready,unreachable,unschedulable}.
std::vector<api::Taint> lifecycleTaints(const api::Node& node);
// How long the pod may stay with the NoExecute taint; nullopt: for ever. (The API server gives every pod 300 s
// for the taints of a lost node, unless it says otherwise.)
std::optional<Duration> toleratedFor(const api::Pod& pod, const api::Taint& taint);

class NodeLifecycle final : public Loop {
 public:
  NodeLifecycle(kube::Api& api, NodeLifecycleOptions options);
  std::string_view name() const override { return "node-lifecycle"; }
  TimePoint step(TimePoint now) override;

 private:
  struct Watched {
    std::string renewTime;                     // of the lease, as last seen
    TimePoint alive{};                         // when we saw it change: clocks may differ
    std::map<std::string, TimePoint> tainted;  // "key:effect" of NoExecute taints -> first seen
  };
  TimePoint watchNode(const api::Node& node, TimePoint now);
  Result<> markUnknown(const api::Node& node, TimePoint now);
  Result<> mendTaints(const api::Node& node, TimePoint now);
  void noteTaints(const api::Node& node, Watched& watched, TimePoint now) const;
  TimePoint evictFrom(const api::Pod& pod, TimePoint now);
  TimePoint collectOrphan(const api::Pod& pod, TimePoint now);
  TimePoint settle(const Result<>& result, std::string_view what, const std::string& which,
                   TimePoint now) const;

  kube::Api& api_;
  const NodeLifecycleOptions options_;
  kube::EventRecorder events_;
  kube::WatchCache<api::Node> nodes_;
  kube::WatchCache<Json> leases_;
  kube::WatchCache<api::Pod> pods_;
  std::map<std::string, Watched> watched_;     // by node
  std::map<std::string, TimePoint> orphaned_;  // by pod UID: when its Node was first missed
};

}  // namespace mainstay::local
