#include "agent/probes/nvidia.h"

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

constexpr char kFirst[] = "0000:01:00.0";
constexpr char kSecond[] = "0000:02:00.0";

void putOnBus(ProbeBench& bench, const std::string& address) {
  const std::string folder = "/sys/bus/pci/devices/" + address;
  bench.put(folder + "/vendor", "0x10de\n")
      .put(folder + "/class", "0x030200\n")
      .put(folder + "/driver/bind", "");
  bench.put("/sys/bus/pci/drivers/nvidia/" + address + "/vendor", "0x10de");
}

class NvidiaProbeTest : public ::testing::Test {
 protected:
  NvidiaProbeTest() {
    putOnBus(bench, kFirst);
    putOnBus(bench, kSecond);
    bench.put("/sys/module/nvidia/initstate", "live");
  }
  HostCalls calls() {
    HostCalls calls;
    calls.nvml = [this] { return [this](Duration) { return answer; }; };
    return calls;
  }
  // Two healthy GPUs, the first with `more` of JSON.
  void say(const std::string& more) {
    answer =
        R"({"driver": "570.1", "gpus": [{"index": 0, "pci": "0000:01:00.0", "name": "H100", "serial": "7")" +
        (more.empty() ? "" : ", " + more) + R"(}, {"index": 1, "pci": "0000:02:00.0", "name": "H100"}]})";
  }

  Result<std::string> answer = std::string(R"({"gpus": []})");
  ProbeBench bench{nvidiaProbe(), calls()};
};

TEST_F(NvidiaProbeTest, CountsGpusOnTheBusAndInTheDriversList) {
  ProbeBench four(nvidiaProbe(), calls(), "g6.12xlarge");
  putOnBus(four, kFirst);
  putOnBus(four, kSecond);
  four.put("/sys/bus/pci/devices/0000:09:00.0/vendor", "0x10de");  // a switch
  four.put("/sys/bus/pci/devices/0000:09:00.0/class", "0x068000");
  say("");
  EXPECT_THAT(four.look(), ElementsAre("GpuMissing"));
  EXPECT_EQ(four.message("GpuMissing"), "2 GPUs of 4 are on the PCI bus");
  putOnBus(four, "0000:03:00.0");
  putOnBus(four, "0000:04:00.0");
  EXPECT_THAT(four.look(),
              ElementsAre("GpuNotListedByDriver 0000:03:00.0", "GpuNotListedByDriver 0000:04:00.0"));
}

TEST_F(NvidiaProbeTest, WhatNvmlSaysOfAGpu) {
  struct Case {
    const char* json;
    std::vector<std::string> seen;
  };
  const std::string first = std::string(" ") + kFirst;
  for (const Case& c : {
           Case{"", {}},
           Case{R"("lost": true)", {"GpuLost" + first}},
           Case{R"("resetRequired": true)", {"GpuNeedsReset" + first}},
           Case{R"("recoveryAction": 0)", {}},
           Case{R"("recoveryAction": 1)", {"GpuNeedsReset" + first}},
           Case{R"("recoveryAction": 2)", {"GpuNeedsReboot" + first}},
           Case{R"("recoveryAction": 3)", {"GpuNeedsDrain" + first}},
           Case{R"("recoveryAction": 4)", {"GpuNeedsReset" + first}},
           Case{R"("recoveryAction": 5)", {"GpuImexDomainBroken" + first}},
           Case{R"("eccUncorrected": 1)", {"GpuUncorrectableErrors" + first}},
           Case{R"("sramThresholdExceeded": true)", {"GpuSramErrorThreshold" + first}},
           Case{R"("remappedUncorrected": 512, "remapPending": true)", {"GpuRowRemapPending" + first}},
           Case{R"("remappedUncorrected": 513, "remapFailed": true)",
                {"GpuRowRemapMany" + first, "GpuRowRemapFailed" + first}},
           Case{R"("retiredPages": 59, "retirementPending": true)", {"GpuPageRetirementPending" + first}},
           Case{R"("retiredPages": 60)", {"GpuRetiredPagesMany" + first}},
           Case{R"("throttle": 4)", {}},
           Case{R"("throttle": 72)", {"GpuThermalSlowdown" + first}},
           Case{R"("throttle": 136)", {"GpuPowerBrake" + first}},
           Case{R"("eccOn": false)", {}},
           Case{R"("fabric": {"state": 0, "status": 0})", {}},
           Case{R"("fabric": {"state": 3, "status": 0, "healthMask": 4394})", {}},
           Case{R"("fabric": {"state": 2, "status": 0})", {"GpuFabricNotReady" + first}},
           Case{R"("fabric": {"state": 3, "status": 999})", {"GpuFabricNotReady" + first}},
           Case{R"("fabric": {"state": 3, "status": 0, "healthMask": 785})", {"GpuFabricUnhealthy" + first}},
       }) {
    say(c.json);
    EXPECT_EQ(bench.look(), c.seen) << c.json;
    EXPECT_EQ(bench.last().blind, "") << c.json;
  }
  EXPECT_EQ(bench.message("GpuFabricUnhealthy"),
            "GPU 0 (0000:01:00.0, H100, serial 7), its fabric: its bandwidth is degraded, a route is "
            "unhealthy, its "
            "configuration is wrong");
}

