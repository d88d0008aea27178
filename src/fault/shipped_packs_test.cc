#include "fault/shipped_packs.h"

#include <gmock/gmock.h>

#include "fault/pack_check.h"

namespace mainstay::fault {
namespace {

TEST(ShippedPacks, AreReadTheirExamplesHoldAndNothingIsOdd) {
  const auto packs = shippedPacks();
  ASSERT_TRUE(packs) << packs.error().toString();
  EXPECT_THAT(testPacks(*packs), testing::IsEmpty());
  EXPECT_THAT(lintPacks(*packs), testing::IsEmpty());
}

TEST(ShippedPacks, KnowEveryXidAndTheSubCodesOfNVLink) {
  const auto packs = shippedPacks();
  ASSERT_TRUE(packs);
  for (int code = 1; code <= 176; ++code) {
    EXPECT_TRUE(findEntry(*packs, "nvidia/xid/" + std::to_string(code)).entry) << code;
  }
  EXPECT_EQ(findEntry(*packs, "nvidia/xid/177").entry, nullptr);
  EXPECT_GT(findEntry(*packs, "nvidia/xid/145").entry->variants.size(), 30u);
  EXPECT_GE(findEntry(*packs, "nvswitch/sxid/20034").rule->codes.size(), 260u);
}

}  // namespace
}  // namespace mainstay::fault
