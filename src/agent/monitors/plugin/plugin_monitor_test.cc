#include "agent/monitors/plugin/plugin_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "agent/source_health.h"
#include "api/names.h"

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const TimePoint kAgentStart = *parseTime("2026-11-29T20:00:00Z");

constexpr CheckState kOk = CheckState::kOk;
constexpr CheckState kNonOk = CheckState::kNonOk;
constexpr CheckState kUnknown = CheckState::kUnknown;

// Each check ends as soon as it is started, with the answer that the test has given.
class FakeRunner final : public CheckRunner {
 public:
  explicit FakeRunner(std::map<std::size_t, CheckResult>& answers) : answers_(answers) {}
  void start(std::size_t check) override {
    const auto answer = answers_.find(check);
    finished_.push_back({check, answer == answers_.end() ? CheckResult{kOk, "fine", {}} : answer->second});
  }
  std::vector<FinishedCheck> takeFinished() override { return std::exchange(finished_, {}); }

 private:
  std::map<std::size_t, CheckResult>& answers_;
  std::vector<FinishedCheck> finished_;
};

enum Check : std::size_t { kDown, kDrifts, kOther, kHiccup };

// Two permanent rules of one condition, one of another, and a temporary one.
PluginConfig someChecks() {
  PluginConfig config;
  config.file = "/config/ntp.json";
  config.source = "ntp-monitor";
  config.conditions = {{"Other", "OtherIsFine", "other is fine"}, {"NTPProblem", "NTPIsUp", "ntp is up"}};
  const auto add = [&](const std::string& condition, const std::string& reason) {
    PluginRule rule;
    rule.id = "ntp.json#rules[" + std::to_string(config.rules.size()) + "]";
    rule.permanent = !condition.empty();
    rule.condition = condition;
    rule.reason = reason;
    rule.path = "/check";
    rule.interval = 30s;
    rule.timeout = 5s;
    rule.traits.clearOn = fault::ClearOn::kEvidence;
    config.rules.push_back(rule);
  };
  add("NTPProblem", "NTPIsDown");
  add("NTPProblem", "NTPDrifts");
  add("Other", "OtherIsDown");
  add("", "NTPHiccup");
  return config;
}

// The checks at work on a node, in virtual time.
class Node {
 public:
  explicit Node(const PluginConfig& config = someChecks())
      : monitor(config,
                [this](const PluginConfig&, Signal&) { return std::make_unique<FakeRunner>(answers); }),
        state(monitor.conditions(), monitor.reasons(), {"boot-1", kAgentStart - 1h}, kAgentStart) {
    monitor.start(signal);
  }

  // The next batch, with this answer of one check; the Events that follow, as text.
  std::vector<std::string> run(std::size_t check, CheckState checkState, const std::string& message = "") {
    answers[check] = {checkState, message, {}};
    return run();
  }
  std::vector<std::string> run() {
    now += 30s;
    for (int i = 0; i < 3; ++i) {  // begin; take three and begin the fourth; take that
      monitor.step(now, state);
    }
    for (const MetricStep& step : state.takeMetrics()) {
      double& value = series[step.condition.empty() ? step.reason : step.condition + "/" + step.reason];
      value = step.condition.empty() ? value + step.value : step.value;
    }
    std::vector<std::string> events;
    for (const NodeEvent& event : state.takeEvents()) {
      events.push_back((event.warning ? "Warning " : "Normal ") + event.reason + " " + event.message);
    }
    return events;
  }
  api::Condition condition(const std::string& type) const {
    for (const api::Condition& condition : state.conditions()) {
      if (condition.type == type) {
        return condition;
      }
    }
    return {};
  }
  std::string says(const std::string& type = "NTPProblem") const {
    const api::Condition said = condition(type);
    return said.status + " " + said.reason + ": " + said.message;
  }
  // The node as the API server has it.
  Json asObject() const {
    Json node = JsonObject{{"metadata", JsonObject{{"name", "n"}, {"uid", "u"}}}};
    mergePatch(node, state.patch(now));
    return node;
  }
  std::vector<fault::Finding> findings() const {
    return *fault::decodeFindings(
        findString(state.patch(now), "metadata", "annotations", api::kFindingsAnnotation));
  }

  Signal signal;
  std::map<std::size_t, CheckResult> answers;
  PluginMonitor monitor;
  NodeState state;
  TimePoint now = kAgentStart;
  std::map<std::string, double> series;
};

std::string changeOf(const std::string& kind, const std::string& status, const std::string& reason,
                     const std::string& message) {
  return kind + " " + reason + " Node condition NTPProblem is now: " + status + ", reason: " + reason +
         ", message: \"" + message + "\"";
}

