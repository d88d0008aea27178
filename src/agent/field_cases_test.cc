// The cases of tests/fieldcases that are no log but a story of the agent itself: each is played through the parts that it
// is about.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/agent.h"
#include "agent/pack_monitor.h"
#include "agent/probes/nvidia.h"
#include "agent/probes/probe_monitor.h"
#include "agent/sources/kmsg_reader.h"
#include "agent/testing.h"
#include "fault/shipped_packs.h"

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// NAME.json, what happens, or NAME.expect.json, what must come of it.
Json caseFile(const std::string& file) {
  const auto text = RealFileSystem().read(MAINSTAY_SOURCE_DIR "/tests/fieldcases/" + file, 1u << 20);
  return *parseJson(*text, file);
}

// Type and reason of the conditions that must be True.
std::vector<std::pair<std::string, std::string>> expectedConditions(const std::string& name) {
  std::vector<std::pair<std::string, std::string>> all;
  const Json expected = caseFile(name + ".expect.json");
  for (const Json& condition : find(expected, "conditions")->get_array()) {
    all.emplace_back(findString(condition, "type"), findString(condition, "reason"));
  }
  return all;
}

std::vector<std::pair<std::string, std::string>> raisedConditions(
    const std::vector<api::Condition>& conditions) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const api::Condition& condition : conditions) {
    if (condition.status == "True") {
      all.emplace_back(condition.type, condition.reason);
    }
  }
  return all;
}

const TimePoint kCaseBegin = *parseTime("2025-01-02T09:00:00Z");

// An agent that reads the kernel log, which may be refused to it.
class BlindAgentCase : public ::testing::Test {
 protected:
  void start() {
    AgentParts parts;
    std::vector<std::unique_ptr<RecordMonitor>> readers;
    readers.push_back(std::make_unique<PackMonitor>(*fault::shippedPacks(), kCaseBegin, logOutcome));
    const auto makeSource = [&](Signal&) {
      return std::make_unique<KmsgReader>(log.opener(), [] { return Duration(1h); });
    };
    parts.monitors.push_back(
        std::make_unique<LogFeed>(kernelLogName(), makeSource, std::move(readers), metrics));
    parts.api = &api;
    parts.publisher.nodeName = "a";
    parts.metrics = &metrics;
    parts.board = &board;
    driver.start(std::make_shared<Agent>(std::move(parts), driver.now()));
    driver.runUntil(kCaseBegin + 10min);
  }
  std::string told() const { return board.answer("/conditions", driver.now()).body; }

  VirtualDriver driver{kCaseBegin, 1};
  testing::FakeKernelLog log;
  testing::FakeNodeApi api{"a"};
  Metrics metrics;
  StatusBoard board;
};

// Neither may the agent open the log nor write the node's status: it says so where it can, and claims nothing.
TEST_F(BlindAgentCase, B02AnAgentWithoutRightsIsNotReadyAndCallsNothingHealthy) {
  const Json story = caseFile("B02.json");
  for (const Json& step : find(story, "steps")->get_array()) {
    const Error refusal(Code::kPermissionDenied, findString(step, "result"));
    if (find(step, "open")) {
      log.refuse(refusal);
    } else {
      api.failNext("PATCH", refusal, 1000);
    }
  }
  start();
  for (const auto& [type, reason] : expectedConditions("B02")) {
    EXPECT_THAT(told(), HasSubstr("\"type\":\"" + type + "\",\"status\":\"True\""));
    EXPECT_THAT(told(), HasSubstr("\"reason\":\"" + reason + "\""));
  }
  EXPECT_EQ(board.answer("/readyz", driver.now()).status, 503);
  EXPECT_THAT(metrics.text(),
              HasSubstr("problem_gauge{reason=\"KernelLogUnreadable\",type=\"MonitorDegraded\"} 1"));
  EXPECT_TRUE(api.condition("GPUFault").is_null());
}

