#include "agent/probes/memory.h"

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

constexpr char kController[] = "/sys/devices/system/edac/mc/mc0/";

TEST(MemoryProbeTest, UncorrectableErrorsNameTheModule) {
  ProbeBench bench(memoryProbe());
  bench.put(std::string(kController) + "ue_count", "0").put(std::string(kController) + "ce_count", "900");
  bench.put("/sys/devices/system/edac/mc/power/control", "auto");
  EXPECT_THAT(bench.look(), IsEmpty());
  bench.put(std::string(kController) + "ue_count", "2")
      .put(std::string(kController) + "dimm0/dimm_ue_count", "0")
      .put(std::string(kController) + "dimm3/dimm_ue_count", "2")
      .put(std::string(kController) + "dimm3/dimm_label", "CPU0_DIMM_D1");
  EXPECT_THAT(bench.look(), ElementsAre("MemoryUncorrectableErrors mc0"));
  EXPECT_EQ(bench.message("MemoryUncorrectableErrors"),
            "mc0: 2 uncorrectable memory errors since boot, most of them in CPU0_DIMM_D1");
}

TEST(MemoryProbeTest, CorrectedErrorsMatterWhenThereAreMany) {
  ProbeBench bench(memoryProbe());
  bench.put(std::string(kController) + "ce_count", "5").look();
  EXPECT_THAT(bench.put(std::string(kController) + "ce_count", "105").look(), IsEmpty());
  EXPECT_THAT(bench.put(std::string(kController) + "ce_count", "106").look(),
              ElementsAre("MemoryCorrectableErrors mc0"));
}

TEST(MemoryProbeTest, PressureSwapAndPoisonedPages) {
  ProbeBench bench(memoryProbe());
  bench.put("/proc/pressure/memory",
            "some avg10=90.00 avg60=90.00 avg300=90.00 total=1\n"
            "full avg10=90.00 avg60=30.00 avg300=20.00 total=1\n");
  bench.put("/proc/meminfo",
            "MemTotal: 100 kB\nSwapTotal: 1000 kB\nSwapFree: 100 kB\nHardwareCorrupted: 0 kB\n");
  EXPECT_THAT(bench.look(), IsEmpty());
  bench.put("/proc/pressure/memory", "some avg300=0.00\nfull avg10=0.00 avg60=0.00 avg300=21.40 total=1\n");
  bench.put("/proc/meminfo", "SwapTotal: 1000 kB\nSwapFree: 99 kB\nHardwareCorrupted: 8 kB\n");
  EXPECT_THAT(bench.look(), ElementsAre("MemoryPressureHigh", "MemoryPagesPoisoned", "MemorySwapNearlyFull"));
}

TEST(MemoryProbeTest, KillsForWantOfMemory) {
  ProbeBench bench(memoryProbe());
  bench.put("/proc/vmstat", "oom_kill 100\n").look();
  EXPECT_THAT(bench.put("/proc/vmstat", "oom_kill 110\n").look(), IsEmpty());
  EXPECT_THAT(bench.put("/proc/vmstat", "oom_kill 125\n").look(), ElementsAre("MemoryOomKills"));
}

TEST(MemoryProbeTest, IsBlindToACountThatIsNone) {
  ProbeBench bench(memoryProbe());
  bench.put(std::string(kController) + "ue_count", "?").look();
  EXPECT_THAT(bench.last().blind, HasSubstr("ue_count: expected a number, found \"?\""));
}

}  // namespace
}  // namespace mainstay::agent::probes
