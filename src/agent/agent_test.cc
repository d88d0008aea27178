#include "agent/agent.h"

#include <gtest/gtest.h>

#include "agent/log_monitor.h"
#include "agent/sources/kmsg_reader.h"
#include "agent/testing.h"

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;
using testing::FakeKernelLog;
using testing::FakeNodeApi;

const TimePoint kMorning = *parseTime("2026-11-29T08:00:00Z");
constexpr Duration kUptime = 1h;

constexpr char kNeuronConfig[] = R"json({"plugin": "kmsg", "source": "kernel-monitor", "lookback": "5m",
  "conditions": [{"type": "NeuronHealth", "reason": "NeuronHasNoError", "message": "Neuron has no error"}],
  "rules": [{"type": "permanent", "condition": "NeuronHealth", "reason": "NeuronHasError_DMA_ERROR",
    "pattern": ".* NEURON_HW_ERR=DMA_ERROR .*", "class": "neuron", "action": "replace", "clearOn": "instance",
    "device": "nd-id=(\\d+)"}]})json";
constexpr char kDmaLine[] = "x NEURON_HW_ERR=DMA_ERROR nd-id=3 y";

// The whole agent in virtual time, on a kernel log and an API server in memory.
class AgentTest : public ::testing::Test {
 protected:
  void start(kube::Api* to) {
    auto config = fault::parseLogMonitorConfig(kNeuronConfig, "kernel-monitor.json");
    const TimePoint begin = startTime(driver.now(), kUptime, config->lookback, config->delay);
    AgentParts parts;
    std::vector<std::unique_ptr<RecordMonitor>> readers;
    readers.push_back(std::make_unique<LogMonitor>(*LogMonitor::create(*std::move(config), begin)));
    auto makeSource = [this](Signal&) {
      return std::make_unique<KmsgReader>(log.opener(), [this] { return sinceBoot(); });
    };
    parts.monitors.push_back(
        std::make_unique<LogFeed>(kernelLogName(), makeSource, std::move(readers), metrics));
    parts.machine = {"boot-1", kMorning - kUptime};
    parts.api = to;
    parts.publisher.nodeName = "a";
    parts.alsoConditions = alsoConditions;
    parts.metrics = &metrics;
    parts.board = &board;
    agent = std::make_shared<Agent>(std::move(parts), driver.now());
    driver.start(agent);
    driver.settle();
  }
  void restart() {
    driver.stop(*agent);
    start(&api);
  }
  Duration sinceBoot() const { return driver.now() - (kMorning - kUptime); }
  void kernelSays(const std::string& text) {
    log.write(text, sinceBoot());
    agent->signal().notify();
    driver.settle();
  }

  VirtualDriver driver{kMorning, 1};
  std::vector<std::string> alsoConditions;
  FakeKernelLog log;
  FakeNodeApi api{"a"};
  Metrics metrics;
  StatusBoard board;
  std::shared_ptr<Agent> agent;
};

TEST_F(AgentTest, ALineBecomesConditionFindingEventAndMetricInTheSameInstant) {
  start(&api);
  EXPECT_EQ(findString(api.condition("NeuronHealth"), "status"), "False");
  driver.runUntil(kMorning + 1min);
  kernelSays(kDmaLine);
  EXPECT_EQ(findString(api.condition("NeuronHealth"), "status"), "True");
  EXPECT_EQ(findString(api.condition("NeuronHealth"), "lastTransitionTime"), "2026-11-29T08:01:00Z");
  const auto findings = fault::decodeFindings(api.annotation());
  ASSERT_EQ(findings->size(), 1u);
  EXPECT_EQ(findings->front().id, "kernel-monitor.json#rules[0]@3");
  EXPECT_EQ(findings->front().action, fault::RepairAction::kReplace);
  EXPECT_EQ(findings->front().instance, "aws:///us-west-2b/i-0b41");
  EXPECT_EQ(api.events.size(), 1u);
  EXPECT_NE(metrics.text().find("problem_counter{reason=\"NeuronHasError_DMA_ERROR\"} 1"), std::string::npos);
  EXPECT_NE(metrics.text().find("problem_gauge{reason=\"NeuronHasError_DMA_ERROR\",type=\"NeuronHealth\"} 1"),
            std::string::npos);
  EXPECT_NE(board.answer("/conditions", driver.now()).body.find("NeuronHasError_DMA_ERROR"),
            std::string::npos);
}

