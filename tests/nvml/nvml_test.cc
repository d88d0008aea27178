// The probe nvidia with the real child program, on a stand-in for the driver's library that plays faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "agent/probes/nvidia.h"
#include "agent/probes/nvml_child.h"

namespace mainstay::agent::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NvmlTest : public ::testing::Test {
 protected:
  NvmlTest() {
    ::setenv("LD_LIBRARY_PATH", NVML_STANDIN_FOLDER, 1);
    ::setenv("NVML_STANDIN", (folder.path() + "/play").c_str(), 1);
    for (const std::string address : {"0000:3b:00.0", "0000:3c:00.0"}) {
      put("/sys/bus/pci/devices/" + address + "/vendor", "0x10de\n");
      put("/sys/bus/pci/devices/" + address + "/class", "0x030200\n");
      put("/sys/bus/pci/devices/" + address + "/driver/bind", "");
      put("/sys/bus/pci/drivers/nvidia/" + address + "/vendor", "");
    }
    play("");
    child = askChild({MAINSTAY_BIN_DIR "/mainstay-nvml", "/"});
  }
  void put(const std::string& path, const std::string& content) const {
    std::filesystem::create_directories((folder.path() + path.substr(0, path.rfind('/'))));
    std::ofstream(folder.path() + path) << content;
  }
  void play(const std::string& faults) const { std::ofstream(folder.path() + "/play") << faults; }
  Result<std::string> ask(Duration patience = 30s) { return child(patience); }

  // What one look of a new probe sees: "reason device" each.
  std::vector<std::string> look() {
    HostCalls calls;
    calls.nvml = [this] { return AskNvml([this](Duration) { return ask(); }); };
    const auto probe =
        nvidiaProbe().make({HostFiles(files, folder.path()), calls, ""}, nvidiaProbe().defaults());
    const Look found = probe->look(*parseTime("2026-11-29T20:14:07Z"));
    blind = found.blind;
    std::vector<std::string> seen;
    for (const Sighting& sighting : found.sightings) {
      seen.push_back(sighting.reason + " " + sighting.device);
    }
    return seen;
  }

  const TemporaryFolder folder{"mainstay-nvml-"};
  const RealFileSystem files;
  AskNvml child;  // takes over the environment as it is when it is made
  std::string blind;
};

TEST_F(NvmlTest, HealthyGpusAreSurveyedInFull) {
  EXPECT_THAT(look(), ElementsAre());
  EXPECT_EQ(blind, "");
  const auto survey = parseNvmlSurvey(*ask());
  ASSERT_TRUE(survey) << survey.error().toString();
  EXPECT_EQ(survey->driver, "570.1");
  ASSERT_EQ(survey->gpus.size(), 2u);
  const NvmlGpu& gpu = survey->gpus[1];
  EXPECT_EQ(gpu.address, "0000:3c:00.0");
  EXPECT_EQ(gpu.name, "Stand-in GPU");
  EXPECT_EQ(gpu.uuid, "GPU-01");
  EXPECT_EQ(gpu.serial, "16501");
  EXPECT_EQ(gpu.eccOn, true);
  EXPECT_EQ(gpu.eccUncorrected, 0);
  EXPECT_EQ(gpu.sramThresholdExceeded, false);
  EXPECT_EQ(gpu.retiredPages, 0);
  ASSERT_EQ(gpu.links.size(), 4u);
  EXPECT_EQ(gpu.links[3].number, 3);
  EXPECT_TRUE(gpu.links[3].active);
  EXPECT_EQ(gpu.links[3].recoveries, 0) << "of the field, where the counter is not supported";
  EXPECT_EQ(gpu.fabric->state, 3);
}

