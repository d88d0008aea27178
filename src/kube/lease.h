// Leader election on a coordination.k8s.io/v1 Lease, as client-go does it, and the token that every mutation
// checks.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/loop.h"
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

// Stepped by one loop; leading() and token() may be asked from any thread.
class LeaderElector {
 public:
  struct Options {
    std::string ns = "default";
    std::string name = "mainstay-controller";
    std::string identity;                               // host name and a random part
    Duration leaseDuration = std::chrono::seconds(15);  // client-go's defaults
    Duration renewDeadline = std::chrono::seconds(10);  // REQUIRES: less than leaseDuration
    Duration retryPeriod = std::chrono::seconds(2);
  };
  // `api` must not be the LeaderOnlyApi of this elector.
  LeaderElector(Api& api, const Clock& clock, Options options);

  // Acquires or renews when due; returns when it wants to be called again. Another holder's lease counts from
  // when *we* saw it change, not from its timestamps (clocks differ).
  TimePoint step(TimePoint now);
  bool leading() const;
  // Expired already when not leading.
  LeaderToken token() const;
  // Who holds the lease as last seen; "" when nobody does.
  std::string holder() const;
  // Gives the lease up at an orderly stop, so that the next leader need not wait. From the stepping thread,
  // or after it.
  void release();

 private:
  Result<> acquireOrRenew(TimePoint now);
  Result<> create(TimePoint now);
  Result<> write(const Json& lease, TimePoint now);
  void see(const Json& lease, TimePoint now);
  void settle(const Result<>& result, TimePoint now);
  JsonObject record(std::string_view holder, Duration duration, TimePoint acquired, TimePoint now) const;
  bool ours() const { return holder() == options_.identity; }
  TimePoint takeoverAt() const;
  Deadline callDeadline() const { return Deadline::after(options_.renewDeadline / 2); }

  Api& api_;
  const Clock& clock_;
  const Options options_;
  Json lease_;              // as last seen
  TimePoint observedAt_{};  // when it was first seen so
  TimePoint nextTry_{};
  bool wasLeading_ = false;
  std::string trouble_;  // last error that was logged
  std::atomic<TimePoint> validUntil_{TimePoint{}};
};

// Steps an elector, and wakes the loops that act only while it leads.
class Election final : public Loop {
 public:
  // All outlive it.
  Election(LeaderElector& elector, std::vector<Loop*> followers)
      : elector_(elector), followers_(std::move(followers)) {}
  std::string_view name() const override { return "election"; }
  TimePoint step(TimePoint now) override;

 private:
  LeaderElector& elector_;
  const std::vector<Loop*> followers_;
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
