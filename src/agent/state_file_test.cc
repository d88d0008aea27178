#include "agent/state_file.h"

#include <gmock/gmock.h>

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const TimePoint kStateNow = *parseTime("2026-11-29T20:14:07Z");

StateOwner stateOwner(const std::string& boot = "boot-1", const std::string& node = "a") {
  return {node, {boot, kStateNow - 1h}};
}

SavedState someState() {
  fault::Finding finding;
  finding.id = "nvidia/xid/79@0000:5e:00.0";
  finding.type = "GPUFault";
  finding.reason = "Xid79";
  finding.device = "0000:5e:00.0";
  finding.action = fault::RepairAction::kReboot;
  finding.seq = 7;
  finding.bootId = "boot-1";
  finding.first = kStateNow - 5min;
  finding.last = kStateNow - 1us;
  finding.count = 3;
  finding.line = "NVRM: Xid";
  SavedState state;
  state.standing.conditions = {{"GPUFault", "True", "Xid79", "off the bus: NVRM: Xid", kStateNow - 5min, {}}};
  state.standing.findings = {{finding, "off the bus: NVRM: Xid", "uid-1"}};
  state.kernelLog = LogMark{5182, 86s, kStateNow - 1s};
  return state;
}

TEST(StateFileTest, ComesOutAsItWentIn) {
  const std::string text = encodeState(someState(), stateOwner());
  const auto state = decodeState(text, stateOwner());
  ASSERT_TRUE(state) << state.error().toString();
  EXPECT_EQ(encodeState(*state, stateOwner()), text);
  EXPECT_EQ(state->kernelLog->seq, 5182u);
  EXPECT_EQ(state->kernelLog->until, kStateNow - 1s);
  EXPECT_EQ(state->standing.conditions.at(0).lastTransition, kStateNow - 5min);
  EXPECT_EQ(state->standing.findings.at(0).finding.count, 3u);
  EXPECT_EQ(state->standing.findings.at(0).onNode, "uid-1");
  EXPECT_FALSE(decodeState(encodeState({}, stateOwner()), stateOwner())->kernelLog);
}

TEST(StateFileTest, TimesOfTheLogAreSinceTheBootWhateverTheClockSays) {
  StateOwner later = stateOwner();
  later.machine.booted += 3h;  // somebody has set the clock
  EXPECT_EQ(decodeState(encodeState(someState(), stateOwner()), later)->kernelLog->until,
            kStateNow + 3h - 1s);
}

TEST(StateFileTest, SaysWhyItIsNotUsed) {
  const auto refusal = [](const std::string& text, const StateOwner& whose) {
    const auto state = decodeState(text, whose);
    return state ? "" : state.error().toString();
  };
  const std::string text = encodeState(someState(), stateOwner());
  EXPECT_THAT(refusal(text, stateOwner("boot-2")),
              HasSubstr("it is of boot boot-1; the machine has started anew"));
  EXPECT_THAT(refusal(text, stateOwner("boot-1", "b")), HasSubstr("it is of node \"a\", not of b"));
  EXPECT_THAT(refusal(text.substr(0, 40), stateOwner()), HasSubstr("invalid JSON"));
  EXPECT_THAT(refusal(R"({"version": 2})", stateOwner()), HasSubstr("this release reads 1, found 2"));
  EXPECT_THAT(
      refusal(R"({"version": 1, "node": "a", "bootID": "boot-1", "kernelLog": {"seq": "x"}})", stateOwner()),
      HasSubstr("kernelLog.seq: expected an integer"));
}

TEST(StateFileTest, WithoutAFileThatCanBeUsedNothingIsTakenOver) {
  FakeFileSystem files({{"/s/good", encodeState(someState(), stateOwner())}, {"/s/bad", "{"}});
  EXPECT_TRUE(loadState(files, "/s/good", stateOwner()));
  for (const std::string path : {"", "/s/none", "/s/bad"}) {
    EXPECT_FALSE(loadState(files, path, stateOwner())) << path;
  }
  EXPECT_FALSE(loadState(files, "/s/good", stateOwner("boot-2")));
}

TEST(StateFileTest, IsWrittenAsideAndTheLastWordCounts) {
  FakeFileSystem files;
  files.addFolder("/s");
  {
    const KeepText keep = keepInFile(files, "/s/state");
    for (const char* text : {"a", "b", "c"}) {
      keep(text);
    }
  }  // waits for what was asked
  EXPECT_EQ(files.read("/s/state", 10).value(), "c");
}

class StateKeeperTest : public ::testing::Test {
 protected:
  // How often it has written by then.
  int written(TimePoint now) {
    wake = keeper.step(now, state, mark);
    return writes;
  }
  void find(const std::string& reason, TimePoint time = kStateNow) {
    Problem problem;
    problem.condition = "GPUFault";
    problem.reason = problem.rule = reason;
    problem.time = time;
    state.report(problem);
  }

  int writes = 0;
  std::optional<LogMark> mark;
  TimePoint wake = kNever;
  NodeState state{{{"s", "GPUFault", "NoGPUFault", "fine"}}, {}, {"boot-1", kStateNow - 1h}, kStateNow};
  StateKeeper keeper{[this](const std::string&) { ++writes; }, stateOwner()};
};

TEST_F(StateKeeperTest, NewsAreWrittenAtOnceButNotTwiceInASecond) {
  EXPECT_EQ(written(kStateNow), 1);
  find("Xid79");
  EXPECT_EQ(written(kStateNow + 500ms), 1);
  EXPECT_EQ(wake, kStateNow + 1s);
  EXPECT_EQ(written(wake), 2);
  EXPECT_EQ(wake, kNever);
  find("Xid95");
  EXPECT_EQ(written(kStateNow + 1min), 3);
}

TEST_F(StateKeeperTest, TheRestIsWrittenEveryTenSeconds) {
  find("Xid79");
  EXPECT_EQ(written(kStateNow), 1);
  mark = LogMark{1, 1s, kStateNow};
  EXPECT_EQ(written(kStateNow + 2s), 1);
  EXPECT_EQ(wake, kStateNow + 10s);
  EXPECT_EQ(written(wake), 2);
  find("Xid79", kStateNow + 11s);  // seen again
  EXPECT_EQ(written(kStateNow + 12s), 2);
  EXPECT_EQ(written(kStateNow + 20s), 3);
}

TEST_F(StateKeeperTest, ANodeOnWhichNothingHappensWritesNothing) {
  written(kStateNow);
  mark = LogMark{};
  written(kStateNow + 10s);
  mark->until = kStateNow + 1h;
  EXPECT_EQ(written(kStateNow + 1h), 2);
  EXPECT_EQ(wake, kNever);
  keeper.write(state, mark);
  EXPECT_EQ(writes, 3) << "but the stop";
}

}  // namespace
}  // namespace mainstay::agent