TEST_F(NvidiaProbeTest, LinksAreMeasuredByThoseOfTheirLikeAndTheirPast) {
  const auto links = [](bool first, bool second) {
    const auto text = [](bool active) { return std::string(active ? "true" : "false"); };
    return R"("links": [{"link": 0, "active": )" + text(first) + R"(}, {"link": 1, "active": )" +
           text(second) + "}]";
  };
  say(links(false, false));
  EXPECT_THAT(bench.look(), IsEmpty()) << "no bridge";
  say(links(true, false));
  EXPECT_THAT(bench.look(), ElementsAre("NvlinkDown 0000:02:00.0")) << "its like has one";
  say(links(false, false));
  EXPECT_THAT(bench.look(), ElementsAre("NvlinkDown 0000:01:00.0")) << "it had one";
  EXPECT_THAT(bench.message("NvlinkDown"), HasSubstr("0 of 1 NVLinks are active"));
}

TEST_F(NvidiaProbeTest, CountersOfLinksAndMemoryGrow) {
  const auto with = [](int recoveries, int corrected) {
    return R"("eccCorrected": )" + std::to_string(corrected) +
           R"(, "links": [{"link": 3, "active": true, "recoveries": )" + std::to_string(recoveries) +
           R"(, "replays": 5, "crcErrors": 5}])";
  };
  say(with(100, 1000));
  bench.look();
  say(with(104, 1050));
  EXPECT_THAT(bench.look(), ElementsAre("NvlinkDown 0000:02:00.0"));
  say(with(110, 1200));
  EXPECT_THAT(bench.look(), ElementsAre("GpuCorrectedErrors 0000:01:00.0", "NvlinkRecoveries 0000:01:00.0/3",
                                        "NvlinkDown 0000:02:00.0"));
  EXPECT_TRUE(bench.last().sightings[0].again);
}

TEST_F(NvidiaProbeTest, AGpuThatIsLostWithoutAnAddressIsNotMissedTwice) {
  answer = R"({"gpus": [{"index": 0, "lost": true}, {"index": 1, "pci": "0000:02:00.0"}]})";
  EXPECT_THAT(bench.look(), ElementsAre("GpuLost gpu0"));
}

TEST_F(NvidiaProbeTest, WhereNvmlSaysNothingTheProbeIsBlind) {
  struct Case {
    Result<std::string> answer;
    const char* blind;
    std::vector<std::string> seen;
  };
  const std::string mismatch = R"json({"errorCode": 18, "error": "nvmlInit_v2: version mismatch (18)"})json";
  const std::string failure =
      R"json({"gpus": [{"index": 0, "pci": "0000:01:00.0", "failures": ["nvmlX: Unknown (999)"]},
                                                {"index": 1, "pci": "0000:02:00.0"}]})json";
  for (const Case& c :
       {Case{fail(Code::kDeadlineExceeded, "mainstay-nvml did not end"), "did not end", {"NvmlHung nvml"}},
        Case{fail(Code::kInternal, "mainstay-nvml was ended by signal 11"), "signal 11", {}},
        Case{std::string("{"), "invalid JSON", {}},
        Case{std::string(R"({"gpus": [{"index": "x"}]})"), "expected", {}},
        Case{mismatch, "version mismatch (18)", {}},
        Case{failure, "GPU 0 (0000:01:00.0): nvmlX: Unknown (999)", {}}}) {
    answer = c.answer;
    EXPECT_EQ(bench.look(), c.seen) << c.blind;
    EXPECT_THAT(bench.last().blind, HasSubstr(c.blind));
  }
}

TEST_F(NvidiaProbeTest, GpusThatNobodyOrSomebodyElseHas) {
  answer = fail(Code::kInternal, "nobody asks");
  bench.remove("/sys/bus/pci/drivers/nvidia");
  EXPECT_THAT(bench.look(), IsEmpty()) << "given to virtual machines";
  EXPECT_EQ(bench.last().blind, "");
  bench.remove("/sys/bus/pci/devices/0000:01:00.0/driver");
  EXPECT_THAT(bench.look(), ElementsAre("GpuWithoutDriver 0000:01:00.0"));
  bench.remove("/sys/module/nvidia");
  EXPECT_THAT(bench.look(), IsEmpty());
  EXPECT_THAT(bench.last().blind, HasSubstr("has no driver"));
}

TEST(NvmlSurveyTest, IsBounded) {
  std::string many;
  for (int i = 0; i < 65; ++i) {
    many += (many.empty() ? "" : ",") + std::string(R"({"index": 1})");
  }
  EXPECT_THAT(parseNvmlSurvey(R"({"gpus": [)" + many + "]}").error().toString(),
              HasSubstr("at most 64 elements, found 65"));
  const auto survey =
      parseNvmlSurvey(R"({"gpus": [{"index": 1, "name": ")" + std::string(1000, 'x') + R"("}], "new": 1})");
  ASSERT_TRUE(survey);
  EXPECT_EQ(survey->gpus[0].name.size(), 128u);
}

}  // namespace
}  // namespace mainstay::agent::probes
