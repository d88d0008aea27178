// When a failed AWS call is tried again: the SDKs' standard mode. Pure.
// https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
#pragma once

#include <mutex>
#include <string_view>

#include "base/result.h"

namespace mainstay::cloud::aws {

enum class Trouble {
  kLasting,    // the same call would fail again
  kTransient,  // a server's or the network's passing weakness
  kTimeout,    // no answer in time
  kThrottled,  // AWS asks for fewer calls
};

inline constexpr int kMaxAttempts = 3;

// By AWS's error code and the HTTP status.
Trouble troubleOf(std::string_view awsCode, int httpStatus);

// Wait before attempt `next` (2, 3, ...): random * 2^(next - 2) seconds, at most 20; `random` in [0, 1).
Duration backOff(int next, double random);

// What all calls of one client may spend on repeats: while a service is down, callers stop piling on. Thread-safe.
class RetryQuota {
 public:
  // What the repeat costs, taken; 0 when the quota does not reach and there shall be none.
  int take(Trouble trouble);
  // A call succeeded, its last repeat having cost `cost` (0 = it was the first attempt).
  void giveBack(int cost);
  int left() const;

 private:
  mutable std::mutex mutex_;
  int left_ = 500;  // guarded by mutex_
};

}  // namespace mainstay::cloud::aws
