#include "cloud/aws/retry.h"

#include <algorithm>
#include <cmath>

namespace mainstay::cloud::aws {
namespace {

// All numbers and codes are the standard mode's.
constexpr int kQuota = 500;
constexpr int kRepeatCost = 5;
constexpr int kTimeoutCost = 10;
constexpr int kFirstSuccessGain = 1;
constexpr double kMaxBackOffSeconds = 20;
constexpr std::string_view kThrottlingCodes[] = {
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "RequestThrottledException",
    "TooManyRequestsException",
    "ProvisionedThroughputExceededException",
    "TransactionInProgressException",
    "RequestLimitExceeded",
    "BandwidthLimitExceeded",
    "LimitExceededException",
    "RequestThrottled",
    "SlowDown",
    "PriorRequestNotComplete",
    "EC2ThrottledException",
};
constexpr std::string_view kTransientCodes[] = {
    "RequestTimeout",        "RequestTimeoutException", "InternalError",
    "InternalFailure",       "ServiceUnavailable",      "Unavailable",
    "IDPCommunicationError",  // of STS: the identity provider was slow
};
constexpr int kTransientStatuses[] = {500, 502, 503, 504};

}  // namespace

Trouble troubleOf(std::string_view awsCode, int httpStatus) {
  if (std::ranges::count(kThrottlingCodes, awsCode) > 0 || httpStatus == 429) {
    return Trouble::kThrottled;
  }
  const bool passing = std::ranges::count(kTransientCodes, awsCode) > 0 ||
                       std::ranges::count(kTransientStatuses, httpStatus) > 0;
  return passing ? Trouble::kTransient : Trouble::kLasting;
}

Duration backOff(int next, double random) {
  const double seconds = std::min(random * std::exp2(std::max(0, next - 2)), kMaxBackOffSeconds);
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

int RetryQuota::take(Trouble trouble) {
  const int cost = trouble == Trouble::kTimeout ? kTimeoutCost : kRepeatCost;
  const std::lock_guard lock(mutex_);
  if (trouble == Trouble::kLasting || left_ < cost) {
    return 0;
  }
  left_ -= cost;
  return cost;
}

void RetryQuota::giveBack(int cost) {
  const std::lock_guard lock(mutex_);
  left_ = std::min(kQuota, left_ + (cost > 0 ? cost : kFirstSuccessGain));
}

int RetryQuota::left() const {
  const std::lock_guard lock(mutex_);
  return left_;
}

}  // namespace mainstay::cloud::aws
