#include "recovery/caches.h"

#include <algorithm>

namespace mainstay::recovery {
namespace {

// A watch that ends is opened again within moments. What is older than this may no longer be so.
constexpr Duration kMaxStaleness = std::chrono::seconds(10);

template <class T>
std::string whyCacheNotReady(const kube::WatchCache<T>& cache, const api::Resource& resource, TimePoint now) {
  if (!cache.synced()) {
    return resource.plural + " were not listed yet" +
           (cache.lastError().empty() ? "" : ": " + cache.lastError());
  }
  if (cache.staleSince() && now - *cache.staleSince() > kMaxStaleness) {
    return resource.plural + " could not be watched since " + formatTime(*cache.staleSince()) + ": " +
           cache.lastError();
  }
  return "";
}

}  // namespace

Caches::Caches(kube::Api& api, Signal& signal)
    : nodes(api, api::kNodes, api::decodeNode, signal),
      pods(api, api::kPods, api::decodePod, signal),
      policies(api, api::kRecoveryPolicies, api::decodeRecoveryPolicy, signal),
      incidents(api, api::kNodeRecoveries, api::decodeNodeRecovery, signal),
      jobs(api, api::kPyTorchJobs, decodeTrainingJob, signal) {}

TimePoint Caches::sync(TimePoint now) {
  return std::min({nodes.sync(now), pods.sync(now), policies.sync(now), incidents.sync(now), jobs.sync(now)});
}

std::string Caches::whyNotReady(TimePoint now) const {
  for (const std::string& why :
       {whyCacheNotReady(nodes, api::kNodes, now), whyCacheNotReady(pods, api::kPods, now),
        whyCacheNotReady(policies, api::kRecoveryPolicies, now),
        whyCacheNotReady(incidents, api::kNodeRecoveries, now)}) {
    if (!why.empty()) {
      return why;
    }
  }
  return "";
}

Fleet Caches::fleet() const {
  Fleet fleet;
  fleet.nodes = nodes.objects();
  fleet.pods = pods.objects();
  fleet.policies = policies.objects();
  fleet.incidents = incidents.objects();
  fleet.jobs = jobs.objects();
  fleet.jobsKnown = jobs.synced();
  fleet.unreadable = {nodes.broken(), policies.broken(), incidents.broken()};
  return fleet;
}

}  // namespace mainstay::recovery
