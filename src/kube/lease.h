// Leader election on a coordination.k8s.io/v1 Lease, as client-go does it, and the token that every mutation
// checks.
#pragma once

#include <string>

#include "kube/api.h"

namespace mainstay::kube {

// Proof of leadership that ends by itself: valid until a margin before the lease could be taken by another. A
// process that was stopped past it wakes up with an expired token and must not act.
class LeaderToken {
 public:
  LeaderToken(const Clock& clock, TimePoint validUntil) : clock_(&clock), validUntil_(validUntil) {}
  bool valid() const { return clock_->now() < validUntil_; }

 private:
  const Clock* clock_;
  TimePoint validUntil_;
};

class LeaderElector {
 public:
  struct Options {
    std::string ns = "default";
    std::string name = "mainstay-controller";
    std::string identity;                               // host name and a random part
    Duration leaseDuration = std::chrono::seconds(15);  // client-go's defaults
    Duration renewDeadline = std::chrono::seconds(10);
    Duration retryPeriod = std::chrono::seconds(2);
  };
  LeaderElector(Api& api, const Clock& clock, Options options);

  // Acquires or renews when due; returns when it wants to be called again. Another holder's lease counts from
  // when *we* saw it change, not from its timestamps (clocks differ).
  TimePoint step(TimePoint now);
  bool leading() const;
  // REQUIRES: leading().
  LeaderToken token() const;
  // Gives the lease up at an orderly stop, so that the next leader need not wait.
  void release();

 private:
  Result<> acquireOrRenew(TimePoint now);

  Api& api_;
  const Clock& clock_;
  const Options options_;
  std::string observedVersion_;  // resourceVersion of the lease last seen
  std::string observedHolder_;
  TimePoint observedAt_{};
  TimePoint renewedAt_{};
  bool held_ = false;
  TimePoint nextTry_{};
};

// Wraps an Api: every write first checks the token of the moment; an expired one is kFailedPrecondition and
// nothing is sent.
class LeaderOnlyApi final : public Api {
 public:
  LeaderOnlyApi(Api& inner, const LeaderElector& elector) : inner_(inner), elector_(elector) {}
  Result<Json> call(const ApiRequest& request, Deadline deadline) override;
  Result<std::unique_ptr<WatchStream>> watch(const std::string& path, Query query, Signal& signal) override;

 private:
  Api& inner_;
  const LeaderElector& elector_;
};

}  // namespace mainstay::kube