TEST_F(AgentTest, OtherVocabulariesGoWithTheSamePatch) {
  alsoConditions = {"eks"};
  start(&api);
  const auto says = [&] { return findString(api.condition("AcceleratedHardwareReady"), "status"); };
  EXPECT_EQ(says(), "True");
  EXPECT_TRUE(api.condition("KernelReady").is_null()) << "nobody watches it";
  driver.runUntil(kMorning + 1min);
  const std::size_t patches = api.patches.size();
  kernelSays(kDmaLine);
  EXPECT_EQ(says(), "False");
  EXPECT_EQ(findString(api.condition("AcceleratedHardwareReady"), "reason"), "NeuronHasError_DMA_ERROR");
  EXPECT_EQ(api.patches.size(), patches + 1);
  EXPECT_EQ(fault::decodeFindings(api.annotation())->front().also.size(), 1u);
  EXPECT_EQ(api.events.size(), 1u);
  driver.runUntil(kMorning + 2min);
  restart();
  EXPECT_EQ(says(), "False");
  EXPECT_EQ(findString(api.condition("AcceleratedHardwareReady"), "lastTransitionTime"),
            "2026-11-29T08:01:00Z");
}

TEST_F(AgentTest, ABlindLogIsUnknownInOtherVocabularies) {
  alsoConditions = {"eks"};
  log.refuse(Error(Code::kPermissionDenied, "opening /dev/kmsg: Operation not permitted"));
  start(&api);
  EXPECT_EQ(findString(api.condition("AcceleratedHardwareReady"), "status"), "Unknown");
  EXPECT_EQ(findString(api.condition("AcceleratedHardwareReady"), "reason"), "KernelLogUnreadable");
}

TEST_F(AgentTest, ARestartKeepsWhatIsInEvidenceThoughTheLineIsOlderThanTheLookback) {
  start(&api);
  kernelSays(kDmaLine);
  driver.runUntil(kMorning + 1h);
  restart();
  EXPECT_EQ(findString(api.condition("NeuronHealth"), "status"), "True");
  EXPECT_EQ(findString(api.condition("NeuronHealth"), "lastTransitionTime"), "2026-11-29T08:00:00Z");
  EXPECT_EQ(api.events.size(), 1u) << "told once";
}

TEST_F(AgentTest, TheLookbackFindsALineFromBeforeTheStart) {
  log.write(kDmaLine, kUptime - 4min);
  log.write("x NEURON_HW_ERR=DMA_ERROR nd-id=9 y", kUptime - 6min);
  start(&api);
  EXPECT_EQ(findString(api.condition("NeuronHealth"), "status"), "True");
  EXPECT_EQ(fault::decodeFindings(api.annotation())->size(), 1u);
}

TEST_F(AgentTest, ABlindMonitorIsACondition) {
  log.refuse(Error(Code::kPermissionDenied, "opening /dev/kmsg: no"));
  start(&api);
  EXPECT_EQ(findString(api.condition("MonitorDegraded"), "status"), "True");
  EXPECT_EQ(findString(api.condition("MonitorDegraded"), "reason"), "KernelLogUnreadable");
  EXPECT_EQ(api.events.size(), 1u);
  EXPECT_EQ(board.answer("/readyz", driver.now()).status, 503);
  EXPECT_EQ(board.answer("/healthz", driver.now()).status, 200);
  EXPECT_NE(metrics.text().find("mainstay_agent_source_up{source=\"kmsg\"} 0"), std::string::npos);
  log.refuse(std::nullopt);
  driver.runUntil(kMorning + 10s);
  EXPECT_EQ(findString(api.condition("MonitorDegraded"), "status"), "False");
  EXPECT_EQ(board.answer("/readyz", driver.now()).status, 200);
  EXPECT_NE(metrics.text().find("mainstay_agent_source_up{source=\"kmsg\"} 1"), std::string::npos);
  kernelSays(kDmaLine);
  EXPECT_EQ(findString(api.condition("NeuronHealth"), "status"), "True");
}

