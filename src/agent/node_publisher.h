// NodePublisher: writes a NodeState to the Kubernetes API. A change goes out at once; what comes meanwhile
// goes with the next patch. Conditions come before Events, and never wait behind them.
#pragma once

#include <deque>
#include <map>
#include <random>
#include <string>

#include "agent/node_state.h"
#include "base/metrics.h"
#include "kube/api.h"
#include "kube/events.h"
#include "kube/token_bucket.h"

namespace mainstay::agent {

struct PublisherSettings {
  std::string nodeName;
  std::string eventNamespace;  // "" = default
  Duration heartbeat = std::chrono::minutes(5);
  bool writeEvents = true;
  bool updateConditions = true;
  bool takeConditions = false;  // also types that another field manager owns
  // The first read of the node is tried this often, and reported as an error after this long (then tried on).
  Duration waitInterval = std::chrono::seconds(5);
  Duration waitTimeout = std::chrono::minutes(5);
  // An API server closes a connection that is idle for about 90 s, and a new one costs twice a patch; zero =
  // let it.
  Duration keepWarm = std::chrono::seconds(20);
  // How often it looks, while a finding stands, whether a person calls it over.
  Duration lookEvery = std::chrono::seconds(20);
};

// Owned and used by one loop.
class NodePublisher {
 public:
  NodePublisher(kube::Api& api, PublisherSettings settings, Metrics& metrics, TimePoint start);

  // Reads the node first (nothing is published before what it says is known), then patches when due, and
  // sends at most one Event. Returns when to call again.
  TimePoint step(TimePoint now, NodeState& state);

 private:
  void queueEvents(TimePoint now, NodeState& state);
  void readNode(TimePoint now, NodeState& state);
  TimePoint publishDue(const NodeState& state) const;
  void yieldToOthers(NodeState& state);
  void publish(TimePoint now, NodeState& state);
  void sendEvent(TimePoint now);
  TimePoint lookDue(const NodeState& state) const;
  void look(TimePoint now, NodeState& state);
  void stayWarm(TimePoint now);
  void countPatch(const char* result);
  Duration backOff(const Error& error);
  kube::TokenBucket& eventBudget(const NodeEvent& event);

  kube::Api& api_;
  const PublisherSettings settings_;
  Metrics& metrics_;
  const TimePoint start_;
  std::mt19937_64 random_;

  bool known_ = false;   // the node was read
  bool waited_ = false;  // longer than waitTimeout, which was reported
  std::string uid_;
  TimePoint lastCall_{};
  TimePoint lastLook_{};  // at the node

  int failures_ = 0;  // of reading or patching, in a row
  TimePoint retryAt_{};
  TimePoint lastPatch_{};
  std::uint64_t publishedRevision_ = 0;
  std::uint64_t publishedRefreshes_ = 0;
  kube::TokenBucket patchBudget_;

  std::deque<NodeEvent> events_;
  int eventTries_ = 0;  // of the first
  TimePoint eventRetryAt_{};
  std::map<std::string, kube::TokenBucket> eventBudgets_;  // by source and kind: as many as configs
  std::map<std::string, kube::EventRecorder> recorders_;   // by source
};

}  // namespace mainstay::agent
