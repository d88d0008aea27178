#include "agent/replay.h"

#include <gmock/gmock.h>

#include "fault/shipped_packs.h"

namespace mainstay::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<Replayed> replayed(const std::string& kmsg, std::optional<Duration> handledUntil = std::nullopt) {
  return replay({kmsg, *fault::shippedPacks(), TimePoint{}, handledUntil});
}

std::vector<std::string> trueConditions(const Replayed& replay) {
  std::vector<std::string> types;
  for (const api::Condition& condition : replay.conditions) {
    if (condition.status == "True") {
      types.push_back(condition.type + "/" + condition.reason);
    }
  }
  return types;
}

std::vector<std::string> eventReasons(const Replayed& replay) {
  std::vector<std::string> reasons;
  for (const NodeEvent& event : replay.events) {
    reasons.push_back(event.reason);
  }
  return reasons;
}

constexpr char kBusLost[] =
    "6,1,100000000,-;nvidia 0000:5e:00.0: enabling device\n SUBSYSTEM=pci\n DEVICE=+pci:0000:5e:00.0\n"
    "3,2,101000000,-;NVRM: Xid (PCI:0000:5e:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the "
    "bus.\n"
    "3,3,101000100,-;NVRM: GPU 0000:5e:00.0: GPU has fallen off the bus.\n"
    "3,4,101200000,-;NVRM: Xid (PCI:0000:5e:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (OS "
    "Reboot)\n";

TEST(Replay, TellsFindingConditionEventsAndTheOneAction) {
  const auto replay = replayed(kBusLost);
  ASSERT_TRUE(replay) << replay.error().toString();
  EXPECT_EQ(replay->records, 4u);
  EXPECT_THAT(trueConditions(*replay), ElementsAre("GPUFault/Xid79"));
  EXPECT_THAT(eventReasons(*replay), ElementsAre("XidError", "Xid79"));
  ASSERT_EQ(replay->findings.size(), 1u);
  EXPECT_EQ(replay->findings[0].sighting.count, 2u);
  EXPECT_EQ(replay->findings[0].sighting.first, TimePoint(std::chrono::microseconds(101000000)));
  EXPECT_THAT(replay->findings[0].reasons, ElementsAre("record 2 matches nvidia/xid; it sets GPUFault",
                                                       "nvidia/xid/154 says more: GPUFault, action reboot"));
  EXPECT_EQ(replay->proposal.action, fault::RepairAction::kReboot);
  EXPECT_EQ(replay->proposal.finding, "nvidia/xid/79@0000:5e:00.0");
  EXPECT_THAT(replay->proposal.why, HasSubstr("nvidia/xid/154 says more"));
  ASSERT_EQ(replay->published.size(), 1u);
}

TEST(Replay, WaitsBetweenRecordsAsTheAgentDoes) {
  const auto replay = replayed(
      "3,1,100000000,-;NVRM: Xid (PCI:0008:01:00): 163, Power smoothing HW circuitry disengaged\n"
      "6,2,170000000,-;eth0: up\n"
      "3,3,180000000,-;NVRM: Xid (PCI:0008:01:00): 162, Power smoothing HW circuitry re-engaged\n");
  ASSERT_EQ(replay->findings.size(), 2u);
  EXPECT_EQ(replay->findings[0].state, ReplayedFinding::State::kResolved)
      << "it had counted before it was ended";
  EXPECT_THAT(trueConditions(*replay), IsEmpty());
}

TEST(Replay, GapsInTheNumbersAreTold) {
  const auto replay = replayed("6,1,100000000,-;a\n6,41879,101000000,-;b\n");
  EXPECT_THAT(eventReasons(*replay), ElementsAre("KernelLogRecordsLost", "MonitorsAreReading"));
  EXPECT_THAT(replay->events[0].message, HasSubstr("41877 records"));
}

TEST(Replay, WhatWasHandledBeforeGivesNothing) {
  EXPECT_THAT(replayed(kBusLost, std::chrono::seconds(102))->findings, IsEmpty());
  EXPECT_THAT(replayed(kBusLost, std::chrono::microseconds(101000000))->findings, ::testing::SizeIs(1));
}

TEST(Replay, LinesOfUserSpaceAreShownAndDoNotCount) {
  const auto replay =
      replayed("12,1,1,-;NVRM: Xid (PCI:0000:5e:00): 79, pid=1, name=x, GPU has fallen off the bus.\n");
  ASSERT_EQ(replay->findings.size(), 1u);
  EXPECT_EQ(replay->findings[0].state, ReplayedFinding::State::kUntrusted);
  EXPECT_EQ(replay->proposal.action, fault::RepairAction::kNone);
  EXPECT_THAT(replay->events, IsEmpty());
}

TEST(Replay, AnotherFileIsRefused) {
  const auto replay = replayed("[  12.345] NVRM: Xid\nhello\n");
  ASSERT_FALSE(replay);
  EXPECT_THAT(replay.error().toString(), HasSubstr("as `cat /dev/kmsg` prints them"));
}

}  // namespace
}  // namespace mainstay::agent
