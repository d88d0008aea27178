#include "agent/probes/ata_smart.h"

#include <gtest/gtest.h>

namespace mainstay::agent::probes {
namespace {

std::string rawBytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) {
    text += static_cast<char>(value);
  }
  return text;
}

TEST(AtaSmartTest, CommandsAreThoseOfTheStandard) {
  EXPECT_EQ(smartReturnStatus(),
            (ScsiCommand{0x85, 0x06, 0x20, 0, 0xda, 0, 1, 0, 0, 0, 0x4f, 0, 0xc2, 0, 0xb0, 0}));
  EXPECT_EQ(smartReadData(),
            (ScsiCommand{0x85, 0x08, 0x0e, 0, 0xd0, 0, 1, 0, 0, 0, 0x4f, 0, 0xc2, 0, 0xb0, 0}));
}

TEST(AtaSmartTest, TheVerdictStandsInTheRegistersOfEitherFormatOfSense) {
  const auto descriptor = [](int mid, int high) {  // behind another one, of 4 bytes
    return rawBytes({0x72, 1, 0, 0x1d, 0, 0, 0, 18, 0x02, 2, 0,    0, 0x09,
                     0x0c, 0, 0, 0,    0, 0, 0, 0,  mid,  0, high, 0, 0x50});
  };
  const auto fixed = [](int mid, int high) {
    return rawBytes({0xf0, 0, 1, 0, 0x50, 0, 0, 10, 0, 0, mid, high, 0, 0x1d, 0, 0, 0, 0});
  };
  EXPECT_EQ(saysItFails(descriptor(0x4f, 0xc2)), std::optional(false));
  EXPECT_EQ(saysItFails(descriptor(0xf4, 0x2c)), std::optional(true));
  EXPECT_EQ(saysItFails(fixed(0x4f, 0xc2)), std::optional(false));
  EXPECT_EQ(saysItFails(fixed(0xf4, 0x2c)), std::optional(true));
  EXPECT_EQ(saysItFails(descriptor(0, 0)), std::nullopt);
  EXPECT_EQ(saysItFails(descriptor(0xf4, 0x2c).substr(0, 20)), std::nullopt);
  EXPECT_EQ(saysItFails(""), std::nullopt);
  EXPECT_EQ(saysItFails("anything"), std::nullopt);
}

TEST(AtaSmartTest, ADriveWithoutSmartRefuses) {
  EXPECT_TRUE(refusesSmart(rawBytes({0x72, 0x05, 0x20, 0})));
  EXPECT_TRUE(refusesSmart(rawBytes({0x70, 0, 0x05})));
  EXPECT_TRUE(refusesSmart(rawBytes({0x72, 0x0b, 0, 0})));
  EXPECT_FALSE(refusesSmart(rawBytes({0x72, 0x01, 0, 0x1d})));
  EXPECT_FALSE(refusesSmart(""));
  EXPECT_TRUE(hasDone(""));
  EXPECT_TRUE(hasDone(rawBytes({0x72, 0x01, 0, 0x1d})));
  EXPECT_FALSE(hasDone(rawBytes({0x70, 0, 0x03}))) << "a medium error";
}

TEST(AtaSmartTest, CountsOfBadSectorsAreReadFromTheAttributes) {
  std::string data(kSmartSector, '\0');
  data.replace(2, 12, rawBytes({9, 0, 0, 100, 100, 1, 2, 3, 4, 5, 6, 0}));  // hours of power
  data.replace(14, 12, rawBytes({5, 0x33, 0, 100, 100, 2, 1, 9, 9, 9, 9, 0}));
  data.replace(26, 12, rawBytes({197, 0x12, 0, 100, 100, 1, 0, 1, 0, 9, 9, 0}));
  EXPECT_EQ(badSectors(data), (std::map<int, std::uint64_t>{{5, 258}, {197, 65537}}));
  EXPECT_TRUE(badSectors(data.substr(1)).empty()) << "not a sector";
  EXPECT_TRUE(badSectors("").empty());
}

}  // namespace
}  // namespace mainstay::agent::probes
