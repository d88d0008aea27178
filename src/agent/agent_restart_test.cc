// What an agent that was stopped, or killed, knows when it starts again: by its state file, the kernel log, the Node.
#include <gmock/gmock.h>

#include "agent/agent.h"
#include "agent/assembly.h"
#include "agent/log_monitor.h"
#include "agent/pack_monitor.h"
#include "agent/sources/kmsg_reader.h"
#include "agent/testing.h"
#include "api/names.h"
#include "fault/shipped_packs.h"

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using testing::FakeKernelLog;
using testing::FakeNodeApi;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const TimePoint kRestartMorning = *parseTime("2026-11-29T08:00:00Z");
constexpr char kStatePath[] = "/state/agent.json";

constexpr char kRestartPack[] = R"(pack: demo
class: gpu
conditions:
  - {type: GPUFault, reason: NoGPUFault, message: No fault of a GPU is known}
effects:
  reset: {severity: fatal, condition: GPUFault, reason: 'Xid{code}', event: XidError, action: reset, clearOn: evidence}
rules:
  - id: xid
    name: Xid
    pattern: '^Xid \((?P<pci>[0-9a-f:.]+)\): (?P<code>\d+)'
    unknown: {name: 'Xid {code}', event: XidUnknown}
    codes:
      - {code: 79, effect: reset, action: reboot, clearOn: boot, name: off the bus}
      - {code: 162, name: over, cancels: any}
      - {code: 163, effect: reset, name: held, hold: 1m}
      - {code: 74, effect: reset, name: link}
  - id: lost
    name: lost
    join: {patterns: ['^lost begins', '^lost ends'], within: 1h}
    effect: reset
    reason: Lost
)";
constexpr char kRestartRules[] = R"json({"plugin": "kmsg", "source": "kernel-monitor", "lookback": "5m",
  "conditions": [], "rules": [{"type": "temporary", "reason": "Oops", "pattern": "oops .*"}]})json";

class AgentRestartTest : public ::testing::Test {
 protected:
  AgentRestartTest() {
    files.addFolder("/state");
    packs.push_back(fault::parsePack(kRestartPack, "demo.yaml").value());
  }
  ~AgentRestartTest() override {
    if (agent) {
      stop();
    }
  }

  void start() {
    const StateOwner owner{"a", {bootId, booted}};
    SavedState saved = loadState(files, kStatePath, owner).value_or(SavedState{});
    metrics.emplace();
    AgentParts parts;
    parts.monitors.push_back(kernelLogFeed(saved.kernelLog));
    parts.machine = owner.machine;
    parts.api = &api;
    parts.publisher.nodeName = "a";
    parts.metrics = &*metrics;
    parts.board = &board;
    parts.saved = saved;
    parts.keeper =
        std::make_unique<StateKeeper>([this](const std::string& text) { writeState(text); }, owner);
    agent = std::make_shared<Agent>(std::move(parts), driver.now());
    driver.start(agent);
    driver.settle();
  }
  std::unique_ptr<Monitor> kernelLogFeed(std::optional<LogMark> told) {
    const Surroundings surroundings{files, driver, *metrics, sinceBoot(), told};
    const TimePoint from =
        startTime(driver.now(), sinceBoot(), surroundings.kernelLookback(5min), Duration{});
    std::vector<std::unique_ptr<RecordMonitor>> readers;
    readers.push_back(std::make_unique<LogMonitor>(
        LogMonitor::create(fault::parseLogMonitorConfig(kRestartRules, "r.json").value(), from).value()));
    readers.push_back(std::make_unique<PackMonitor>(packs, from, [](const fault::Outcome&) {}));
    auto makeSource = [this, told](Signal&) {
      return std::make_unique<KmsgReader>(
          log.opener(), [this] { return sinceBoot(); }, told);
    };
    return std::make_unique<LogFeed>(kernelLogName(), makeSource, std::move(readers), *metrics, told);
  }
  void writeState(const std::string& text) { EXPECT_TRUE(files.write(kStatePath, text)); }
  void stop() {
    driver.stop(*agent);
    agent.reset();
  }
  void restart(Duration away = 0s) {
    stop();
    driver.runUntil(driver.now() + away);
    start();
  }
  // As kill -9: what was written is what is left.
  void crash() {
    const std::string left = files.read(kStatePath, 1 << 20).value();
    stop();
    writeState(left);
  }
  Duration sinceBoot() const { return driver.now() - booted; }
  void kernelSays(const std::string& text) {
    log.write(text, sinceBoot());
    if (agent) {
      agent->signal().notify();
      driver.settle();
    }
  }
  void pass(Duration span) { driver.runUntil(driver.now() + span); }

