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

TEST(LogMonitorTest, KeepsWhatIsNotOlderThanTheLookbackAndTheBoot) {
  struct Case {
    Duration uptime, lookback;
    std::vector<Duration> records;
    std::vector<Duration> kept;
  };
  for (const Case& c : {Case{0s, 0s, {0s, 1s, 2s}, {0s, 1s, 2s}},
                        {0s, 0s, {-1s, 0s, 1s}, {0s, 1s}},
                        {2s, 1s, {-2s, -1s, 0s}, {-1s, 0s}},
                        {1s, 3s, {-3s, -2s, -1s, 0s}, {-1s, 0s}}}) {
    LogMonitor monitor = monitorOf(kMonitorConfig, startTime(kMonitorNow, c.uptime, c.lookback, 0s));
    std::vector<Duration> kept;
    for (const Duration offset : c.records) {
      if (!monitor.onRecord(recordAt(kMonitorNow + offset, "x DMA_ERROR y")).empty()) {
        kept.push_back(offset);
      }
    }
    EXPECT_EQ(kept, c.kept) << formatDuration(c.uptime) << " " << formatDuration(c.lookback);
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

// A condition that was True at 500 s for its first reason, and two lines at 1000 s and 2000 s.
class MonitorAndStateTest : public ::testing::Test {
 protected:
  static constexpr char kTwoLines[] = R"json({"source": "m", "bufferSize": 2,
    "conditions": [{"type": "A", "reason": "fine", "message": "a"}, {"type": "B", "reason": "fine", "message": "b"}],
    "rules": [{"type": "permanent", "condition": "A", "reason": "initial reason", "pattern": "before"},
              {"type": "%s", "condition": "A", "reason": "%s", "pattern": "line1\nline2"}]})json";

  void play(const std::string& type, const std::string& reason) {
    std::string config = kTwoLines;
    for (const std::string& word : {type, reason}) {
      config.replace(config.find("%s"), 2, word);
    }
    LogMonitor monitor = monitorOf(config);
    state.emplace(monitor.conditions(), monitor.reasons(), Machine{}, TimePoint{});
    monitor.take(recordAt(TimePoint(500s), "before"), *state);
    state->takeEvents();
    monitor.take(recordAt(TimePoint(1000s), "line1"), *state);
    monitor.take(recordAt(TimePoint(2000s), "line2"), *state);
    events = state->takeEvents();
  }
  api::Condition a() const { return state->conditions().at(0); }

  std::optional<NodeState> state;
  std::deque<NodeEvent> events;
};

TEST_F(MonitorAndStateTest, ANewReasonIsAChangeAtTheTimeOfTheFirstLine) {
  play("permanent", "test reason");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].reason, "test reason");
  EXPECT_TRUE(events[0].warning);
  EXPECT_EQ(a().lastTransition, TimePoint(1000s));
  EXPECT_EQ(a().message, "line1\nline2");
  EXPECT_EQ(state->conditions().at(1).status, "False");
}

TEST_F(MonitorAndStateTest, TheSameReasonIsNone) {
  play("permanent", "initial reason");
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(a().lastTransition, TimePoint(500s));
  EXPECT_EQ(a().message, "before");
}

TEST_F(MonitorAndStateTest, ATemporaryProblemLeavesConditionsAlone) {
  play("temporary", "test reason");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(events[0].warning);
  EXPECT_EQ(events[0].message, "line1\nline2");
  EXPECT_EQ(a().reason, "initial reason");
  EXPECT_EQ(a().lastTransition, TimePoint(500s));
}

}  // namespace
}  // namespace mainstay::agent
