#include "agent/probes/kernel.h"

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

HostCalls clockOf(ClockState state) {
  HostCalls calls;
  calls.clock = [state] { return state; };
  return calls;
}

TEST(KernelProbeTest, SignsOfPastTroubleStay) {
  struct Case {
    const char* path;
    const char* content;
    const char* seen;
  };
  for (const Case& c : {Case{"/proc/sys/kernel/tainted", "128", "KernelOops"},
                        Case{"/sys/kernel/oops_count", "2", "KernelOops"},
                        Case{"/proc/sys/kernel/tainted", "32", "KernelBadPage"},
                        Case{"/proc/sys/kernel/tainted", "16384", "KernelSoftLockup"},
                        Case{"/proc/sys/kernel/tainted", "16", "KernelMachineCheck"},
                        Case{"/sys/kernel/hardlockup_count", "1", "KernelHardLockup"},
                        Case{"/sys/kernel/rcu_stall_count", "1", "KernelRcuStall"}}) {
    ProbeBench bench(kernelProbe(), clockOf({}));
    EXPECT_THAT(bench.put(c.path, c.content).look(), ElementsAre(c.seen)) << c.path;
    EXPECT_THAT(bench.look(), ElementsAre(c.seen)) << c.path;
  }
}

TEST(KernelProbeTest, OrdinaryTaintsAreNone) {
  ProbeBench bench(kernelProbe(), clockOf({}));
  bench.put("/sys/kernel/oops_count", "0").put("/proc/sys/kernel/hung_task_detect_count", "40");
  EXPECT_THAT(bench.put("/proc/sys/kernel/tainted", "4609").look(),
              IsEmpty());  // proprietary, warning, out of tree
}

TEST(KernelProbeTest, NewHungTasks) {
  ProbeBench bench(kernelProbe(), clockOf({}));
  bench.put("/proc/sys/kernel/hung_task_detect_count", "40").look();
  EXPECT_THAT(bench.put("/proc/sys/kernel/hung_task_detect_count", "41").look(),
              ElementsAre("KernelHungTasks"));
  EXPECT_THAT(bench.look(), IsEmpty());
}

TEST(KernelProbeTest, TheClock) {
  ProbeBench wrong(kernelProbe(), clockOf({false, 16s}));
  EXPECT_THAT(wrong.look(), ElementsAre("ClockUnsynchronized"));
  EXPECT_EQ(wrong.message("ClockUnsynchronized"), "the clock is not synchronized, its error may be 16 s");
  HostCalls refusing;
  refusing.clock = []() -> Result<ClockState> { return fail(Code::kPermissionDenied, "adjtimex: refused"); };
  ProbeBench blind(kernelProbe(), refusing);
  EXPECT_THAT(blind.look(), IsEmpty());
  EXPECT_THAT(blind.last().blind, HasSubstr("refused"));
}

}  // namespace
}  // namespace mainstay::agent::probes
