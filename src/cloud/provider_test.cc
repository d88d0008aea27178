#include "cloud/provider.h"

#include <gtest/gtest.h>

#include "cloud/testing.h"

namespace mainstay::cloud {
namespace {

TEST(ProviderIdTest, TheInstanceIsTheLastPart) {
  EXPECT_EQ(instanceIdOf("aws:///us-west-2b/i-0b41"), "i-0b41");
  EXPECT_EQ(instanceIdOf("local:///zone-a/i-1"), "i-1");
  EXPECT_EQ(instanceIdOf("gce://project/zone/name"), "name");
}

TEST(ProviderIdTest, IsEmptyWithoutALastPart) {
  for (const char* text : {"", "i-1", "aws://", "aws:///", "aws://x", "aws:///zone/", "/a/b", "://"}) {
    EXPECT_EQ(instanceIdOf(text), "") << text;
  }
}

// Counts what arrives.
class CountingProvider final : public Provider {
 public:
  std::string name() const override { return "counting"; }
  Result<std::optional<Instance>> describe(const std::string&) override { return std::optional<Instance>(); }
  Result<Group> describeGroup(const std::string&) override { return Group(); }
  Result<> markUnhealthy(const std::string&, const std::string&) override {
    ++marks;
    return {};
  }
  Result<> markHealthy(const std::string&) override { return {}; }
  int marks = 0;
};

TEST(CrashingProviderTest, EndsBeforeTheMarkIsSent) {
  CountingProvider inner;
  CrashPoint point(1, CrashPoint::Side::kBefore, [] {});
  CrashingProvider provider(inner, point);
  EXPECT_TRUE(provider.describe("local:///z/i-1").has_value());
  EXPECT_FALSE(provider.markUnhealthy("local:///z/i-1", "t").has_value());
  EXPECT_EQ(inner.marks, 0);
}

TEST(CrashingProviderTest, EndsAfterTheMarkWasCarriedOut) {
  CountingProvider inner;
  CrashPoint point(1, CrashPoint::Side::kAfter, [] {});
  CrashingProvider provider(inner, point);
  EXPECT_FALSE(provider.markUnhealthy("local:///z/i-1", "t").has_value());
  EXPECT_EQ(inner.marks, 1);
}

}  // namespace
}  // namespace mainstay::cloud
