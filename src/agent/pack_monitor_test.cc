#include "agent/pack_monitor.h"

#include <gmock/gmock.h>

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kPackText[] = R"(pack: demo
class: gpu
conditions:
  - {type: GPUFault, reason: NoGPUFault, message: No fault of a GPU is known}
effects:
  reset: {severity: fatal, condition: GPUFault, reason: 'Xid{code}', event: XidError, action: reset, clearOn: evidence}
rules:
  - id: xid
    name: Xid
    pattern: '^Xid \((?P<pci>[0-9a-f:.]+)\): (?P<code>\d+)(?: link (?P<link>\d+))?'
    unknown: {name: 'Xid {code}', event: XidUnknown}
    codes:
      - {code: 79, effect: reset, action: reboot, clearOn: boot, name: off the bus, advice: pull the plug}
      - {code: 74, effect: reset, name: link, collect: link}
      - {code: 94, severity: error, name: contained, reason: 'Xid{code}', event: XidError, action: restart-app}
      - {code: 154, effect: reset, name: verdict, revises: {of: any, within: 5m, action: reset}}
      - {code: 162, name: over, cancels: any}
      - {code: 163, effect: reset, name: held, hold: 1m}
)";

const TimePoint kPackNow = *parseTime("2026-11-29T20:14:07Z");

class PackMonitorTest : public ::testing::Test {
 protected:
  PackMonitorTest() {
    auto pack = fault::parsePack(kPackText, "demo.yaml");
    EXPECT_TRUE(pack) << pack.error().toString();
    monitor_.emplace(std::vector<fault::Pack>{*std::move(pack)}, kPackNow,
                     [this](const fault::Outcome& outcome) { heard_ += outcome.sighting.code + " "; });
    state_.emplace(monitor_->conditions(), monitor_->reasons(), Machine{"boot", kPackNow - 1h}, kPackNow);
    state_->takeEvents();
  }

  void line(const std::string& text, Duration after = 0s) {
    fault::Record record;
    record.priority = 3;
    record.time = kPackNow + after;
    record.text = text;
    monitor_->take(record, *state_);
  }
  std::vector<std::string> events() {
    std::vector<std::string> reasons;
    for (const NodeEvent& event : state_->takeEvents()) {
      reasons.push_back(event.reason);
    }
    return reasons;
  }
  api::Condition condition() const { return state_->conditions().at(0); }

  std::optional<PackMonitor> monitor_;
  std::optional<NodeState> state_;
  std::string heard_;
};

TEST_F(PackMonitorTest, AFaultIsAnEventAFindingAndACondition) {
  EXPECT_EQ(condition().status, "False");
  EXPECT_EQ(condition().reason, "NoGPUFault");
  line("Xid (0000:5e:00): 79");
  EXPECT_EQ(condition().status, "True");
  EXPECT_EQ(condition().reason, "Xid79");
  EXPECT_EQ(condition().message, "off the bus (0000:5e:00.0); pull the plug: Xid (0000:5e:00): 79");
  EXPECT_THAT(events(), ElementsAre("XidError", "Xid79"));
  const auto findings = fault::decodeFindings(
      findString(state_->patch(kPackNow), "metadata", "annotations", "mainstay.dev/findings"));
  ASSERT_EQ(findings->size(), 1u);
  EXPECT_EQ(findings->at(0).id, "demo/xid/79@0000:5e:00.0");
  EXPECT_EQ(findings->at(0).faultClass, "gpu");
  EXPECT_EQ(findings->at(0).action, fault::RepairAction::kReboot);
}

TEST_F(PackMonitorTest, EightyLinesOfOneFaultAreOneWrite) {
  line("Xid (0000:5e:00): 79");
  events();
  const auto revision = state_->revision();
  for (int i = 0; i < 80; ++i) {
    line("Xid (0000:5e:00): 79", i * 1ms);
  }
  EXPECT_EQ(state_->revision(), revision);
  EXPECT_THAT(events(), IsEmpty());
}

TEST_F(PackMonitorTest, WhatACollectingFaultFindsIsTold) {
  line("Xid (0000:5e:00): 74 link 5");
  line("Xid (0000:5e:00): 74 link 6");
  EXPECT_THAT(condition().message, HasSubstr("; link 5, 6: "));
}

TEST_F(PackMonitorTest, AVerdictMakesAFaultOfWhatWasOnlyAnEvent) {
  line("Xid (0000:5e:00): 94");
  EXPECT_EQ(condition().status, "False");
  line("Xid (0000:5e:00): 154", 1s);
  EXPECT_EQ(condition().status, "True");
  EXPECT_EQ(condition().reason, "Xid94");
}

TEST_F(PackMonitorTest, EvidenceClearsTheCondition) {
  line("Xid (0000:5e:00): 74");
  line("Xid (0000:5e:00): 162", 1s);
  EXPECT_EQ(condition().status, "False");
  line("Xid (0000:5e:00): 79", 2s);
  line("Xid (0000:5e:00): 162", 3s);
  EXPECT_EQ(condition().status, "True") << "only a new boot ends this one";
}

TEST_F(PackMonitorTest, WhatIsHeldCountsWhenItsTimeIsOver) {
  line("Xid (0000:5e:00): 163");
  EXPECT_EQ(monitor_->step(kPackNow + 59s, *state_), kPackNow + 1min);
  EXPECT_EQ(condition().status, "False");
  EXPECT_EQ(monitor_->step(kPackNow + 1min, *state_), kNever);
  EXPECT_EQ(condition().status, "True");
}

