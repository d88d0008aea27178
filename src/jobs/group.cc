#include "jobs/group.h"

#include <algorithm>

#include "api/names.h"

namespace mainstay::jobs {
namespace {

using PodsOfJobs =
    std::map<std::string, std::vector<std::shared_ptr<const api::Pod>>>;  // by the job's "ns/name"

PodsOfJobs sortPods(const Objects<api::Pod>& pods, const Adapter& adapter) {
  PodsOfJobs sorted;
  for (const auto& [key, pod] : pods) {
    if (const std::string job = adapter.jobOf(*pod); !job.empty()) {
      sorted[pod->meta.ns + "/" + job].push_back(pod);
    }
  }
  return sorted;
}

Group readGroup(const Adapter& adapter, std::shared_ptr<const Job> job, PodsOfJobs& pods) {
  Group group{
      .adapter = &adapter, .job = std::move(job), .pods = {}, .optIn = {}, .state = {}, .stateError = ""};
  if (const auto at = pods.find(group.job->meta.key()); at != pods.end()) {
    group.pods = std::move(at->second);
  }
  group.optIn = optInOf(*group.job);
  if (const std::string& text = group.job->meta.annotation(api::kResumeAnnotation); !text.empty()) {
    if (Result<ResumeState> state = decodeResume(text)) {
      group.state = *std::move(state);
    } else {
      group.stateError = state.error().toString();
    }
  }
  return group;
}

bool ownedBy(const api::Pod& pod, const Job& job) {
  return std::ranges::any_of(pod.meta.owners,
                             [&](const api::OwnerReference& owner) { return owner.uid == job.meta.uid; });
}

// Another node may have taken over the name.
bool isOn(const Facts& facts, const api::Pod& pod, const api::NodeRecovery& incident) {
  const auto node = facts.nodes.find(incident.node.name);
  const bool replaced = node != facts.nodes.end() && node->second->meta.uid != incident.node.uid;
  return !replaced && pod.nodeName == incident.node.name;
}

}  // namespace

std::vector<const api::Pod*> Group::podsOn(const Facts& facts, const api::NodeRecovery& incident) const {
  std::vector<const api::Pod*> on;
  for (const auto& pod : pods) {
    if (!pod->finished() && ownedBy(*pod, *job) && isOn(facts, *pod, incident)) {
      on.push_back(pod.get());
    }
  }
  return on;
}

bool Group::touches(const Facts& facts, const api::NodeRecovery& incident) const {
  return std::ranges::any_of(
      pods, [&](const auto& pod) { return ownedBy(*pod, *job) && isOn(facts, *pod, incident); });
}

std::string Group::nameOf(const api::Pod& pod) const {
  const int rank = adapter->rankOf(*job, pod);
  return pod.meta.name + (rank < 0 ? "" : " (rank " + std::to_string(rank) + ")");
}

std::vector<int> Group::missingPods() const {
  std::vector<int> missing;
  int first = 0;  // rank of the replica's first pod
  for (const Replica& replica : job->replicas) {
    const auto bound = std::ranges::count_if(pods, [&](const auto& pod) {
      const int rank = adapter->rankOf(*job, *pod);
      return !pod->nodeName.empty() && rank >= first && rank < first + replica.count;
    });
    missing.push_back(replica.count - static_cast<int>(bound));
    first += replica.count;
  }
  return missing;
}

int Group::retryLimit(const Facts& facts, const std::vector<std::string>& incidents) const {
  int limit = optIn.maxRetries;
  for (const std::string& name : incidents) {
    const auto incident = facts.recoveries.find(name);
    const auto policy =
        facts.policies.find(incident == facts.recoveries.end() ? "" : incident->second->policy);
    if (policy != facts.policies.end()) {
      limit = std::min(limit, policy->second->maxRetries.value_or(limit));
    }
  }
  return limit;
}

std::vector<Group> readGroups(const Facts& facts) {
  std::vector<Group> groups;
  for (const Facts::Kind& kind : facts.kinds) {
    PodsOfJobs pods = sortPods(facts.pods, *kind.adapter);
    for (const auto& [key, job] : *kind.jobs) {
      groups.push_back(readGroup(*kind.adapter, job, pods));
    }
  }
  return groups;
}

}  // namespace mainstay::jobs