TEST_F(NvmlTest, EachFaultOfAGpuIsSeen) {
  struct Case {
    const char* play;
    std::vector<std::string> seen;
  };
  const std::string second = " 0000:3c:00.0";
  for (const Case& c : {
           Case{"set ecc_uncorrected 3 1", {"GpuUncorrectableErrors" + second}},
           Case{"set sram_threshold 1 1", {"GpuSramErrorThreshold" + second}},
           Case{"set remapped 600 1\nset remap_pending 1 1\nset remap_failed 1 1",
                {"GpuRowRemapMany" + second, "GpuRowRemapFailed" + second, "GpuRowRemapPending" + second}},
           Case{"set retired_double 40 1\nset retired_single 20 1\nset retirement_pending 1 1",
                {"GpuRetiredPagesMany" + second, "GpuPageRetirementPending" + second}},
           Case{"set ecc_on 0 1", {"GpuEccOff" + second}},
           Case{"set throttle 64 1", {"GpuThermalSlowdown" + second}},
           Case{"set links 3 1", {"NvlinkDown" + second}},
           Case{"set fabric_state 2 1", {"GpuFabricNotReady" + second}},
           Case{"set fabric_health 1 1", {"GpuFabricUnhealthy" + second}},
           Case{"set recovery_action 2 1", {"GpuNeedsReboot" + second}},
           Case{"fail nvmlDeviceGetTotalEccErrors 15 1", {"GpuLost" + second}},
           Case{"fail nvmlDeviceGetTotalEccErrors 16 1", {"GpuNeedsReset" + second}},
           Case{"fail nvmlDeviceGetHandleByIndex_v2 15 1", {"GpuLost gpu1"}},
           Case{"gpus 1", {"GpuNotListedByDriver" + second}},
       }) {
    play(c.play);
    EXPECT_EQ(look(), c.seen) << c.play;
    EXPECT_EQ(blind, "") << c.play;
  }
}

TEST_F(NvmlTest, WhatIsNotSupportedIsNoFailureAndAFailureIsBlindness) {
  play("fail nvmlDeviceGetRemappedRows 3\nfail nvmlDeviceGetSramEccErrorStatus 25");
  EXPECT_THAT(look(), ElementsAre());
  EXPECT_EQ(blind, "");
  play("fail nvmlDeviceGetRemappedRows 999 0");
  EXPECT_THAT(look(), ElementsAre());
  EXPECT_THAT(
      blind,
      HasSubstr("GPU 0 (0000:3b:00.0, Stand-in GPU, serial 16500): nvmlDeviceGetRemappedRows: Stand-in "
                "error (999)"));
  play("fail nvmlInit_v2 18");
  EXPECT_THAT(look(), ElementsAre());
  EXPECT_THAT(blind, HasSubstr("nvmlInit_v2: Stand-in error (18)"));
}

TEST_F(NvmlTest, AChildThatHangsIsKilledAndTheNextLookSeesAgain) {
  for (const char* where : {"hang nvmlInit_v2", "hang nvmlDeviceGetTotalEccErrors"}) {
    play(where);
    const auto answer = ask(300ms);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code(), Code::kDeadlineExceeded);
    EXPECT_THAT(answer.error().toString(), HasSubstr("did not end within 0.300 s and was killed"));
  }
  play("");
  EXPECT_TRUE(ask());
}

TEST_F(NvmlTest, AChildThatCrashesTellsSo) {
  play("crash nvmlDeviceGetName");
  EXPECT_THAT(ask().error().toString(), HasSubstr("was ended by signal 6"));
  play("");
  EXPECT_TRUE(ask());
}

TEST_F(NvmlTest, WithoutTheLibraryItSaysWhatItTried) {
  ::setenv("LD_LIBRARY_PATH", "/nowhere", 1);
  child = askChild({MAINSTAY_BIN_DIR "/mainstay-nvml", folder.path()});
  const auto answer = ask();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kUnavailable);
  EXPECT_THAT(answer.error().toString(),
              HasSubstr(folder.path() + "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"));
  std::filesystem::create_directories(folder.path() + "/usr/lib64");
  std::filesystem::copy(NVML_STANDIN_FOLDER "/libnvidia-ml.so.1",
                        folder.path() + "/usr/lib64/libnvidia-ml.so.1");
  EXPECT_TRUE(ask()) << "below the host's root";
}

}  // namespace
}  // namespace mainstay::agent::probes
