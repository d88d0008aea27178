#include "agent/probes/neuron.h"

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

constexpr char kDevice0[] = "/sys/devices/virtual/neuron_device/neuron0/";

class NeuronProbeTest : public ::testing::Test {
 protected:
  NeuronProbeTest() {
    bench.put("/sys/module/neuron/initstate", "live");
    for (const char* counter :
         {"mem_ecc_uncorrected", "mem_ecc_repairable_uncorrected", "sram_ecc_uncorrected"}) {
      put(std::string("stats/hardware/") + counter, "0");
    }
  }
  ProbeBench& put(const std::string& file, const std::string& content) {
    return bench.put(kDevice0 + file, content);
  }

  ProbeBench bench{neuronProbe(), {}, "trn1.2xlarge"};
};

TEST_F(NeuronProbeTest, UncorrectableErrorsOfADevice) {
  EXPECT_THAT(bench.look(), IsEmpty());
  EXPECT_EQ(bench.last().blind, "");
  put("stats/hardware/mem_ecc_uncorrected", "1")
      .put(std::string(kDevice0) + "stats/hardware/sram_ecc_uncorrected", "2");
  EXPECT_THAT(bench.look(), ElementsAre("NeuronHbmUncorrectableErrors 0", "NeuronSramUncorrectableErrors 0"));
  EXPECT_EQ(bench.message("NeuronSramUncorrectableErrors"), "Neuron device 0: sram_ecc_uncorrected is 2");
  EXPECT_EQ(neuronProbe().find("NeuronHbmUncorrectableErrors")->clearOn, ClearOn::kInstance);
}

TEST_F(NeuronProbeTest, PartsThatTheDriverNamesAndManyCorrectedErrors) {
  put("health_status/unhealthy_components", "none")
      .put(std::string(kDevice0) + "stats/hardware/mem_ecc_corrected", "7");
  EXPECT_THAT(bench.look(), IsEmpty());
  put("health_status/unhealthy_components", "hbm link_efa\n");
  put("stats/hardware/mem_ecc_corrected", "120");
  EXPECT_THAT(bench.look(), ElementsAre("NeuronHbmCorrectedErrors 0", "NeuronComponentUnhealthy 0"));
  EXPECT_THAT(bench.message("NeuronComponentUnhealthy"), HasSubstr("hbm link_efa"));
}

TEST_F(NeuronProbeTest, FewerDevicesThanTheInstanceTypeHas) {
  bench.remove("/sys/devices/virtual/neuron_device");
  EXPECT_THAT(bench.look(), ElementsAre("NeuronDeviceCountMismatch"));
  EXPECT_EQ(bench.message("NeuronDeviceCountMismatch"), "0 Neuron devices of 1 are there");
  bench.remove("/sys/module/neuron");
  EXPECT_THAT(bench.look(), IsEmpty());
  EXPECT_THAT(bench.last().blind, HasSubstr("driver is not loaded"));
}

TEST_F(NeuronProbeTest, ATreeThatItDoesNotKnowIsBlindness) {
  bench.remove(std::string(kDevice0) + "stats/hardware");
  put("core_count", "2");
  EXPECT_THAT(bench.look(), IsEmpty());
  EXPECT_THAT(bench.last().blind, HasSubstr("does not know"));
}

TEST(NeuronWithoutNeuronTest, HasNothingToWatch) {
  ProbeBench bench(neuronProbe(), {}, "p5.48xlarge");
  EXPECT_THAT(bench.look(), IsEmpty());
  EXPECT_EQ(bench.last().blind, "");
}

}  // namespace
}  // namespace mainstay::agent::probes