  std::string condition(const std::string& type) const {
    const Json condition = api.condition(type);
    return findString(condition, "status") + " " + findString(condition, "reason");
  }
  // Reasons of the Events, in order.
  std::vector<std::string> told() const {
    std::vector<std::string> reasons;
    for (const Json& event : api.events) {
      reasons.push_back(findString(event, "reason"));
    }
    return reasons;
  }
  double series(const std::string& name) const {
    const std::string text = "\n" + metrics->text();
    const std::size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? 0 : std::stod(text.substr(at + name.size() + 2));
  }
  void unplugApi(int times = 1000) { api.failNext("GET", Error(Code::kUnavailable, "away"), times); }
  // A person's hand, while no agent runs.
  void takeOffNode(const std::string& type) {
    mergePatch(api.node, *parseJson(R"({"metadata": {"annotations": {"mainstay.dev/findings": null}}})"));
    for (Json& condition : api.node.get_object()["status"].get_object()["conditions"].get_array()) {
      if (findString(condition, "type") == type) {
        condition.get_object()["status"] = "False";
      }
    }
  }

  std::string bootId = "boot-1";
  TimePoint booted = kRestartMorning - 1h;
  std::vector<fault::Pack> packs;
  VirtualDriver driver{kRestartMorning, 1};
  FakeFileSystem files;
  FakeKernelLog log;
  FakeNodeApi api{"a"};
  std::optional<Metrics> metrics;
  StatusBoard board;
  std::shared_ptr<Agent> agent;
};

TEST_F(AgentRestartTest, WhatWasToldIsNeitherCountedNorToldAgain) {
  start();
  kernelSays("Xid (0000:5e:00): 79");
  kernelSays("oops one");
  ASSERT_THAT(told(), ElementsAre("XidError", "Xid79", "Oops"));
  restart(1min);
  EXPECT_EQ(told().size(), 3u);
  EXPECT_EQ(series("problem_counter{reason=\"Oops\"}"), 0) << "of this run";
  EXPECT_EQ(fault::decodeFindings(api.annotation())->at(0).count, 1u);
  kernelSays("oops two");
  EXPECT_EQ(series("problem_counter{reason=\"Oops\"}"), 1);
}

TEST_F(AgentRestartTest, WhatWasLostWhileTheAgentWasAwayIsToldWithItsNumber) {
  start();
  kernelSays("a");
  stop();
  for (const char* text : {"b", "c", "d"}) {
    kernelSays(text);
  }
  log.overrun(3);
  start();
  EXPECT_EQ(condition("MonitorDegraded"), "True KernelLogRecordsLost");
  EXPECT_THAT(findString(api.condition("MonitorDegraded"), "message"),
              HasSubstr("2 records of the kernel log were lost (records 1 to 2 of the kernel log are gone, "
                        "overwritten while no agent read)"));
  EXPECT_EQ(series("mainstay_agent_records_lost_total{source=\"kmsg\"}"), 2);
  EXPECT_THAT(told(), ElementsAre("KernelLogRecordsLost"));
}

TEST_F(AgentRestartTest, ARingThatStillHoldsEverythingLostNothing) {
  start();
  kernelSays("a");
  stop();
  kernelSays("b");
  start();
  EXPECT_EQ(condition("MonitorDegraded"), "False MonitorsAreReading");
}

TEST_F(AgentRestartTest, NothingIsTooOldThatWasNotTold) {
  start();
  kernelSays("a");
  stop();
  kernelSays("Xid (0000:5e:00): 79");
  kernelSays("oops one");
  pass(2h);
  start();
  EXPECT_EQ(condition("GPUFault"), "True Xid79");
  EXPECT_EQ(series("problem_counter{reason=\"Oops\"}"), 1);
}

TEST_F(AgentRestartTest, KnowsWhatStandsBeforeTheApiServerAnswers) {
  start();
  kernelSays("Xid (0000:5e:00): 79");
  stop();
  unplugApi();
  pass(10min);
  start();
  EXPECT_THAT(board.answer("/conditions", driver.now()).body, HasSubstr("\"status\":\"True\""));
  EXPECT_THAT(board.answer("/conditions", driver.now()).body, HasSubstr("2026-11-29T08:00:00.000000Z"));
  EXPECT_EQ(series("problem_gauge{reason=\"Xid79\",type=\"GPUFault\"}"), 1);
}

TEST_F(AgentRestartTest, AFaultThatNoApiServerHasHeardOfIsNotForgotten) {
  unplugApi();
  start();
  kernelSays("Xid (0000:5e:00): 79");
  pass(2s);
  crash();
  api.failNext("GET", Error(Code::kUnavailable, "away"), 1);  // and back again
  pass(1h);
  start();
  pass(1min);
  EXPECT_EQ(condition("GPUFault"), "True Xid79");
  EXPECT_THAT(api.annotation(), HasSubstr("demo/xid/79@0000:5e:00"));
}