struct Step {
  Check check;
  CheckState state;
  const char* message;
  const char* says;
  const char* event;  // kind of the one that is sent; "" = none
};

constexpr char kHealthy[] = "False NTPIsUp: ntp is up";

struct Sequence {
  const char* name;
  bool messageChanges;
  std::vector<Step> steps;
};

TEST(PluginMonitorTest, StatesFollowEachOtherAsInNodeProblemDetector) {
  const std::vector<Sequence> kSequences = {
      {"stays false", false, {{kDown, kOk, "x", kHealthy, ""}, {kDown, kOk, "x", kHealthy, ""}}},
      {"true, then its default",
       false,
       {{kDown, kNonOk, "boom", "True NTPIsDown: boom", "Warning"},
        {kDown, kOk, "good", kHealthy, "Normal"}}},
      {"true, then unknown with the check's words",
       false,
       {{kDown, kNonOk, "boom", "True NTPIsDown: boom", "Warning"},
        {kDown, kUnknown, "timed out", "Unknown NTPIsUp: timed out", "Normal"}}},
      {"unknown keeps its first words",
       false,
       {{kDown, kUnknown, "cannot exec", "Unknown NTPIsUp: cannot exec", "Normal"},
        {kDown, kUnknown, "cannot exec either", "Unknown NTPIsUp: cannot exec", ""},
        {kDown, kOk, "good", kHealthy, "Normal"},
        {kDown, kNonOk, "boom", "True NTPIsDown: boom", "Warning"}}},
      {"another reason",
       false,
       {{kDown, kNonOk, "m", "True NTPIsDown: m", "Warning"},
        {kDrifts, kNonOk, "m", "True NTPDrifts: m", "Warning"}}},
      {"another message, which does not matter",
       false,
       {{kDown, kNonOk, "first", "True NTPIsDown: first", "Warning"},
        {kDown, kNonOk, "second", "True NTPIsDown: first", ""}}},
      {"another message, which matters",
       true,
       {{kDown, kNonOk, "first", "True NTPIsDown: first", "Warning"},
        {kDown, kNonOk, "second", "True NTPIsDown: second", "Warning"}}},
      {"the same message, where it would matter",
       true,
       {{kDown, kNonOk, "same", "True NTPIsDown: same", "Warning"},
        {kDown, kNonOk, "same", "True NTPIsDown: same", ""}}}};
  for (const Sequence& sequence : kSequences) {
    SCOPED_TRACE(sequence.name);
    PluginConfig config = someChecks();
    config.messageChanges = sequence.messageChanges;
    Node node(config);
    for (const Step& step : sequence.steps) {
      const auto events = node.run(step.check, step.state, step.message);
      EXPECT_EQ(node.says(), step.says);
      const api::Condition said = node.condition("NTPProblem");
      if (*step.event == '\0') {
        EXPECT_THAT(events, IsEmpty());
      } else {
        EXPECT_THAT(events, ElementsAre(changeOf(step.event, said.status, said.reason, said.message)));
      }
    }
    EXPECT_EQ(node.says("Other"), "False OtherIsFine: other is fine");
    EXPECT_EQ(node.condition("Other").lastTransition, kAgentStart);
  }
}

TEST(PluginMonitorTest, ARuleOfNoKnownConditionChangesNothing) {
  PluginConfig config = someChecks();
  config.rules[kDown].condition = "NoSuchCondition";
  Node node(config);
  EXPECT_THAT(node.run(kDown, kNonOk, "boom"), IsEmpty());
  EXPECT_EQ(node.says(), kHealthy);
}

TEST(PluginMonitorTest, ATemporaryProblemIsAnEventAtEveryRun) {
  Node node;
  EXPECT_THAT(node.run(kHiccup, kOk, "fine"), IsEmpty());
  for (const CheckState bad : {kNonOk, kUnknown, kUnknown}) {
    EXPECT_THAT(node.run(kHiccup, bad, "hic"), ElementsAre("Warning NTPHiccup hic"));
  }
  EXPECT_EQ(node.series["NTPHiccup"], 3);
  EXPECT_EQ(node.says(), kHealthy);
}

using MetricValues = std::map<std::string, double>;

