#include "agent/probes/probe_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "agent/source_health.h"

namespace mainstay::agent::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr std::array kMonitorChecks = {
    Check{"GpuSick",
          Severity::kFatal,
          "GPUFault",
          "gpu",
          RepairAction::kReset,
          ClearOn::kEvidence,
          {},
          {1, 0s, 0s},
          "sick",
          "",
          ""},
    Check{"GpuWarm",
          Severity::kWarning,
          "GPUFault",
          "gpu",
          RepairAction::kNone,
          ClearOn::kEvidence,
          {},
          {1, 0s, 0s},
          "warm",
          "",
          ""},
};

// What the probe under test does in a look; set before each.
std::mutex scriptMutex;
std::function<Look()> script;

class ScriptedProbe final : public Probe {
 public:
  ScriptedProbe(const Host&, const ProbeSettings&) {}
  Look look(TimePoint) override {
    std::unique_lock lock(scriptMutex);
    const auto current = script;
    lock.unlock();
    return current();
  }
};

const ProbeKind kMonitorKind{"test", "Test", "", "", 30s, 10s, kMonitorChecks, makeProbe<ScriptedProbe>};
const TimePoint kMonitorBoot = *parseTime("2026-11-29T10:00:00Z");

Look lookAt(std::vector<std::string> reasons, std::string blind = "") {
  Look look;
  for (const std::string& reason : reasons) {
    look.see(reason, "0", reason + " of 0");
  }
  look.blind = std::move(blind);
  return look;
}

class ProbeMonitorTest : public ::testing::Test {
 protected:
  void SetUp() override { monitor.start(signal); }

  // One look, from asking to what comes of it.
  void look(const Look& result, Duration later = 30s) {
    expect([result] { return result; });
    now += later;
    monitor.step(now, state);
    awaitAnswer();
    monitor.step(now, state);
  }
  static void expect(std::function<Look()> next) {
    const std::lock_guard lock(scriptMutex);
    script = std::move(next);
  }
  void awaitAnswer() {
    const SteadyWallClock real;
    signal.waitUntil(real, real.now() + 60s, {});
  }
  api::Condition condition(const std::string& type) const {
    for (const api::Condition& each : state.conditions()) {
      if (each.type == type) {
        return each;
      }
    }
    return {};
  }
  std::vector<std::string> events() {
    std::vector<std::string> all;
    for (const NodeEvent& event : state.takeEvents()) {
      all.push_back((event.warning ? "W " : "N ") + event.reason + ": " + event.message);
    }
    return all;
  }

  FakeFileSystem files;
  Metrics metrics;
  Signal signal;  // outlives the monitor, whose thread raises it
  ProbeMonitor monitor{
      kMonitorKind, kMonitorKind.defaults(), {HostFiles(files), {}, ""}, kMonitorBoot, metrics};
  TimePoint now = kMonitorBoot + 1h;
  NodeState state{monitor.conditions(), monitor.reasons(), {"boot-1", kMonitorBoot}, now};
};

TEST_F(ProbeMonitorTest, AFatalFindingIsAConditionAndAWarningAnEvent) {
  look(lookAt({"GpuSick", "GpuWarm"}));
  EXPECT_EQ(condition("GPUFault").status, "True");
  EXPECT_EQ(condition("GPUFault").reason, "GpuSick");
  ASSERT_EQ(state.findings().size(), 1u);
  EXPECT_EQ(state.findings()[0].id, "probe/test#GpuSick@0");
  EXPECT_EQ(state.findings()[0].action, RepairAction::kReset);
  EXPECT_THAT(events(), ::testing::ElementsAre(HasSubstr("W GpuSick: Node condition GPUFault is now: True"),
                                               "W GpuWarm: GpuWarm of 0"));
  EXPECT_THAT(metrics.text(),
              HasSubstr("mainstay_agent_probe_findings{probe=\"test\",reason=\"GpuWarm\"} 1"));
  look(lookAt({}));
  EXPECT_EQ(condition("GPUFault").status, "False");
  EXPECT_EQ(condition("GPUFault").reason, "NoGPUFault");
  EXPECT_THAT(events(), ::testing::ElementsAre(HasSubstr("N NoGPUFault"), "N GpuWarm: over: GpuWarm of 0"));
}

TEST_F(ProbeMonitorTest, LooksAgainAtItsInterval) {
  look(lookAt({}));
  EXPECT_EQ(monitor.step(now, state), now + 30s);
  EXPECT_EQ(monitor.sources()[0].lastNews, now);
  EXPECT_EQ(monitor.sources()[0].trouble, "");
}

TEST_F(ProbeMonitorTest, BlindnessIsToldAtTheSecondLookAndEndsWithTheFirstThatSees) {
  look(lookAt({"GpuSick"}));
  look(lookAt({}, "reading /sys/x: Permission denied"));
  EXPECT_EQ(condition(kMonitorDegraded).status, "False");
  look(lookAt({}, "reading /sys/x: Permission denied"));
  EXPECT_EQ(condition(kMonitorDegraded).reason, "TestProbeBlind");
  EXPECT_THAT(condition(kMonitorDegraded).message, HasSubstr("reading /sys/x: Permission denied"));
  EXPECT_EQ(condition("GPUFault").status, "True") << "silence cleared a fault";
  look(lookAt({"GpuSick"}));
  EXPECT_EQ(condition(kMonitorDegraded).status, "False");
}

