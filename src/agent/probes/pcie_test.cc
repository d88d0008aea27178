#include "agent/probes/pcie.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/probes/testing.h"

namespace mainstay::agent::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ProbeBench;

constexpr char kGpu[] = "/sys/bus/pci/devices/0000:3b:00.0";

std::string aerText(const std::string& total, int errors) {
  return "Undefined 0\nDLP " + std::to_string(errors) + "\n" + total + " " + std::to_string(errors) + "\n";
}

class PcieProbeTest : public ::testing::Test {
 protected:
  PcieProbeTest() {
    put("class", "0x030200").put(std::string(kGpu) + "/config", std::string("\xde\x10\x30\x23", 4));
    put("aer_dev_fatal", aerText("TOTAL_ERR_FATAL", 4));
    put("aer_dev_nonfatal", aerText("TOTAL_ERR_NONFATAL", 0));
    put("aer_dev_correctable", aerText("TOTAL_ERR_COR", 100000));
    put("current_link_width", "16").put(std::string(kGpu) + "/max_link_width", "16");
    put("current_link_speed", "2.5 GT/s PCIe").put(std::string(kGpu) + "/max_link_speed", "32.0 GT/s PCIe");
  }
  ProbeBench& put(const std::string& file, const std::string& content) {
    return bench.put(std::string(kGpu) + "/" + file, content);
  }

  ProbeBench bench{pcieProbe()};
};

TEST_F(PcieProbeTest, AHealthyDeviceIsQuietWhateverItCountedBefore) {
  EXPECT_THAT(bench.look(), IsEmpty());
  EXPECT_THAT(bench.look(), IsEmpty());
  EXPECT_EQ(bench.last().blind, "");
}

TEST_F(PcieProbeTest, CountsErrorsAgainstTheirLimits) {
  bench.look();
  put("aer_dev_fatal", aerText("TOTAL_ERR_FATAL", 5));
  put("aer_dev_nonfatal", aerText("TOTAL_ERR_NONFATAL", 10));
  put("aer_dev_correctable", aerText("TOTAL_ERR_COR", 100500));
  EXPECT_THAT(bench.look(), ElementsAre("PcieFatalErrors 0000:3b:00.0"));
  EXPECT_THAT(bench.message("PcieFatalErrors"), HasSubstr("TOTAL_ERR_FATAL rose by 1 to 5"));
  EXPECT_TRUE(bench.last().sightings[0].again);
  put("aer_dev_nonfatal", aerText("TOTAL_ERR_NONFATAL", 30));
  put("aer_dev_correctable", aerText("TOTAL_ERR_COR", 102000));
  EXPECT_THAT(bench.look(),
              ElementsAre("PcieNonFatalErrors 0000:3b:00.0", "PcieCorrectableErrors 0000:3b:00.0"));
}

TEST_F(PcieProbeTest, ALinkIsMeasuredByWhatBothEndsCan) {
  put("current_link_width", "8");
  EXPECT_THAT(bench.look(), ElementsAre("PcieLinkNarrow 0000:3b:00.0"));
  EXPECT_EQ(bench.message("PcieLinkNarrow"), "0000:3b:00.0: the link has 8 lanes of 16");
  put("../max_link_width", "8");
  EXPECT_THAT(bench.look(), IsEmpty());
  put("current_link_width", "255");
  EXPECT_THAT(bench.look(), IsEmpty());
}

TEST_F(PcieProbeTest, OnlyGpusMaySlowTheirLinkDown) {
  put("class", "0x020700");
  EXPECT_THAT(bench.look(), ElementsAre("PcieLinkSlow 0000:3b:00.0"));
  put("../max_link_speed", "2.5 GT/s PCIe");
  EXPECT_THAT(bench.look(), IsEmpty());
  put("current_link_speed", "Unknown");
  EXPECT_THAT(bench.look(), IsEmpty());
}

TEST_F(PcieProbeTest, ADeviceThatFellOffTheBusIsLostUnlessItSleeps) {
  put("config", "\xff\xff\xff\xff");
  put("current_link_width", "1");
  EXPECT_THAT(bench.look(), ElementsAre("PcieDeviceLost 0000:3b:00.0"));
  put("power/runtime_status", "suspended");
  EXPECT_THAT(bench.look(), IsEmpty());
}

TEST_F(PcieProbeTest, LinksOfBridgesAreNobodysBusiness) {
  put("class", "0x060400").put(std::string(kGpu) + "/current_link_width", "1");
  EXPECT_THAT(bench.look(), IsEmpty());
}

TEST_F(PcieProbeTest, IsBlindToWhatItCannotReadOrUnderstand) {
  put("aer_dev_fatal", "DLP 1\n");
  bench.deny(std::string(kGpu) + "/aer_dev_nonfatal");
  bench.look();
  EXPECT_THAT(bench.last().blind, HasSubstr("no line TOTAL_ERR_FATAL; reading"));
}

TEST(PcieProbeWithoutABusTest, HasNothingToWatch) {
  ProbeBench bench(pcieProbe());
  EXPECT_THAT(bench.look(), IsEmpty());
  EXPECT_EQ(bench.last().blind, "");
}

}  // namespace
}  // namespace mainstay::agent::probes
