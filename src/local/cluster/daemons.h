// Daemons: a small DaemonSet controller: one pod on every Node, made from the DaemonSet's template and bound
// to its node directly, with the tolerations that Kubernetes gives daemon pods. A finished pod, and one of an
// old template, is replaced.
//
// Not modelled: node selectors, rolling updates (all pods are replaced at once), status fields other than the
// counts.
#pragma once

#include "api/core.h"
#include "base/loop.h"
#include "kube/watch_cache.h"

namespace mainstay::local {

// The pod of `set` for a node. Pure; the API server adds the random end of its name.
Json daemonPod(const Json& set, const std::string& node);

class Daemons final : public Loop {
 public:
  explicit Daemons(kube::Api& api);
  std::string_view name() const override { return "daemons"; }
  TimePoint step(TimePoint now) override;

 private:
  Result<> syncSet(const Json& set);
  Result<> writeCounts(const Json& set, std::size_t ready) const;

  kube::Api& api_;
  kube::WatchCache<api::Node> nodes_;
  kube::WatchCache<Json> sets_;
  kube::WatchCache<api::Pod> pods_;
};

}  // namespace mainstay::local