TEST_F(ProbeMonitorTest, AProbeThatHangsIsAFindingUntilItAnswers) {
  std::mutex hanging;
  std::unique_lock held(hanging);
  expect([&] {
    const std::lock_guard wait(hanging);
    return lookAt({"GpuSick"});
  });
  EXPECT_EQ(monitor.step(now, state), now + 10s);
  EXPECT_EQ(monitor.step(now + 9s, state), now + 10s);
  EXPECT_EQ(condition(kMonitorDegraded).status, "False");
  EXPECT_EQ(monitor.step(now + 10s, state), kNever);
  EXPECT_EQ(condition(kMonitorDegraded).reason, "TestProbeHung");
  EXPECT_NE(monitor.sources()[0].trouble, "");
  EXPECT_EQ(monitor.step(now + 2h, state), kNever) << "a second look beside one that hangs";
  held.unlock();
  awaitAnswer();
  expect([] { return lookAt({"GpuSick"}); });  // the next look is due, and may come after this test's locals
  monitor.step(now + 2h, state);
  EXPECT_EQ(condition(kMonitorDegraded).status, "False");
  EXPECT_EQ(condition("GPUFault").status, "True");
}

TEST_F(ProbeMonitorTest, IsLeftBehindWhenItHangsAtTheEnd) {
  struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool looking = false;
    bool open = false;
    bool passed = false;
  };
  const auto gate = std::make_shared<Gate>();
  expect([gate] {
    std::unique_lock lock(gate->mutex);
    gate->looking = true;
    gate->changed.notify_all();
    gate->changed.wait(lock, [&] { return gate->open; });
    gate->passed = true;
    gate->changed.notify_all();
    return Look{};
  });
  {
    static const FakeFileSystem everlasting;
    Signal ownSignal;
    ProbeMonitor other(kMonitorKind, kMonitorKind.defaults(), {HostFiles(everlasting), {}, ""}, kMonitorBoot,
                       metrics);
    other.start(ownSignal);
    other.step(now, state);
    std::unique_lock lock(gate->mutex);
    gate->changed.wait(lock, [&] { return gate->looking; });
  }
  std::unique_lock lock(gate->mutex);
  gate->open = true;
  gate->changed.notify_all();
  gate->changed.wait(lock, [&] { return gate->passed; });
}

TEST_F(ProbeMonitorTest, PlannedWorkHoldsBackAndItsAftermathToo) {
  files.addFolder("/run");
  ASSERT_TRUE(files.write("/run/nologin", ""));
  look(lookAt({"GpuSick"}));
  EXPECT_EQ(condition("GPUFault").status, "False");
  EXPECT_THAT(events(),
              ::testing::ElementsAre(HasSubstr("W GpuSick: GpuSick of 0. Told but not raised: logins")));
  files.remove("/run/nologin");
  look(lookAt({"GpuSick"}), 90s);
  EXPECT_EQ(condition("GPUFault").status, "False");
  look(lookAt({"GpuSick"}));
  EXPECT_EQ(condition("GPUFault").status, "True");
}

TEST_F(ProbeMonitorTest, ACordonOfSomebodyElseHoldsBack) {
  struct Case {
    const char* node;
    bool raised;
  };
  for (const Case& c : {Case{R"({"spec": {"unschedulable": true}})", false}, Case{R"({"spec": {}})", true},
                        Case{R"({"metadata": {"annotations": {"mainstay.dev/cordoned": "true"}},
                                 "spec": {"unschedulable": true}})",
                             true}}) {
    look(lookAt({}));
    state.hear(*parseJson(c.node), now);
    look(lookAt({"GpuSick"}));
    EXPECT_EQ(condition("GPUFault").status, c.raised ? "True" : "False") << c.node;
  }
}

TEST_F(ProbeMonitorTest, AMachineThatHasJustStartedIsStillTraining) {
  now = kMonitorBoot;
  look(lookAt({"GpuSick"}));
  EXPECT_EQ(condition("GPUFault").status, "False");
  look(lookAt({"GpuSick"}), 2min);
  EXPECT_EQ(condition("GPUFault").status, "True");
}

TEST_F(ProbeMonitorTest, EndsWhatAnEarlierRunRaisedAndIsOverOrUnknown) {
  const std::string findings =
      R"([{"id": "probe/test#GpuSick@0", "type": "GPUFault", "reason": "GpuSick", "device": "0",
           "action": "reset",
           "rule": "probe/test#GpuSick", "bootID": "boot-1", "first": "2026-11-29T10:30:00.000000Z",
           "last": "2026-11-29T10:30:00.000000Z", "count": 1, "line": "x"}])";
  const Json node = JsonObject{
      {"metadata",
       JsonObject{
           {"name", "n"}, {"uid", "u"}, {"annotations", JsonObject{{"mainstay.dev/findings", findings}}}}},
      {"status",
       JsonObject{{"conditions", JsonArray{JsonObject{{"type", "GPUFault"},
                                                      {"status", "True"},
                                                      {"reason", "GpuSick"},
                                                      {"message", "x"},
                                                      {"lastTransitionTime", "2026-11-29T10:30:00Z"}}}}}}};
  ASSERT_TRUE(state.restore(node, true, now));
  EXPECT_EQ(condition("GPUFault").status, "True");
  look(lookAt({}, "cannot see"));
  EXPECT_EQ(condition("GPUFault").status, "True");
  look(lookAt({}));
  EXPECT_EQ(condition("GPUFault").status, "False");
}

}  // namespace
}  // namespace mainstay::agent::probes
