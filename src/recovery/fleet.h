// Fleet: everything that a plan looks at, as one value. And FleetIndex: the questions that a plan asks of it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/node_recovery.h"
#include "api/recovery_policy.h"
#include "cloud/provider.h"

namespace mainstay::recovery {

// By "name" or "ns/name".
template <class T>
using Objects = std::map<std::string, std::shared_ptr<const T>>;

// What the provider said about the instance of one incident, and when.
struct InstanceFacts {
  TimePoint at{};
  std::string trouble;                      // why there is no answer; "" when there is
  std::optional<cloud::Instance> instance;  // absent: there is none (any more)
  std::optional<cloud::Group> group;        // of the instance, or as the incident remembers it
  bool gone() const { return trouble.empty() && (!instance || instance->lifecycle == "Terminated"); }
};

// Metadata of a PyTorchJob: enough to know whose pods the jobs side will stop by itself.
struct TrainingJob {
  api::ObjectMeta meta;
  bool stoppedByUs() const;
};
Result<TrainingJob> decodeTrainingJob(const Json& object);

// Objects that could not be read, by key, with why. Nothing is decided about them.
struct Unreadable {
  std::map<std::string, std::string> nodes;
  std::map<std::string, std::string> policies;
  std::map<std::string, std::string> incidents;
};

struct Fleet {
  Objects<api::Node> nodes;
  Objects<api::Pod> pods;
  Objects<api::RecoveryPolicy> policies;
  Objects<api::NodeRecovery> incidents;  // open and closed
  Objects<TrainingJob> jobs;
  bool jobsKnown = true;  // false: their list could not be read
  Unreadable unreadable;
  std::set<std::string> providers;             // the policies' words for those that this controller can reach
  std::map<std::string, InstanceFacts> facts;  // by incident
  std::map<std::string, std::string> refused;  // by incident: the provider's refusal to replace, in its words
};

// Answers in constant or logarithmic time; valid as long as its Fleet.
class FleetIndex {
 public:
  explicit FleetIndex(const Fleet& fleet);

  // The policy that selects this node: of several the strictest, then the first by name.
  const api::RecoveryPolicy* policyOf(const api::Node& node) const;
  // How many nodes a policy governs.
  int governed(const std::string& policy) const;
  // Pairs {holds, gives way} of policies that select a common node.
  const std::set<std::pair<std::string, std::string>>& overlaps() const { return overlaps_; }

  const std::vector<const api::Pod*>& podsOn(const std::string& node) const;
  // The incident that governs the Node of this UID, the oldest if there are several; nullptr when none is
  // open.
  const api::NodeRecovery* openIncident(const std::string& uid) const;
  const std::vector<const api::NodeRecovery*>& closedIncidents(const std::string& uid) const;
  // Some incident has claimed the Node of this UID as its replacement.
  bool claimed(const std::string& uid) const { return claimed_.contains(uid); }
  // The incident at whose end the provider confirmed that this instance is gone; nullptr when there is none.
  const api::NodeRecovery* endOf(const std::string& providerId) const;
  // The jobs side will stop this pod's whole group.
  bool stoppedByJobs(const api::Pod& pod) const;

 private:
  void indexPolicies();
  void indexIncidents();
  void indexPods();

  const Fleet& fleet_;
  std::map<std::string, const api::RecoveryPolicy*> policyByNode_;
  std::map<std::string, int> governed_;
  std::set<std::pair<std::string, std::string>> overlaps_;
  std::map<std::string, std::vector<const api::Pod*>> podsByNode_;  // of nodes with an open incident
  std::map<std::string, const api::NodeRecovery*> openByUid_;
  std::map<std::string, std::vector<const api::NodeRecovery*>> closedByUid_;
  std::map<std::string, const api::NodeRecovery*> endByInstance_;
  std::set<std::string> claimed_;
};

// A real HyperPod node: our label would command AWS, so it is only observed.
bool managedByHyperPod(const api::Node& node);

}  // namespace mainstay::recovery
