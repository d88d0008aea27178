// TokenBucket: a rate limit as client-go's flow control has it: `perSecond` on the long run, bursts up to
// `burst`.
#pragma once

#include <mutex>

#include "base/time.h"

namespace mainstay::kube {

// Thread-safe.
class TokenBucket {
 public:
  // perSecond <= 0: no limit.
  TokenBucket(double perSecond, int burst);
  // How long the caller has to wait for its turn; zero = go on. When that is at most `patience` the turn is
  // taken, else nothing is.
  Duration take(TimePoint now, Duration patience);

 private:
  const double perSecond_;
  const double burst_;
  std::mutex mutex_;
  double tokens_;           // guarded by mutex_; negative: turns that were promised
  TimePoint refilledAt_{};  // guarded by mutex_
};

}  // namespace mainstay::kube
