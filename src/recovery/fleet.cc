#include "recovery/fleet.h"

#include <algorithm>

#include "api/names.h"

namespace mainstay::recovery {
namespace {

// Stricter first, then by name, so that every replica of the controller chooses the same.
bool holdsBefore(const api::RecoveryPolicy& a, const api::RecoveryPolicy& b) {
  return a.mode != b.mode ? a.mode > b.mode : a.meta.name < b.meta.name;
}

bool openedBefore(const api::NodeRecovery& a, const api::NodeRecovery& b) {
  return a.meta.created != b.meta.created ? a.meta.created < b.meta.created : a.meta.name < b.meta.name;
}

template <class Map>
const typename Map::mapped_type& findOr(const Map& map, const std::string& key,
                                        const typename Map::mapped_type& fallback) {
  const auto at = map.find(key);
  return at == map.end() ? fallback : at->second;
}

}  // namespace

// Both annotations are HyperPod's condition; a job of Kueue's is left to Kueue until it is handled.
bool TrainingJob::stoppedByUs() const {
  return meta.annotation(api::kAutoResumeAnnotation) == "true" &&
         meta.annotations.contains(api::kMaxRetryAnnotation) && !meta.labels.contains(api::kKueueQueueLabel);
}

Result<TrainingJob> decodeTrainingJob(const Json& object) {
  DecodeErrors errors("pytorchjob " + findString(object, "metadata", "name"));
  TrainingJob job{api::decodeMeta(Cursor(object, errors))};
  MAINSTAY_TRY(errors.result());
  return job;
}

FleetIndex::FleetIndex(const Fleet& fleet) : fleet_(fleet) {
  indexPolicies();
  indexIncidents();
  indexPods();
}

void FleetIndex::indexPolicies() {
  for (const auto& [name, node] : fleet_.nodes) {
    const api::RecoveryPolicy*& best = policyByNode_[name];
    for (const auto& [policyName, policy] : fleet_.policies) {
      if (!policy->nodes.matches(node->meta.labels)) {
        continue;
      }
      const bool wins = !best || holdsBefore(*policy, *best);
      if (best) {
        overlaps_.emplace(wins ? policyName : best->meta.name, wins ? best->meta.name : policyName);
      }
      best = wins ? policy.get() : best;
    }
    if (best) {
      ++governed_[best->meta.name];
    }
  }
}

void FleetIndex::indexIncidents() {
  for (const auto& [name, incident] : fleet_.incidents) {
    const api::NodeRecoveryStatus& status = incident->status;
    if (incident->open()) {
      const api::NodeRecovery*& open = openByUid_[incident->node.uid];
      open = !open || openedBefore(*incident, *open) ? incident.get() : open;
    } else {
      closedByUid_[incident->node.uid].push_back(incident.get());
    }
    if (status.provider.gone && !incident->node.providerId.empty()) {
      endByInstance_[incident->node.providerId] = incident.get();
    }
    if (!status.replacement.uid.empty()) {
      claimed_.insert(status.replacement.uid);
    }
  }
}

void FleetIndex::indexPods() {
  for (const auto& [name, incident] : fleet_.incidents) {
    if (incident->open()) {
      podsByNode_[incident->node.name];
    }
  }
  for (const auto& [key, pod] : fleet_.pods) {
    if (const auto at = podsByNode_.find(pod->nodeName); at != podsByNode_.end()) {
      at->second.push_back(pod.get());
    }
  }
}

const api::RecoveryPolicy* FleetIndex::policyOf(const api::Node& node) const {
  return findOr(policyByNode_, node.meta.name, nullptr);
}

int FleetIndex::governed(const std::string& policy) const {
  return findOr(governed_, policy, 0);
}

const std::vector<const api::Pod*>& FleetIndex::podsOn(const std::string& node) const {
  static const std::vector<const api::Pod*> kNone;
  return findOr(podsByNode_, node, kNone);
}

const api::NodeRecovery* FleetIndex::openIncident(const std::string& uid) const {
  return findOr(openByUid_, uid, nullptr);
}

const std::vector<const api::NodeRecovery*>& FleetIndex::closedIncidents(const std::string& uid) const {
  static const std::vector<const api::NodeRecovery*> kNone;
  return findOr(closedByUid_, uid, kNone);
}

const api::NodeRecovery* FleetIndex::endOf(const std::string& providerId) const {
  return findOr(endByInstance_, providerId, nullptr);
}

bool FleetIndex::stoppedByJobs(const api::Pod& pod) const {
  const auto owner = std::ranges::find_if(pod.meta.owners, [](const api::OwnerReference& reference) {
    return reference.controller && reference.kind == api::kPyTorchJobs.kind;
  });
  if (owner == pod.meta.owners.end()) {
    return false;
  }
  if (!fleet_.jobsKnown) {
    return true;
  }
  const auto job = fleet_.jobs.find(pod.meta.ns + "/" + owner->name);
  return job != fleet_.jobs.end() && job->second->stoppedByUs();
}

bool managedByHyperPod(const api::Node& node) {
  return node.providerId.find("/sagemaker/cluster/") != std::string::npos;
}

}  // namespace mainstay::recovery
