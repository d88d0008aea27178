#include "kube/token_bucket.h"

#include <algorithm>

namespace mainstay::kube {

TokenBucket::TokenBucket(double perSecond, int burst)
    : perSecond_(perSecond), burst_(std::max(1, burst)), tokens_(burst_) {}

Duration TokenBucket::take(TimePoint now, Duration patience) {
  if (perSecond_ <= 0) {
    return Duration(0);
  }
  using Seconds = std::chrono::duration<double>;
  std::lock_guard lock(mutex_);
  if (now > refilledAt_) {
    tokens_ = std::min(burst_, tokens_ + Seconds(now - refilledAt_).count() * perSecond_);
    refilledAt_ = now;
  }
  const double missing = std::max(0.0, 1 - tokens_);
  const Duration wait = std::chrono::ceil<Duration>(Seconds(missing / perSecond_));
  if (wait <= patience) {
    tokens_ -= 1;
  }
  return wait;
}

}  // namespace mainstay::kube