TEST_F(AgentRestartTest, WhatAPersonTookOffTheNodeMeanwhileStaysOff) {
  start();
  kernelSays("Xid (0000:5e:00): 79");
  pass(2s);
  stop();
  takeOffNode("GPUFault");
  api.events.clear();
  start();
  EXPECT_EQ(condition("GPUFault"), "False NoGPUFault");
  EXPECT_TRUE(api.annotation().empty());
  EXPECT_THAT(told(), ElementsAre("NoGPUFault", "FindingsTakenOff"));
  restart(1min);
  EXPECT_EQ(condition("GPUFault"), "False NoGPUFault") << "for good";
}

TEST_F(AgentRestartTest, WhatWasSeenAgainSinceAPersonTookItOffIsAFault) {
  start();
  kernelSays("Xid (0000:5e:00): 79");
  pass(2s);
  stop();
  takeOffNode("GPUFault");
  pass(1min);
  kernelSays("Xid (0000:5e:00): 79");
  start();
  EXPECT_EQ(condition("GPUFault"), "True Xid79");
}

TEST_F(AgentRestartTest, ANodeObjectThatWasMadeAnewGetsItsFaultsBack) {
  start();
  kernelSays("Xid (0000:5e:00): 79");
  pass(2s);
  stop();
  takeOffNode("GPUFault");
  mergePatch(api.node, *parseJson(R"({"metadata": {"uid": "uid-2"}})"));
  start();
  EXPECT_EQ(condition("GPUFault"), "True Xid79");
  EXPECT_THAT(api.annotation(), HasSubstr("demo/xid/79@0000:5e:00"));
}

TEST_F(AgentRestartTest, TheNodeMayKnowWhatTheFileDoesNot) {
  start();
  kernelSays("Xid (0000:5e:00): 79");
  stop();
  files.remove(kStatePath);
  pass(1h);
  start();
  EXPECT_EQ(condition("GPUFault"), "True Xid79");
}

TEST_F(AgentRestartTest, AMessageThatBeganBeforeTheRestartEndsAfterIt) {
  start();
  kernelSays("lost begins");
  restart(10min);
  EXPECT_EQ(condition("GPUFault"), "False NoGPUFault");
  kernelSays("lost ends");
  EXPECT_EQ(condition("GPUFault"), "True Lost");
}

TEST_F(AgentRestartTest, AFaultThatWasHeldIsRaisedWhenItsTimeIsUp) {
  start();
  kernelSays("Xid (0000:5e:00): 163");
  restart(10s);
  EXPECT_EQ(condition("GPUFault"), "False NoGPUFault");
  pass(1min);
  EXPECT_EQ(condition("GPUFault"), "True Xid163");
  const std::size_t events = told().size();
  restart(1min);
  EXPECT_EQ(told().size(), events) << "once";
}

TEST_F(AgentRestartTest, ALineEndsAFaultFromBeforeTheRestart) {
  start();
  kernelSays("Xid (0000:5e:00): 74");
  restart(1h);
  EXPECT_EQ(condition("GPUFault"), "True Xid74");
  kernelSays("Xid (0000:5e:00): 162");
  EXPECT_EQ(condition("GPUFault"), "False NoGPUFault");
}

TEST_F(AgentRestartTest, ALogThatCannotBeReadYetKeepsItsPlace) {
  start();
  kernelSays("oops one");
  stop();
  log.refuse(Error(Code::kPermissionDenied, "no"));
  start();
  log.refuse(std::nullopt);
  const std::size_t events = told().size();
  restart();
  EXPECT_EQ(series("problem_counter{reason=\"Oops\"}"), 0) << "told before";
  pass(10s);
  EXPECT_EQ(told().size(), events + 1) << "that it sees again";
}

TEST_F(AgentRestartTest, AnotherBootIsReadFromItsStart) {
  start();
  kernelSays("oops one");
  stop();
  bootId = "boot-2";
  booted = driver.now() - 1min;
  start();
  EXPECT_EQ(series("problem_counter{reason=\"Oops\"}"), 1) << "by number and stamp it might be the old one";
}

TEST_F(AgentRestartTest, AFileThatCannotBeReadClearsNothing) {
  start();
  kernelSays("Xid (0000:5e:00): 79");
  stop();
  writeState("garbage");
  pass(1h);
  start();
  EXPECT_EQ(condition("GPUFault"), "True Xid79") << "by the Node";
}

// --- What a person calls over ---

