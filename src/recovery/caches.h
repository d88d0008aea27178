// Caches: what the recovery watches in Kubernetes, and the Fleet made from it.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "kube/watch_cache.h"
#include "recovery/fleet.h"

namespace mainstay::recovery {

struct Caches {
  Caches(kube::Api& api, Signal& signal);

  // Takes in what has arrived; returns when to call again at the latest.
  TimePoint sync(TimePoint now);
  // Why nothing may be decided from them: a first list is missing, or a watch has been broken for too long.
  // "" when they may be trusted. PyTorchJobs are left out: a cluster need not have that kind.
  std::string whyNotReady(TimePoint now) const;
  // All but what providers say.
  Fleet fleet() const;

  // For threads that write while the loop waits for them: the object as last seen (nullptr: not there), and the answer
  // of a write put in.
  template <class T>
  std::shared_ptr<const T> find(const kube::WatchCache<T>& cache, const std::string& key) const {
    const std::lock_guard lock(mutex_);
    const auto at = cache.objects().find(key);
    return at == cache.objects().end() ? nullptr : at->second;
  }
  template <class T>
  void observe(kube::WatchCache<T>& cache, const Json& object) {
    const std::lock_guard lock(mutex_);
    cache.observe(object);
  }

  kube::WatchCache<api::Node> nodes;
  kube::WatchCache<api::Pod> pods;
  kube::WatchCache<api::RecoveryPolicy> policies;
  kube::WatchCache<api::NodeRecovery> incidents;
  kube::WatchCache<TrainingJob> jobs;

 private:
  mutable std::mutex mutex_;
};

}  // namespace mainstay::recovery
