#include "cloud/aws/retry.h"

#include <gtest/gtest.h>

namespace mainstay::cloud::aws {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RetryTest, KnowsTroubleByCodeAndStatus) {
  EXPECT_EQ(troubleOf("Throttling", 400), Trouble::kThrottled);
  EXPECT_EQ(troubleOf("RequestLimitExceeded", 503), Trouble::kThrottled);
  EXPECT_EQ(troubleOf("", 429), Trouble::kThrottled);
  EXPECT_EQ(troubleOf("InternalFailure", 400), Trouble::kTransient);
  EXPECT_EQ(troubleOf("", 503), Trouble::kTransient);
  EXPECT_EQ(troubleOf("ValidationError", 400), Trouble::kLasting);
  EXPECT_EQ(troubleOf("AccessDenied", 403), Trouble::kLasting);
  EXPECT_EQ(troubleOf("", 501), Trouble::kLasting);
}

TEST(RetryTest, WaitsGrowAndEndAtTwentySeconds) {
  EXPECT_EQ(backOff(2, 0.5), milliseconds(500));
  EXPECT_EQ(backOff(3, 0.5), seconds(1));
  EXPECT_EQ(backOff(4, 0.5), seconds(2));
  EXPECT_EQ(backOff(1000, 0.999), seconds(20));
  EXPECT_EQ(backOff(2, 0), seconds(0));
}

TEST(RetryTest, QuotaRunsOutAndComesBackWithSuccess) {
  RetryQuota quota;
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(quota.take(Trouble::kTransient), 5);
  }
  for (int i = 0; i < 25; ++i) {
    EXPECT_EQ(quota.take(Trouble::kTimeout), 10);
  }
  EXPECT_EQ(quota.left(), 0);
  EXPECT_EQ(quota.take(Trouble::kThrottled), 0);
  quota.giveBack(5);
  EXPECT_EQ(quota.take(Trouble::kTimeout), 0) << "a timeout costs 10";
  EXPECT_EQ(quota.take(Trouble::kThrottled), 5);
  quota.giveBack(0);
  EXPECT_EQ(quota.left(), 1);
}

TEST(RetryTest, QuotaNeverGrowsBeyondItsStart) {
  RetryQuota quota;
  quota.giveBack(10);
  EXPECT_EQ(quota.left(), 500);
  EXPECT_EQ(quota.take(Trouble::kLasting), 0);
}

}  // namespace
}  // namespace mainstay::cloud::aws