TEST_F(AgentRestartTest, AClearIsHeardWithinHalfAMinuteAndTakenOff) {
  start();
  kernelSays("Xid (0000:5e:00): 79");
  pass(1min);
  mergePatch(api.node,
             JsonObject{{"metadata", JsonObject{{"annotations",
                                                 JsonObject{{api::kClearAnnotation,
                                                             fault::encodeClearRequest(
                                                                 {driver.now(), "ops", "checked", ""})}}}}}});
  pass(30s);
  EXPECT_EQ(condition("GPUFault"), "False NoGPUFault");
  EXPECT_EQ(findString(api.node, "metadata", "annotations", api::kClearAnnotation), "");
  EXPECT_EQ(told().back(), "ClearedByOperator");
  restart(1min);
  EXPECT_EQ(condition("GPUFault"), "False NoGPUFault") << "and the old line does not bring it back";
}

TEST_F(AgentRestartTest, ANodeWithoutAFaultIsNotLookedAt) {
  start();
  pass(1min);
  const std::size_t calls = api.calls.size();
  pass(3min);
  EXPECT_EQ(std::ranges::count(api.calls, "GET /api/v1/nodes/a"), 1);
  EXPECT_GT(api.calls.size(), calls) << "only kept warm";
}

// --- Cases of the field: tests/fieldcases ---

std::string caseText(const std::string& name) {
  return RealFileSystem().read(MAINSTAY_SOURCE_DIR "/tests/fieldcases/" + name, 1 << 20).value();
}

class FieldCaseTest : public AgentRestartTest {
 protected:
  FieldCaseTest() { packs = fault::loadPacks({"shipped"}, files).value(); }
  void leaveState(const LogMark& mark) { writeState(encodeState({{}, mark}, {"a", {bootId, booted}})); }
  // Each condition but the one about the agent's own sight.
  std::vector<std::string> faults() const {
    std::vector<std::string> types;
    for (const Json& condition : find(api.node, "status", "conditions")->get_array()) {
      if (findString(condition, "status") == "True" && findString(condition, "type") != kMonitorDegraded) {
        types.push_back(findString(condition, "type"));
      }
    }
    return types;
  }
};

// B13: a restart reads lines again that an earlier run has told of, and that a repair has answered since.
TEST_F(FieldCaseTest, B13ARestartDoesNotRaiseAgainWhatWasHandled) {
  const Json expected = *parseJson(caseText("B13.expect.json"));
  const auto last = find(expected, "context", "saved_state", "last_seq")->to_number<std::uint64_t>();
  const std::string text = caseText("B13.kmsg");
  LogMark mark;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    log.writeRaw(text.substr(at, end - at));
    const auto record = fault::parseKernelRecord(text.substr(at, end - at)).value();
    if (record.seq <= last) {
      mark = {record.seq, record.sinceBoot, booted + record.sinceBoot};
    }
  }
  booted = kRestartMorning - mark.stamp - 1min;
  leaveState(mark);
  start();
  pass(10min);
  EXPECT_THAT(faults(), IsEmpty());
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_TRUE(find(expected, "conditions")->get_array().empty());
}

// B14: what was between the last record that was read and the oldest that is left is lost, and told once; the fault that the
// buffer still holds is found, though it is older than an agent looks back.
TEST_F(FieldCaseTest, B14TheKernelsBufferIsReadThoughTheCursorIsTooOld) {
  const Json scenario = *parseJson(caseText("B14.json"));
  const Json expected = *parseJson(caseText("B14.expect.json"));
  const auto at = [](const std::string& time) { return *parseTime("2026-11-29T" + time + "Z"); };
  const Json& record = find(scenario, "kernel_buffer")->get_array().at(0);
  booted = at("00:00:00");
  const TimePoint cursor = at(findString(scenario, "journal", "cursor"));
  leaveState({4200, cursor - booted, cursor});
  const Duration stamp = at(findString(record, "t")) - booted;
  log.writeRaw("3,5182," + std::to_string(stamp.count()) + ",-;" + findString(record, "msg"));
  driver.runUntil(std::max(driver.now(), at(findString(scenario, "journal", "oldest"))));
  start();
  pass(10min);

  const Json& condition = find(expected, "conditions")->get_array().at(0);
  EXPECT_THAT(faults(), ElementsAre(findString(condition, "type")));
  const auto findings = fault::decodeFindings(api.annotation()).value();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].reason, HasSubstr(findString(condition, "reason")));
  EXPECT_EQ(findings[0].device, findString(condition, "subject"));
  EXPECT_THAT(fault::actionName(findings[0].action), ::testing::AnyOf("reset", "reboot"));
  EXPECT_EQ(std::ranges::count(told(), "KernelLogRecordsLost"), 1);
}

}  // namespace
}  // namespace mainstay::agent
