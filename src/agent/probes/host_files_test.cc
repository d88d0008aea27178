#include "agent/probes/host_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/probes/counters.h"
#include "agent/probes/instance_type.h"
#include "agent/probes/planned_work.h"

namespace mainstay::agent::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(HostFilesTest, StandUnderARoot) {
  const FakeFileSystem files({{"/host/sys/a", "1"}, {"/sys/a", "2"}});
  EXPECT_EQ(*HostFiles(files, "/host/").read("/sys/a"), "1");
  EXPECT_EQ(*HostFiles(files, "/").read("/sys/a"), "2");
  EXPECT_EQ(HostFiles(files, "/host").locate("/dev/nvme0"), "/host/dev/nvme0");
}

TEST(HostViewTest, TellsWhatIsNotThereFromWhatCannotBeRead) {
  FakeFileSystem files({{"/sys/number", "12\n"},
                        {"/sys/hex", "0x10de\n"},
                        {"/sys/word", "many"},
                        {"/sys/no", ""},
                        {"/sys/off", ""},
                        {"/sys/folder/x", ""}});
  files.failOn("/sys/no", Error(Code::kPermissionDenied, "no"));
  files.failOn("/sys/off", Error(Code::kInvalidArgument, "invalid"));
  const HostFiles host(files);
  HostView view(host);
  EXPECT_EQ(view.number("/sys/number"), 12u);
  EXPECT_EQ(view.number("/sys/hex"), 0x10deu);
  EXPECT_EQ(view.number("/sys/none"), std::nullopt);
  EXPECT_EQ(view.number("/sys/off"), std::nullopt);
  EXPECT_EQ(view.list("/sys/none"), std::vector<std::string>());
  EXPECT_EQ(view.textIfAny("/sys/no"), std::nullopt);
  EXPECT_EQ(view.blind(), "");
  EXPECT_EQ(view.text("/sys/no"), std::nullopt);
  EXPECT_EQ(view.number("/sys/word"), std::nullopt);
  EXPECT_THAT(view.blind(), HasSubstr("no; /sys/word: expected a number, found \"many\""));
  for (int i = 0; i < 3; ++i) {
    view.miss("x");
  }
  EXPECT_THAT(view.blind(), HasSubstr("; x; and 2 more"));
}

TEST(ParseTest, Numbers) {
  EXPECT_EQ(parseNumber("18446744073709551615"), 18446744073709551615u);
  for (const char* wrong : {"", "-1", "1 2", "0x", "18446744073709551616", "1.5"}) {
    EXPECT_EQ(parseNumber(wrong), std::nullopt) << wrong;
  }
  const std::string text = "oom_kill_x 1\noom_kill 7\nSwapTotal:    8 kB\nTOTAL_ERR_COR 3";
  EXPECT_EQ(numberAfter(text, "oom_kill"), 7u);
  EXPECT_EQ(numberAfter(text, "SwapTotal:"), 8u);
  EXPECT_EQ(numberAfter(text, "TOTAL_ERR_COR"), 3u);
  EXPECT_EQ(numberAfter(text, "SwapFree:"), std::nullopt);
  EXPECT_EQ(numberAfter("a b", "a"), std::nullopt);
}

// What a counter does at each second, against a limit.
TEST(CountersTest, AreOverTheLimit) {
  struct Case {
    Limit limit;
    std::vector<std::uint64_t> values;
    std::string over;  // a "y" for each look that is over it
  };
  for (const Case& c : {Case{{0, 0s}, {5, 5, 6, 6, 8}, "--y-y"}, Case{{0, 0s}, {5, 0, 1}, "--y"},
                        Case{{2, 0s}, {0, 2, 5}, "--y"}, Case{{10, 10s}, {0, 5, 10, 15}, "---y"},
                        Case{{10, 10s}, {0, 100, 100, 100}, "-yyy"},
                        Case{{10, 10s}, {0, 1, 2, 3, 4, 5, 6}, "-------"}, Case{{1, 1h}, {7, 8, 9}, "--y"}}) {
    Counters counters;
    std::string over;
    TimePoint now = *parseTime("2026-11-29T20:14:07Z");
    for (const std::uint64_t value : c.values) {
      over += counters.watch("c", value, c.limit, now += 1s).over ? "y" : "-";
    }
    EXPECT_EQ(over, c.over);
  }
}

TEST(CountersTest, ABurstIsOverWithinThePeriodOfItsEnd) {
  Counters counters;
  TimePoint now = *parseTime("2026-11-29T20:14:07Z");
  counters.watch("c", 0, {10, 1h}, now);
  EXPECT_TRUE(counters.watch("c", 1000000, {10, 1h}, now += 1min).over);
  EXPECT_TRUE(counters.watch("c", 1000000, {10, 1h}, now += 59min).over);
  EXPECT_FALSE(counters.watch("c", 1000000, {10, 1h}, now += 2min).over);
}

TEST(CountersTest, SayHowMuch) {
  EXPECT_EQ(riseText("link_downed", {3, true}, 15, {0, 0s}),
            "link_downed rose by 3 to 15 (limit: any growth)");
  EXPECT_EQ(riseText("x", {3, true}, 15, {2, 1h}), "x rose by 3 to 15 (limit: 2 in 1 h)");
}

TEST(PlannedWorkTest, IsAShutdownOrADriverOnItsWay) {
  const auto of = [](std::map<std::string, std::string> tree) {
    const FakeFileSystem files(std::move(tree));
    return plannedWork(HostFiles(files));
  };
  EXPECT_EQ(of({{"/sys/module/nvidia/initstate", "live\n"}}), "");
  EXPECT_THAT(of({{"/sys/module/nvidia/initstate", "going\n"}}), HasSubstr("driver nvidia"));
  EXPECT_THAT(of({{"/sys/module/neuron/initstate", "coming\n"}}), HasSubstr("driver neuron"));
  EXPECT_THAT(of({{"/run/systemd/shutdown/scheduled", "USEC=1\nMODE=reboot\n"}}), HasSubstr("shutdown"));
  EXPECT_THAT(of({{"/run/nologin", ""}}), HasSubstr("logins"));
}

TEST(InstanceTypeTest, SaysWhatTheMachineHasToHave) {
  EXPECT_EQ(expectedAccelerators("p5.48xlarge")->nvidiaGpus, 8);
  EXPECT_EQ(expectedAccelerators("trn1.32xlarge")->neuronDevices, 16);
  EXPECT_EQ(expectedAccelerators("inf2.24xlarge")->neuronDevices, 6);
  EXPECT_FALSE(expectedAccelerators("m5.large"));
  const FakeFileSystem ec2(
      {{"/sys/class/dmi/id/sys_vendor", "Amazon EC2\n"}, {"/sys/class/dmi/id/product_name", "g5.xlarge\n"}});
  EXPECT_EQ(instanceTypeOf(HostFiles(ec2)), "g5.xlarge");
  const FakeFileSystem other(
      {{"/sys/class/dmi/id/sys_vendor", "QEMU"}, {"/sys/class/dmi/id/product_name", "pc"}});
  EXPECT_EQ(instanceTypeOf(HostFiles(other)), "");
}

}  // namespace
}  // namespace mainstay::agent::probes
