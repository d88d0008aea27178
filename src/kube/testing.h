// Wrappers of an Api that fail on purpose: for tests, the crash proof and scenarios.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/crash_point.h"
#include "kube/api.h"

namespace mainstay::kube {

// Ends the process at the crash point's write (base/crash_point.h). Give the leader elector the inner Api:
// its renewals come with the clock, and beside the count they leave the numbers of all other writes the same
// in every run.
class CrashingApi final : public Api {
 public:
  CrashingApi(Api& inner, CrashPoint& point) : inner_(inner), point_(point) {}
  Result<Json> call(const ApiRequest& request, Deadline deadline) override;
  Result<std::unique_ptr<WatchStream>> watch(const std::string& path, Query query, Signal& signal) override;

 private:
  Api& inner_;
  CrashPoint& point_;
};

// Fails calls and drops watches when told. Thread-safe.
class FaultyApi final : public Api {
 public:
  explicit FaultyApi(Api& inner);
  ~FaultyApi() override;

  // The k-th call from now (1 = the next one) is answered with `error` and not sent; opening a watch is a
  // call as well.
  void failCall(int k, Error error);
  // The next `times` calls that `matches` says yes to.
  void failMatching(std::function<bool(const ApiRequest&)> matches, Error error, int times = 1);
  // Every open watch breaks (kUnavailable) at its next poll, or with `error`.
  void dropWatches();
  void dropWatches(Error error);

  Result<Json> call(const ApiRequest& request, Deadline deadline) override;
  Result<std::unique_ptr<WatchStream>> watch(const std::string& path, Query query, Signal& signal) override;

 private:
  struct Fault {
    std::function<bool(const ApiRequest&)> matches;
    Error error;
    int times;
  };
  struct Link;  // between an open watch and us
  class Stream;
  std::optional<Error> faultOf(const ApiRequest& request);

  Api& inner_;
  std::mutex mutex_;
  std::vector<Fault> faults_;                 // guarded by mutex_
  std::vector<std::weak_ptr<Link>> watches_;  // guarded by mutex_
};

}  // namespace mainstay::kube