// What the probe for NVIDIA GPUs asks does not answer for a while; the node says that its GPUs are at fault for that,
// which another detector wrote that is no more.
class EngineCase : public ::testing::Test {
 protected:
  EngineCase() {
    const std::string gpu = "/sys/bus/pci/devices/0000:01:00.0";
    for (const std::string& path : {gpu + "/vendor", gpu + "/class", gpu + "/driver/bind",
                                    std::string("/sys/bus/pci/drivers/nvidia/0000:01:00.0/vendor")}) {
      files.addFolder(path.substr(0, path.rfind('/')));
      EXPECT_TRUE(files.write(path, path.ends_with("class") ? "0x030200" : "0x10de"));
    }
    calls.nvml = [this] { return [this](Duration) { return answer; }; };
  }
  void look(TimePoint now) {
    monitor->step(now, *state);
    const SteadyWallClock real;
    signal.waitUntil(real, real.now() + 60s, {});
    monitor->step(now, *state);
  }

  FakeFileSystem files;
  probes::HostCalls calls;
  Result<std::string> answer = std::string();
  Metrics metrics;
  Signal signal;  // outlives the monitor, whose thread raises it
  std::unique_ptr<probes::ProbeMonitor> monitor;
  std::unique_ptr<NodeState> state;
};

TEST_F(EngineCase, B03WhatWasSaidWhileTheEngineWasAwayDoesNotOutlastIt) {
  const probes::ProbeKind& kind = probes::nvidiaProbe();
  monitor = std::make_unique<probes::ProbeMonitor>(
      kind, kind.defaults(), probes::Host{probes::HostFiles(files), calls, ""}, kCaseBegin - 1h, metrics);
  state = std::make_unique<NodeState>(monitor->conditions(), monitor->reasons(),
                                      Machine{"boot-1", kCaseBegin - 1h}, kCaseBegin);
  monitor->start(signal);
  const Json story = caseFile("B03.json");
  Json node = find(story, "objects")->get_array().front();
  node.get_object()["metadata"].get_object()["uid"] = "uid-1";
  ASSERT_TRUE(state->restore(node, false, kCaseBegin));

  const JsonArray& timeline = find(story, "timeline")->get_array();
  TimePoint now = kCaseBegin;
  for (std::size_t i = 0; i < timeline.size(); ++i) {
    const std::string seen = findString(timeline[i], "observe");
    answer = std::string(R"({"driver": "570.1", "gpus": [{"index": 0, "pci": "0000:01:00.0"}]})");
    if (seen.find("refused") != std::string::npos) {
      answer = fail(Code::kUnavailable, seen);
    }
    const TimePoint until = i + 1 < timeline.size()
                                ? *parseTime("2025-01-02T" + findString(timeline[i + 1], "t") + "Z")
                                : now + 1min;
    for (; now < until; now += kind.interval) {
      look(now);
    }
  }
  EXPECT_EQ(raisedConditions(state->conditions()), expectedConditions("B03"));
  std::vector<std::string> warnings;
  for (const NodeEvent& event : state->takeEvents()) {
    if (event.warning) {
      warnings.push_back(event.condition + "/" + event.reason);
    }
  }
  EXPECT_EQ(warnings, std::vector<std::string>{"MonitorDegraded/NvidiaProbeBlind"});
}

// Two reasons take turns; whoever waits for the condition to have lasted sees since when. When the repair begins is told
// by tests/scenarios/reasons-take-turns.yaml.
TEST(FieldCasesTest, B08ReasonsThatTakeTurnsAreOneConditionSinceTheFirst) {
  NodeState state({{"probe", "GPUFault", "NoGPUFault", "fine"}},
                  {{"GPUFault", "DcgmHealth101"}, {"GPUFault", "DcgmHealth4"}}, {"boot-1", kCaseBegin - 1h},
                  kCaseBegin);
  const Json story = caseFile("B08.json");
  for (const Json& step : find(story, "timeline")->get_array()) {
    Problem problem;
    problem.condition = findString(step, "report", "type");
    problem.reason = findString(step, "report", "reason");
    problem.rule = "dcgm#" + problem.reason;
    problem.time = kCaseBegin + *parseDuration(findString(step, "t").substr(1));
    problem.joins = true;
    state.report(problem);
  }
  EXPECT_EQ(raisedConditions(state.conditions()), expectedConditions("B08"));
  EXPECT_EQ(state.conditions().front().lastTransition, kCaseBegin);
  EXPECT_EQ(state.takeEvents().size(), 1u);
}

}  // namespace
}  // namespace mainstay::agent