TEST_F(AgentTest, TheLagOfASourceIsHowOldItsNewestRecordWasWhenItWasTaken) {
  start(&api);
  log.write("late", sinceBoot() - 1500ms);
  agent->signal().notify();
  driver.settle();
  EXPECT_NE(metrics.text().find("mainstay_agent_source_lag_seconds{source=\"kmsg\"} 1.5\n"),
            std::string::npos)
      << metrics.text();
  EXPECT_NE(board.answer("/readyz", driver.now() + 3s).body.find("last news 3"), std::string::npos);
}

TEST_F(AgentTest, ARestartThatSeesAgainEndsWhatTheBlindRunFound) {
  log.refuse(Error(Code::kPermissionDenied, "opening /dev/kmsg: no"));
  start(&api);
  ASSERT_EQ(findString(api.condition("MonitorDegraded"), "status"), "True");
  log.refuse(std::nullopt);
  restart();
  driver.runUntil(kMorning + 1min);
  EXPECT_EQ(findString(api.condition("MonitorDegraded"), "status"), "False");
}

TEST_F(AgentTest, ALossOfAnEarlierRunIsShownForAWhileAndNotForEver) {
  start(&api);
  kernelSays("a");
  log.write("b", sinceBoot());
  log.write("c", sinceBoot());
  log.overrun(2);
  kernelSays("d");
  restart();
  driver.runUntil(kMorning + kLossShown - 1s);
  EXPECT_EQ(findString(api.condition("MonitorDegraded"), "reason"), "KernelLogRecordsLost");
  driver.runUntil(kMorning + kLossShown + 1min);
  EXPECT_EQ(findString(api.condition("MonitorDegraded"), "status"), "False");
}

TEST_F(AgentTest, LostRecordsAreAConditionForAWhile) {
  start(&api);
  kernelSays("a");
  log.write("b", sinceBoot());
  log.write("c", sinceBoot());
  log.overrun(2);
  kernelSays("d");
  EXPECT_EQ(findString(api.condition("MonitorDegraded"), "reason"), "KernelLogRecordsLost");
  EXPECT_NE(api.annotation().find("KernelLogRecordsLost"), std::string::npos);
  EXPECT_NE(metrics.text().find("mainstay_agent_records_lost_total{source=\"kmsg\"} 1"), std::string::npos)
      << metrics.text();
  driver.runUntil(kMorning + kLossShown - 1s);
  EXPECT_EQ(findString(api.condition("MonitorDegraded"), "status"), "True");
  driver.runUntil(kMorning + kLossShown + 1s);
  EXPECT_EQ(findString(api.condition("MonitorDegraded"), "status"), "False");
  EXPECT_TRUE(api.annotation().empty());
}

TEST_F(AgentTest, ALossBehindABlindMonitorStaysVisibleWhenItSeesAgain) {
  start(&api);
  kernelSays("a");
  log.breakOff(Error(Code::kUnavailable, "closed"));
  kernelSays("b");
  EXPECT_EQ(findString(api.condition("MonitorDegraded"), "reason"), "KernelLogUnreadable");
  log.writeRaw("3,9,99999999999,-;c");
  driver.runUntil(kMorning + 10s);
  EXPECT_EQ(findString(api.condition("MonitorDegraded"), "reason"), "KernelLogRecordsLost");
}

TEST_F(AgentTest, KeepsFindingWhileTheApiServerIsAwayAndTellsThen) {
  api.failNext("GET", Error(Code::kUnavailable, "no"), 20);
  start(&api);
  kernelSays(kDmaLine);
  EXPECT_NE(metrics.text().find("problem_counter{reason=\"NeuronHasError_DMA_ERROR\"} 1"), std::string::npos);
  driver.runUntil(kMorning + 5min);
  EXPECT_EQ(findString(api.condition("NeuronHealth"), "status"), "True");
  ASSERT_EQ(api.events.size(), 1u);
  EXPECT_EQ(findString(api.events[0], "firstTimestamp"), "2026-11-29T08:00:00Z") << "when it happened";
}

TEST_F(AgentTest, RunsWithoutKubernetes) {
  start(nullptr);
  kernelSays(kDmaLine);
  EXPECT_TRUE(api.calls.empty());
  EXPECT_NE(metrics.text().find("problem_counter{reason=\"NeuronHasError_DMA_ERROR\"} 1"), std::string::npos);
}

}  // namespace
}  // namespace mainstay::agent
