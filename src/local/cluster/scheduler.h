// Scheduler: binds pods to nodes by taints, node selector, node affinity, readiness and free resources; says of
// the others why not, in kube-scheduler's words.
//
// Not modelled: preemption, scores other than preferred node affinity and room, pod (anti-)affinity, topology spread, volumes, ports, other
// scheduler names (their pods are left alone).
#pragma once

#include "api/core.h"
#include "base/loop.h"
#include "kube/events.h"
#include "kube/watch_cache.h"

namespace mainstay::local {

// A node with what its present pods leave over.
struct Candidate {
  std::shared_ptr<const api::Node> node;
  api::Resources free;
};

struct Placement {
  std::string node;     // "" = nowhere
  std::string message;  // then: "0/3 nodes are available: 1 Insufficient aws.amazon.com/neuron, ..."
};

// Of the nodes that allow it, the one that the pod prefers most, then with the most room for pods, then by name: the same facts give the same node.
// Pure.
Placement placePod(const api::Pod& pod, const std::vector<Candidate>& candidates);

class Scheduler final : public Loop {
 public:
  explicit Scheduler(kube::Api& api);
  std::string_view name() const override { return "scheduler"; }
  TimePoint step(TimePoint now) override;

 private:
  std::vector<Candidate> candidates() const;
  TimePoint schedulePending(TimePoint now);
  Result<> bind(const api::Pod& pod, const std::string& node, TimePoint now);
  Result<> reportUnschedulable(const api::Pod& pod, const std::string& message, TimePoint now);

  kube::Api& api_;
  kube::EventRecorder events_;
  kube::WatchCache<api::Node> nodes_;
  kube::WatchCache<api::Pod> pods_;
};

}  // namespace mainstay::local