TEST_F(PackMonitorTest, RecordsBeforeTheStartDoNotCount) {
  line("Xid (0000:5e:00): 79", -1s);
  EXPECT_EQ(condition().status, "False");
  EXPECT_EQ(heard_, "");
}

TEST_F(PackMonitorTest, AnUnknownCodeIsAnEventOnly) {
  line("Xid (0000:5e:00): 999");
  EXPECT_THAT(events(), ElementsAre("XidUnknown"));
  EXPECT_EQ(condition().status, "False");
  EXPECT_EQ(heard_, "999 ");
}

TEST_F(PackMonitorTest, DeclaresEveryReasonThatMayStandAfterARestart) {
  line("Xid (0000:5e:00): 94");
  line("Xid (0000:5e:00): 154", 1s);
  const Json written = state_->patch(kPackNow);
  NodeState after(monitor_->conditions(), monitor_->reasons(), Machine{"boot", kPackNow - 1h},
                  kPackNow + 10s);
  Json node = JsonObject{{"metadata", JsonObject{{"name", "a"}, {"uid", "u"}}}};
  mergePatch(node, written);
  ASSERT_TRUE(after.restore(node, false, kPackNow + 10s));
  EXPECT_EQ(after.conditions().at(0).status, "True");
  EXPECT_EQ(after.conditions().at(0).reason, "Xid94");
}

TEST(PackMonitorWitnessTest, WhatIsNotBorneOutIsToldAndMarksNothing) {
  auto pack = fault::parsePack(R"(pack: demo
class: neuron
conditions:
  - {type: NeuronFault, reason: NoNeuronFault, message: fine}
rules:
  - {id: hw, name: broken, pattern: '^hw (?P<device>\d+)', condition: NeuronFault, reason: Hw, event: HwError,
     action: replace, corroborate: require}
)",
                               "demo.yaml");
  ASSERT_TRUE(pack) << pack.error().toString();
  PackMonitor monitor(
      {*std::move(pack)}, kPackNow, [](const fault::Outcome&) {},
      [](const fault::Sighting&) {
        return fault::Testimony{fault::Corroboration::kContradicted, "it counted none"};
      });
  NodeState state(monitor.conditions(), monitor.reasons(), Machine{"boot", kPackNow - 1h}, kPackNow);
  fault::Record record;
  record.priority = 3;
  record.time = kPackNow;
  record.text = "hw 3";
  monitor.take(record, state);
  EXPECT_EQ(monitor.step(kPackNow, state), kPackNow + 1s);
  monitor.step(kPackNow + fault::kCorroborateWithin, state);
  EXPECT_EQ(state.conditions().at(0).status, "False");
  const auto events = state.takeEvents();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].reason, "HwError");
  EXPECT_THAT(events[0].message, HasSubstr("marks nothing unless it is borne out: it counted none"));
  EXPECT_EQ(events[1].reason, "FaultUncorroborated");
  EXPECT_THAT(events[1].message, HasSubstr("not borne out within 30 s (it counted none)"));
}

TEST(PackMonitorNamesTest, TellsReasonsAndNamesOfVariantsToo) {
  auto pack = fault::parsePack(R"(pack: demo
conditions:
  - {type: KernelFault, reason: NoKernelFault, message: No fault of the kernel is known}
rules:
  - id: hung
    name: hung
    pattern: '^task (?P<comm>\S+) hangs'
    hyperpod: {type: SoftwareError, reason: KernelDeadlock}
    variants:
      - {when: {comm: kubelet}, id: service, condition: KernelFault, reason: ServiceHung, action: reboot}
  - id: xid
    name: Xid
    pattern: '^Xid (?P<code>\d+)'
    unknown: {name: 'Xid {code}'}
    codes:
      - {code: 79, name: x, eks: {condition: AcceleratedHardwareReady, reason: 'NvidiaXID{code}Error'}}
)",
                               "demo.yaml");
  ASSERT_TRUE(pack) << pack.error().toString();
  const PackMonitor monitor({*std::move(pack)}, kPackNow, [](const fault::Outcome&) {});
  std::vector<std::string> reasons;
  for (const ReasonSpec& reason : monitor.reasons()) {
    reasons.push_back(reason.condition + "/" + reason.reason);
  }
  EXPECT_THAT(reasons, ElementsAre("KernelFault/ServiceHung"));
  std::vector<std::string> names;
  for (const RuleNames& rule : monitor.names()) {
    names.push_back(rule.rule + " " + rule.condition + " " + rule.hyperpod.reason + rule.eks.reason);
  }
  EXPECT_THAT(names, ElementsAre("demo/hung  KernelDeadlock", "demo/hung/service KernelFault KernelDeadlock",
                                 "demo/xid/79  NvidiaXID79Error"));
}

TEST_F(PackMonitorTest, OnlyFewSeriesStandFromTheStart) {
  std::vector<std::string> reasons;
  for (const MetricStep& step : state_->takeMetrics()) {
    reasons.push_back(step.reason);
  }
  EXPECT_THAT(reasons, ::testing::UnorderedElementsAre("XidError"));
}

}  // namespace
}  // namespace mainstay::agent
