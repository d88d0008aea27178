#include "agent/probes/amd_gaudi.h"

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

constexpr char kCard[] = "/sys/class/drm/card1/device/";
constexpr char kAmdPci[] = "/sys/bus/pci/devices/0000:05:00.0/";
constexpr char kGaudi[] = "/sys/class/accel/accel0/";

TEST(AmdProbeTest, ErrorsOfABlock) {
  ProbeBench bench(amdProbe());
  bench.put(std::string(kCard) + "vendor", "0x1002")
      .put(std::string(kCard) + "uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:05:00.0\n");
  bench.put(std::string(kCard) + "ras/umc_err_count", "ue: 0\nce: 5\n")
      .put(std::string(kCard) + "ras/features", "x");
  bench.put("/sys/class/drm/card0/device/vendor", "0x1a03").put("/sys/class/drm/card1-DP-1/status", "x");
  EXPECT_THAT(bench.look(), IsEmpty());
  EXPECT_EQ(bench.last().blind, "");
  bench.put(std::string(kCard) + "ras/umc_err_count", "ue: 1\nce: 106\n");
  EXPECT_THAT(bench.look(),
              ElementsAre("AmdUncorrectableErrors 0000:05:00.0", "AmdCorrectableErrors 0000:05:00.0"));
  EXPECT_EQ(bench.message("AmdUncorrectableErrors"), "0000:05:00.0: 1 uncorrectable errors of the block umc");
  bench.put(std::string(kCard) + "ras/umc_err_count", "none").look();
  EXPECT_THAT(bench.last().blind, HasSubstr("expected the lines ue: and ce:"));
}

TEST(AmdProbeTest, AGpuThatItsDriverDoesNotHave) {
  ProbeBench bench(amdProbe());
  bench.put(std::string(kAmdPci) + "vendor", "0x1002").put(std::string(kAmdPci) + "class", "0x120000");
  EXPECT_THAT(bench.look(), IsEmpty());
  bench.put("/sys/module/amdgpu/initstate", "live");
  EXPECT_THAT(bench.look(), ElementsAre("AmdGpuWithoutDriver 0000:05:00.0"));
  bench.put(std::string(kAmdPci) + "driver/module", "x");
  EXPECT_THAT(bench.look(), IsEmpty());
}

TEST(GaudiProbeTest, ItsStatus) {
  ProbeBench bench(gaudiProbe());
  bench.put(std::string(kGaudi) + "device/vendor", "0x1da3")
      .put(std::string(kGaudi) + "device/status", "Operational");
  bench.put("/sys/class/accel/accel1/status", "malfunction");  // not one of these
  EXPECT_THAT(bench.look(), IsEmpty());
  bench.put(std::string(kGaudi) + "device/status", "needs reset");
  EXPECT_THAT(bench.look(), ElementsAre("GaudiNotOperational accel0"));
  EXPECT_EQ(bench.message("GaudiNotOperational"), "accel0: the device is \"needs reset\"");
}

}  // namespace
}  // namespace mainstay::agent::probes