TEST(PluginMonitorTest, MetricsAreThoseOfNodeProblemDetector) {
  MetricValues expected = {{"NTPIsDown", 0},
                           {"NTPDrifts", 0},
                           {"OtherIsDown", 0},
                           {"NTPHiccup", 0},
                           {"CheckStuck", 0},
                           {"NTPProblem/NTPIsDown", 0},
                           {"NTPProblem/NTPDrifts", 0},
                           {"Other/OtherIsDown", 0},
                           {"MonitorDegraded/CheckStuck", 0},
                           {"NTPProblem/NTPIsUp", 0},
                           {"Other/OtherIsFine", 0}};
  Node node;
  node.run(kDown, kNonOk, "boom");
  expected["NTPIsDown"] = 1;
  expected["NTPProblem/NTPIsDown"] = 1;
  EXPECT_EQ(node.series, expected);
  node.run(kDown, kNonOk, "boom");
  EXPECT_EQ(node.series, expected) << "still the same problem";
  node.run(kDown, kOk);
  expected["NTPProblem/NTPIsDown"] = 0;
  EXPECT_EQ(node.series, expected) << "an end is not counted";
  node.run(kDown, kUnknown);
  EXPECT_EQ(node.series, expected) << "what is unknown is no problem";
  node.run(kHiccup, kNonOk);
  expected["NTPHiccup"] = 1;
  EXPECT_EQ(node.series, expected);
}

TEST(PluginMonitorTest, WithoutReportingThereAreNoMetrics) {
  PluginConfig config = someChecks();
  config.metricsReporting = false;
  Node node(config);
  node.answers[kHiccup] = {kNonOk, "hic", {}};
  node.run(kDown, kNonOk, "boom");
  node.run(kDown, kOk);
  EXPECT_EQ(node.series, (MetricValues{{"CheckStuck", 0}, {"MonitorDegraded/CheckStuck", 0}}));
}

TEST(PluginMonitorTest, AProblemHoldsUntilTheLastOfItsChecksIsContent) {
  Node node;
  node.run(kDown, kNonOk, "down");
  const TimePoint since = node.condition("NTPProblem").lastTransition;
  node.run(kDrifts, kNonOk, "drifts");
  EXPECT_THAT(node.run(), IsEmpty()) << "two problems do not take turns";
  EXPECT_EQ(node.says(), "True NTPDrifts: drifts");
  EXPECT_EQ(node.series["NTPProblem/NTPIsDown"], 1);
  EXPECT_EQ(node.series["NTPProblem/NTPDrifts"], 1);
  EXPECT_EQ(node.findings().size(), 2u);
  EXPECT_THAT(node.run(kDrifts, kOk), ElementsAre(changeOf("Warning", "True", "NTPIsDown", "down")));
  EXPECT_EQ(node.condition("NTPProblem").lastTransition, since) << "it has been True all the time";
  EXPECT_EQ(node.series["NTPProblem/NTPDrifts"], 0);
  EXPECT_EQ(node.series["NTPIsDown"], 1) << "not a new problem";
  EXPECT_THAT(node.run(kDown, kOk), ElementsAre(changeOf("Normal", "False", "NTPIsUp", "ntp is up")));
  EXPECT_TRUE(node.findings().empty());
}

TEST(PluginMonitorTest, OneContentCheckDoesNotMakeUpForAnotherThatCannotTell) {
  Node node;
  node.answers[kDown] = {kNonOk, "down", {}};
  node.run(kDrifts, kUnknown, "no answer");
  EXPECT_EQ(node.says(), "True NTPIsDown: down");
  EXPECT_THAT(node.run(kDown, kOk), ElementsAre(changeOf("Normal", "Unknown", "NTPIsUp", "no answer")));
  EXPECT_THAT(node.run(kDrifts, kOk), ElementsAre(changeOf("Normal", "False", "NTPIsUp", "ntp is up")));
}

TEST(PluginMonitorTest, AFindingCarriesWhatTheRuleSays) {
  PluginConfig config = someChecks();
  config.rules[kDown].traits = {"time", fault::RepairAction::kReboot, fault::ClearOn::kEvidence};
  Node node(config);
  node.run(kDown, kNonOk, "down");
  const auto findings = node.findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "ntp.json#rules[0]@");
  EXPECT_EQ(findings[0].faultClass, "time");
  EXPECT_EQ(findings[0].action, fault::RepairAction::kReboot);
  EXPECT_EQ(findings[0].line, "down");
}

TEST(PluginMonitorTest, AProblemThatIsToStayIsNotClearedByItsCheck) {
  PluginConfig config = someChecks();
  config.rules[kDown].traits.clearOn = fault::ClearOn::kBoot;
  Node node(config);
  node.run(kDown, kNonOk, "down");
  EXPECT_THAT(node.run(kDown, kOk), IsEmpty());
  EXPECT_THAT(node.run(kDown, kUnknown, "?"), IsEmpty());
  EXPECT_EQ(node.says(), "True NTPIsDown: down");
}

