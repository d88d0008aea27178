#include "agent/log_monitor.h"

#include <gtest/gtest.h>

#include <optional>

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;

const TimePoint kMonitorNow = *parseTime("2026-11-29T20:14:07Z");

TEST(StartTimeTest, IsThatOfNodeProblemDetector) {
  struct Case {
    Duration uptime, lookback, delay, expected;
  };
  for (const Case& c : {Case{0s, 0s, 0s, 0s}, Case{5s, 7s, 0s, -5s}, Case{5s, 3s, 0s, -3s},
                        Case{5s, 0s, 7s, 2s}, Case{5s, 0s, 3s, 0s}, Case{10s, 6s, 12s, 2s},
                        Case{10s, 12s, 7s, -3s}, Case{10s, 6s, 7s, -3s}, Case{10s, 2s, 7s, -2s}}) {
    EXPECT_EQ(startTime(kMonitorNow, c.uptime, c.lookback, c.delay) - kMonitorNow, c.expected)
        << formatDuration(c.uptime) << " " << formatDuration(c.lookback) << " " << formatDuration(c.delay);
  }
}

LogMonitor monitorOf(std::string_view config, TimePoint start = {}) {
  auto parsed = fault::parseLogMonitorConfig(config, "config/kernel-monitor.json");
  EXPECT_TRUE(parsed) << parsed.error().toString();
  return *LogMonitor::create(*std::move(parsed), start);
}

constexpr char kMonitorConfig[] = R"json({"plugin": "kmsg", "source": "kernel-monitor", "bufferSize": 3,
  "conditions": [{"type": "NeuronHealth", "reason": "NeuronHasNoError", "message": "Neuron has no error"}],
  "rules": [
    {"type": "temporary", "reason": "Two", "pattern": "first\nsecond", "patternGeneratedMessageSuffix": "look"},
    {"type": "permanent", "condition": "NeuronHealth", "reason": "Dma", "pattern": ".* DMA_ERROR .*",
     "class": "neuron", "action": "replace", "clearOn": "instance", "device": "nd-id=(\\d+)"}]})json";

fault::Record recordAt(TimePoint time, const std::string& text, std::uint64_t seq = 0) {
  fault::Record record;
  record.time = time;
  record.text = text;
  record.seq = seq;
  return record;
}

TEST(LogMonitorTest, APermanentRuleTellsAllThatAFindingNeeds) {
  LogMonitor monitor = monitorOf(kMonitorConfig);
  const auto problems = monitor.onRecord(recordAt(kMonitorNow, "x DMA_ERROR nd-id=3 y", 101));
  ASSERT_EQ(problems.size(), 1u);
  const Problem& problem = problems[0];
  EXPECT_EQ(problem.source, "kernel-monitor");
  EXPECT_EQ(problem.condition, "NeuronHealth");
  EXPECT_EQ(problem.reason, "Dma");
  EXPECT_EQ(problem.message, "x DMA_ERROR nd-id=3 y");
  EXPECT_EQ(problem.time, kMonitorNow);
  EXPECT_EQ(problem.rule, "kernel-monitor.json#rules[1]");
  EXPECT_EQ(problem.faultClass, "neuron");
  EXPECT_EQ(problem.device, "3");
  EXPECT_EQ(problem.action, fault::RepairAction::kReplace);
  EXPECT_EQ(problem.seq, 101u);
}

TEST(LogMonitorTest, ATemporaryRuleTellsAllMatchedLinesAtTheTimeOfTheFirst) {
  LogMonitor monitor = monitorOf(kMonitorConfig);
  EXPECT_TRUE(monitor.onRecord(recordAt(kMonitorNow, "first")).empty());
  const auto problems = monitor.onRecord(recordAt(kMonitorNow + 2s, "second"));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].condition, "");
  EXPECT_EQ(problems[0].message, "first\nsecond; look");
  EXPECT_EQ(problems[0].line, "first\nsecond");
  EXPECT_EQ(problems[0].time, kMonitorNow);
}

TEST(LogMonitorTest, KeepsRecordsFromTheStartOn) {
  const std::string hit = "x DMA_ERROR y";
  for (const auto& [offset, kept] : {std::pair{-1s, 0u}, {0s, 1u}, {1s, 1u}}) {
    LogMonitor monitor = monitorOf(kMonitorConfig, kMonitorNow);
    EXPECT_EQ(monitor.onRecord(recordAt(kMonitorNow + offset, hit)).size(), kept);
  }
}

TEST(LogMonitorTest, TooOldRecordsDoNotEnterTheWindow) {
  LogMonitor monitor = monitorOf(kMonitorConfig, kMonitorNow);
  monitor.onRecord(recordAt(kMonitorNow, "first"));
  monitor.onRecord(recordAt(kMonitorNow - 1s, "between"));
  EXPECT_EQ(monitor.onRecord(recordAt(kMonitorNow, "second")).size(), 1u);
}

TEST(LogMonitorTest, NamesItsConditionsAndReasons) {
  const LogMonitor monitor = monitorOf(kMonitorConfig);
  ASSERT_EQ(monitor.conditions().size(), 1u);
  EXPECT_EQ(monitor.conditions()[0].reason, "NeuronHasNoError");
  ASSERT_EQ(monitor.reasons().size(), 2u);
  EXPECT_EQ(monitor.reasons()[0].condition, "");
  EXPECT_EQ(monitor.reasons()[1].clearOn, fault::ClearOn::kInstance);
}

}  // namespace
}  // namespace mainstay::agent