TEST(PluginMonitorTest, AfterARestartTheFirstVerdictIsNoNews) {
  Node before;
  before.run(kDown, kNonOk, "down");
  const Json node = before.asObject();
  Node after;
  ASSERT_TRUE(after.state.restore(node, false, kAgentStart));
  EXPECT_THAT(after.run(kDown, kNonOk, "down"), IsEmpty());
  EXPECT_THAT(after.run(kDown, kOk), ElementsAre(changeOf("Normal", "False", "NTPIsUp", "ntp is up")));

  Node quicker;  // its checks are done before the node can be read
  quicker.run();
  ASSERT_TRUE(quicker.state.restore(node, false, kAgentStart));
  EXPECT_EQ(quicker.says(), kHealthy);
  EXPECT_TRUE(quicker.findings().empty());
}

TEST(PluginMonitorTest, SkippingTheInitialStatusWaitsForEachConditionsFirstVerdict) {
  PluginConfig config = someChecks();
  config.skipInitialStatus = true;
  config.rules[kOther].interval = 1h;
  config.rules[kOther].permanent = false;  // nobody speaks of the other condition
  Node node(config);
  EXPECT_EQ(node.condition("NTPProblem").type, "");
  EXPECT_EQ(node.condition(kMonitorDegraded).status, "False") << "ours";
  EXPECT_THAT(node.run(), IsEmpty());
  EXPECT_EQ(node.says(), kHealthy);
  EXPECT_EQ(node.condition("NTPProblem").lastTransition, node.now);
  EXPECT_EQ(node.condition("Other").type, "") << "not claimed by another's verdict";
  EXPECT_EQ(toText(node.state.patch(node.now)).find("\"Other\""), std::string::npos);
}

TEST(PluginMonitorTest, OneThatHangsIsToldAndNotStartedAgainBeforeItEnds) {
  Node node;
  bool ended = false;
  node.answers[kDown] = {kUnknown, "Timeout when running plugin", [&] { return ended; }};
  node.run();
  EXPECT_EQ(node.says(), "Unknown NTPIsUp: Timeout when running plugin");
  EXPECT_EQ(node.condition(kMonitorDegraded).status, "True");
  EXPECT_EQ(node.condition(kMonitorDegraded).reason, "CheckStuck");
  EXPECT_THAT(node.condition(kMonitorDegraded).message, HasSubstr("ntp.json#rules[0]: /check was killed"));
  EXPECT_THAT(node.monitor.sources()[0].trouble, HasSubstr("does not answer"));
  EXPECT_EQ(node.monitor.step(node.now, node.state), node.now + 10s) << "it is looked after";

  node.run(kDown, kOk);
  EXPECT_EQ(node.says(), "Unknown NTPIsUp: Timeout when running plugin") << "nobody has looked";
  EXPECT_EQ(node.condition("Other").status, "False") << "the others go on";
  ended = true;
  EXPECT_THAT(node.run().back(), HasSubstr("Node condition NTPProblem is now: False"));
  EXPECT_EQ(node.condition(kMonitorDegraded).status, "False");
  EXPECT_EQ(node.monitor.sources()[0].trouble, "");
}

TEST(PluginMonitorTest, OneThatHungBeforeARestartIsMendedByItsNextResult) {
  Node before;
  before.answers[kDown] = {kUnknown, "Timeout when running plugin", [] { return false; }};
  before.run();
  Node after;
  ASSERT_TRUE(after.state.restore(before.asObject(), false, kAgentStart));
  EXPECT_EQ(after.condition(kMonitorDegraded).status, "True");
  after.run();
  EXPECT_EQ(after.condition(kMonitorDegraded).status, "False");
}

TEST(PluginMonitorTest, RunsChildrenForReal) {
  const TemporaryFolder folder("mainstay-test-");
  PluginConfig config = someChecks();
  config.rules.resize(1);
  config.rules[0].path = folder.path() + "/check.sh";
  std::ofstream(config.rules[0].path) << "#!/bin/sh\necho no clock\nexit 1\n";
  ::chmod(config.rules[0].path.c_str(), 0755);
  Signal signal;
  PluginMonitor monitor(config);
  NodeState state(monitor.conditions(), monitor.reasons(), {}, kAgentStart);
  const SteadyWallClock clock;
  monitor.start(signal);
  monitor.step(kAgentStart, state);
  signal.waitUntil(clock, kNever, {});
  EXPECT_EQ(monitor.step(kAgentStart, state), kAgentStart + 30s);
  EXPECT_EQ(state.conditions()[1].message, "no clock");
  EXPECT_EQ(monitor.sources()[0].lastNews, kAgentStart);
}

}  // namespace
}  // namespace mainstay::agent
