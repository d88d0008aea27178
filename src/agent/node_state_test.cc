#include "agent/node_state.h"

#include <gtest/gtest.h>

#include "api/names.h"

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;

const TimePoint kBooted = *parseTime("2026-11-29T20:00:00Z");
const TimePoint kStart = *parseTime("2026-11-29T20:14:07Z");

std::vector<ReasonSpec> someReasons() {
  return {{"", "Oops", fault::ClearOn::kBoot, true},
          {"", "Oops", fault::ClearOn::kBoot, true},
          {"NeuronHealth", "Dma", fault::ClearOn::kInstance, true},
          {"NeuronHealth", "Hbm", fault::ClearOn::kInstance, true},
          {"KernelDeadlock", "DockerHung", fault::ClearOn::kBoot, true}};
}

NodeState freshState(const std::string& bootId = "boot-1") {
  return NodeState({{"neuron-monitor", "NeuronHealth", "NeuronHasNoError", "Neuron has no error"},
                    {"kernel-monitor", "KernelDeadlock", "KernelHasNoDeadlock", "kernel has no deadlock"}},
                   someReasons(), {bootId, kBooted}, kStart);
}

Problem permanent(const std::string& type, const std::string& reason, TimePoint time,
                  const std::string& device = "") {
  Problem problem;
  problem.source = "kernel-monitor";
  problem.condition = type;
  problem.reason = reason;
  problem.message = "line of " + reason;
  problem.line = problem.message;
  problem.time = time;
  problem.rule = "f.json#" + reason;
  problem.device = device;
  problem.action = fault::RepairAction::kReplace;
  problem.seq = 7;
  return problem;
}

Problem temporary(const std::string& reason) {
  Problem problem = permanent("", reason, kStart);
  return problem;
}

api::Condition conditionOf(const NodeState& state, const std::string& type) {
  for (const api::Condition& condition : state.conditions()) {
    if (condition.type == type) {
      return condition;
    }
  }
  return {};
}

// problem_counter and problem_gauge as a scrape would show them: "Dma" and "NeuronHealth/Dma".
class Series {
 public:
  void take(NodeState& state) {
    for (const MetricStep& step : state.takeMetrics()) {
      double& value = values_[step.condition.empty() ? step.reason : step.condition + "/" + step.reason];
      value = step.condition.empty() ? value + step.value : step.value;
    }
  }
  double operator[](const std::string& name) const { return values_.at(name); }
  std::size_t size() const { return values_.size(); }

 private:
  std::map<std::string, double> values_;
};

std::vector<fault::Finding> publishedFindings(const NodeState& state) {
  const Json patch = state.patch(kStart);
  const auto findings =
      fault::decodeFindings(findString(patch, "metadata", "annotations", api::kFindingsAnnotation));
  EXPECT_TRUE(findings);
  return *findings;
}

TEST(NodeStateTest, BeginsWithoutProblemsAndWithEverySeriesAtZero) {
  NodeState state = freshState();
  EXPECT_EQ(conditionOf(state, "NeuronHealth").status, "False");
  EXPECT_EQ(conditionOf(state, "NeuronHealth").reason, "NeuronHasNoError");
  EXPECT_EQ(conditionOf(state, "NeuronHealth").lastTransition, kStart);
  EXPECT_TRUE(state.takeEvents().empty());
  Series series;
  series.take(state);
  EXPECT_EQ(series.size(), 7u) << "four reasons, three gauges";
  EXPECT_EQ(series["Oops"], 0);
  EXPECT_EQ(series["NeuronHealth/Dma"], 0);
}

TEST(NodeStateTest, ANewReasonIsOneEventAndANewTransition) {
  NodeState state = freshState();
  state.report(permanent("NeuronHealth", "Dma", kStart + 1s));
  const api::Condition condition = conditionOf(state, "NeuronHealth");
  EXPECT_EQ(condition.status, "True");
  EXPECT_EQ(condition.reason, "Dma");
  EXPECT_EQ(condition.message, "line of Dma");
  EXPECT_EQ(condition.lastTransition, kStart + 1s);
  const auto events = state.takeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(events[0].warning);
  EXPECT_EQ(events[0].source, "kernel-monitor");
  EXPECT_EQ(events[0].reason, "Dma");
  EXPECT_EQ(events[0].message,
            "Node condition NeuronHealth is now: True, reason: Dma, message: \"line of Dma\"");
}

TEST(NodeStateTest, TheSameReasonAgainChangesNothingButTheCountOfTheFinding) {
  NodeState state = freshState();
  state.report(permanent("NeuronHealth", "Dma", kStart + 1s));
  state.takeEvents();
  const auto revision = state.revision();
  state.report(permanent("NeuronHealth", "Dma", kStart + 5s));
  EXPECT_TRUE(state.takeEvents().empty());
  EXPECT_EQ(conditionOf(state, "NeuronHealth").lastTransition, kStart + 1s);
  EXPECT_EQ(state.revision(), revision);
  EXPECT_EQ(state.refreshes(), 1u);
  const auto findings = publishedFindings(state);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].count, 2u);
  EXPECT_EQ(findings[0].first, kStart + 1s);
  EXPECT_EQ(findings[0].last, kStart + 5s);
}

TEST(NodeStateTest, AnotherDeviceOfTheSameReasonIsAnotherFindingToBePublishedAtOnce) {
  NodeState state = freshState();
  state.report(permanent("NeuronHealth", "Dma", kStart, "3"));
  const auto revision = state.revision();
  state.report(permanent("NeuronHealth", "Dma", kStart, "5"));
  EXPECT_GT(state.revision(), revision);
  EXPECT_EQ(publishedFindings(state).size(), 2u);
}

TEST(NodeStateTest, ATemporaryProblemIsAnEventOnly) {
  NodeState state = freshState();
  const auto revision = state.revision();
  state.report(temporary("Oops"));
  const auto events = state.takeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(events[0].warning);
  EXPECT_EQ(events[0].message, "line of Oops");
  EXPECT_EQ(state.revision(), revision);
  EXPECT_TRUE(publishedFindings(state).empty());
}

TEST(NodeStateTest, AnUndeclaredConditionIsIgnored) {
  NodeState state = freshState();
  const auto revision = state.revision();
  state.report(permanent("Other", "Dma", kStart));
  EXPECT_EQ(state.revision(), revision);
  EXPECT_TRUE(state.takeEvents().empty());
  EXPECT_TRUE(publishedFindings(state).empty());
}

TEST(NodeStateTest, CountersAndGaugesAreThoseOfNodeProblemDetector) {
  Series series;
  NodeState state = freshState();
  state.report(temporary("Oops"));
  state.report(temporary("Oops"));
  state.report(permanent("NeuronHealth", "Dma", kStart));
  state.report(permanent("NeuronHealth", "Dma", kStart));
  series.take(state);
  EXPECT_EQ(series["Oops"], 2);
  EXPECT_EQ(series["Dma"], 1);
  EXPECT_EQ(series["NeuronHealth/Dma"], 1);
  state.report(permanent("NeuronHealth", "Hbm", kStart));
  state.report(permanent("KernelDeadlock", "DockerHung", kStart));
  series.take(state);
  EXPECT_EQ(series["Dma"], 1);
  EXPECT_EQ(series["Hbm"], 1);
  EXPECT_EQ(series["NeuronHealth/Dma"], 0);
  EXPECT_EQ(series["NeuronHealth/Hbm"], 1);
  EXPECT_EQ(series["KernelDeadlock/DockerHung"], 1);
  state.resolve("NeuronHealth", "f.json#Dma", "", kStart);
  state.resolve("NeuronHealth", "f.json#Hbm", "", kStart);
  series.take(state);
  EXPECT_EQ(series["NeuronHealth/Hbm"], 0);
  EXPECT_EQ(series["KernelDeadlock/DockerHung"], 1);
  state.report(permanent("NeuronHealth", "Dma", kStart));
  series.take(state);
  EXPECT_EQ(series["NeuronHealth/Dma"], 1);
  EXPECT_EQ(series["Dma"], 2);
}

TEST(NodeStateTest, AConfigWithoutMetricsMakesNone) {
  NodeState state({{"s", "T", "r", "m"}}, {{"T", "Bad", fault::ClearOn::kBoot, false}}, {}, kStart);
  Problem problem = permanent("T", "Bad", kStart);
  problem.countsInMetrics = false;
  state.report(problem);
  EXPECT_TRUE(state.takeMetrics().empty());
}

TEST(NodeStateTest, TheEndOfTheLastFindingIsTold) {
  NodeState state = freshState();
  state.report(permanent("NeuronHealth", "Dma", kStart));
  state.takeEvents();
  state.resolve("NeuronHealth", "f.json#Dma", "", kStart + 1min);
  const auto events = state.takeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_FALSE(events[0].warning);
  EXPECT_EQ(events[0].reason, "NeuronHasNoError");
  EXPECT_EQ(conditionOf(state, "NeuronHealth").lastTransition, kStart + 1min);
  EXPECT_TRUE(publishedFindings(state).empty());
  state.resolve("NeuronHealth", "f.json#Dma", "", kStart + 2min);
  EXPECT_TRUE(state.takeEvents().empty());
}

// A finding of a condition that has many.
Problem joining(const std::string& reason, TimePoint time, const std::string& device,
                fault::RepairAction action) {
  Problem problem = permanent("NeuronHealth", reason, time, device);
  problem.joins = true;
  problem.action = action;
  return problem;
}

TEST(NodeStateTest, AConditionOfManyFindingsSaysTheWorstAndKeepsItsTransition) {
  NodeState state = freshState();
  state.report(joining("Hbm", kStart + 1s, "0", fault::RepairAction::kReset));
  state.report(joining("Dma", kStart + 2s, "1", fault::RepairAction::kReplace));
  state.report(joining("Hbm", kStart + 3s, "2", fault::RepairAction::kReset));
  EXPECT_EQ(conditionOf(state, "NeuronHealth").reason, "Dma");
  EXPECT_EQ(conditionOf(state, "NeuronHealth").lastTransition, kStart + 1s);
  EXPECT_EQ(state.takeEvents().size(), 1u) << "one change of status";
}

TEST(NodeStateTest, AConditionHoldsUntilTheLastOfItsFindingsIsOver) {
  NodeState state = freshState();
  state.report(joining("Hbm", kStart + 1s, "0", fault::RepairAction::kReset));
  state.report(joining("Dma", kStart + 2s, "1", fault::RepairAction::kReplace));
  state.resolve("NeuronHealth", "f.json#Dma", "1", kStart + 3s);
  EXPECT_EQ(conditionOf(state, "NeuronHealth").status, "True");
  EXPECT_EQ(conditionOf(state, "NeuronHealth").reason, "Hbm");
  state.resolve("NeuronHealth", "f.json#Hbm", "9", kStart + 4s);
  EXPECT_EQ(conditionOf(state, "NeuronHealth").status, "True") << "another device";
  state.resolve("NeuronHealth", "f.json#Hbm", "0", kStart + 5s);
  EXPECT_EQ(conditionOf(state, "NeuronHealth").status, "False");
  EXPECT_EQ(conditionOf(state, "NeuronHealth").lastTransition, kStart + 5s);
  Series series;
  series.take(state);
  EXPECT_EQ(series["NeuronHealth/Dma"], 0);
  EXPECT_EQ(series["NeuronHealth/Hbm"], 0);
}

TEST(NodeStateTest, AFindingThatLaterSaysMoreChangesWhatItsConditionSays) {
  NodeState state = freshState();
  Problem dma = joining("Dma", kStart + 1s, "1", fault::RepairAction::kReset);
  state.report(dma);
  const auto revision = state.revision();
  state.report(dma);
  EXPECT_EQ(state.revision(), revision) << "the same again is only counted";
  dma.reason = "DmaForGood";
  dma.action = fault::RepairAction::kReplace;
  state.report(dma);
  EXPECT_GT(state.revision(), revision);
  EXPECT_EQ(conditionOf(state, "NeuronHealth").reason, "DmaForGood");
  EXPECT_EQ(conditionOf(state, "NeuronHealth").lastTransition, kStart + 1s);
  const auto findings = publishedFindings(state);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].action, fault::RepairAction::kReplace);
  EXPECT_EQ(findings[0].count, 3u);
  Series series;
  series.take(state);
  EXPECT_EQ(series["NeuronHealth/Dma"], 0);
  EXPECT_EQ(series["NeuronHealth/DmaForGood"], 1);
}

TEST(NodeStateTest, AVerdictIsAStateAndOnlyItsChangeIsTold) {
  NodeState state = freshState();
  const auto judge = [&](const char* status, const char* reason, const char* message,
                         bool messageMatters = false) {
    Verdict verdict;
    verdict.source = "ntp-monitor";
    verdict.condition = "KernelDeadlock";
    verdict.status = status;
    verdict.reason = reason;
    verdict.message = message;
    verdict.time = kStart + 1s;
    verdict.rule = "ntp.json#rules[0]";
    verdict.messageMatters = messageMatters;
    state.judge(verdict);
    return state.takeEvents().size();
  };
  EXPECT_EQ(judge("False", "KernelHasNoDeadlock", "fine"), 0u);
  EXPECT_EQ(judge("Unknown", "KernelHasNoDeadlock", "timed out"), 1u);
  EXPECT_EQ(conditionOf(state, "KernelDeadlock").message, "timed out");
  EXPECT_EQ(judge("Unknown", "KernelHasNoDeadlock", "timed out again"), 0u);
  EXPECT_EQ(judge("True", "DockerHung", "hung"), 1u);
  EXPECT_EQ(judge("True", "DockerHung", "hung for longer"), 0u);
  EXPECT_EQ(judge("True", "DockerHung", "hung for longer", true), 1u);
  EXPECT_NE(toText(state.patch(kStart)).find("ntp.json#rules[0]@"), std::string::npos)
      << "a finding while it is True";
  EXPECT_EQ(judge("False", "KernelHasNoDeadlock", "fine"), 1u);
  EXPECT_EQ(toText(state.patch(kStart)).find("ntp.json#rules[0]@"), std::string::npos);
  Series series;
  series.take(state);
  EXPECT_EQ(series["DockerHung"], 2);
  EXPECT_EQ(series["KernelDeadlock/DockerHung"], 0);
}

TEST(NodeStateTest, WhatACheckCannotTellIsNotFineWhenTheLastFindingIsOver) {
  NodeState state = freshState();
  Verdict verdict;
  verdict.source = "ntp-monitor";
  verdict.condition = "KernelDeadlock";
  verdict.status = "Unknown";
  verdict.reason = "KernelHasNoDeadlock";
  verdict.message = "timed out";
  verdict.time = kStart;
  verdict.rule = "ntp.json#rules[0]";
  state.judge(verdict);
  state.report(permanent("KernelDeadlock", "DockerHung", kStart));
  ASSERT_EQ(conditionOf(state, "KernelDeadlock").status, "True");
  state.resolve("KernelDeadlock", "f.json#DockerHung", "", kStart + 1min);
  EXPECT_EQ(conditionOf(state, "KernelDeadlock").status, "Unknown");
  EXPECT_EQ(conditionOf(state, "KernelDeadlock").message, "timed out");
}

TEST(NodeStateTest, ThePatchHoldsConditionsAndFindingsInOne) {
  NodeState state = freshState();
  state.report(permanent("NeuronHealth", "Dma", kStart));
  const Json patch = state.patch(kStart + 2s);
  EXPECT_EQ(toText(find(patch, "status", "conditions")->get_array()[0]),
            R"({"type":"NeuronHealth","status":"True","lastHeartbeatTime":"2026-11-29T20:14:09Z",)"
            R"("lastTransitionTime":"2026-11-29T20:14:07Z","reason":"Dma","message":"line of Dma"})");
  EXPECT_EQ(find(patch, "status", "conditions")->get_array().size(), 2u);
  EXPECT_EQ(publishedFindings(state)[0].id, "f.json#Dma@");
  EXPECT_TRUE(
      find(freshState().patch(kStart), "metadata", "annotations", api::kFindingsAnnotation)->is_null())
      << "a node without findings has no annotation";
}

TEST(NodeStateTest, KeepsTheNewestFindings) {
  NodeState state = freshState();
  for (int i = 0; i < 50; ++i) {
    state.report(permanent("NeuronHealth", "Dma", kStart + std::chrono::seconds(i), std::to_string(i)));
  }
  const auto findings = publishedFindings(state);
  ASSERT_EQ(findings.size(), fault::kMaxFindings);
  EXPECT_EQ(findings.front().device, "30");
  EXPECT_EQ(findings.back().device, "49");
}

TEST(NodeStateTest, AFloodOfOneTypeDoesNotTakeTheOnlyFindingOfAnother) {
  NodeState state = freshState();
  state.report(permanent("KernelDeadlock", "DockerHung", kStart));
  for (int i = 1; i < 50; ++i) {
    state.report(
        joining("Dma", kStart + std::chrono::seconds(i), std::to_string(i), fault::RepairAction::kReset));
  }
  EXPECT_EQ(state.findings().size(), fault::kMaxFindings);
  state.resolve("KernelDeadlock", "f.json#DockerHung", "", kStart + 1min);
  EXPECT_EQ(conditionOf(state, "KernelDeadlock").status, "False");
}

TEST(NodeStateTest, EventsThatNobodyTakesAreBounded) {
  NodeState state = freshState();
  for (std::size_t i = 0; i < NodeState::kMaxEvents + 10; ++i) {
    state.report(temporary("Oops"));
  }
  EXPECT_EQ(state.takeEvents().size(), NodeState::kMaxEvents);
}

// --- After a restart ---

// The node as `before` published it, 1 min after kStart.
Json nodeAfter(const NodeState& before) {
  JsonObject metadata{{"name", "n"}, {"uid", "uid-1"}};
  mergePatch(metadata.emplace("annotations", JsonObject()).first->value(),
             *find(before.patch(kStart + 1min), "metadata", "annotations"));
  return JsonObject{{"metadata", metadata},
                    {"spec", JsonObject{{"providerID", "aws:///a/i-1"}}},
                    {"status", *find(before.patch(kStart + 1min), "status")}};
}

// What a first run published that saw these problems and knew its node.
Json nodeWith(const std::vector<Problem>& problems) {
  NodeState before = freshState();
  EXPECT_TRUE(before.restore(nodeAfter(freshState()), false, kStart));
  for (const Problem& problem : problems) {
    before.report(problem);
  }
  return nodeAfter(before);
}

TEST(NodeRestoreTest, AConditionInEvidenceStaysTrueWithItsTimeAndCounters) {
  NodeState state = freshState();
  const TimePoint now = kStart + 1h;
  ASSERT_TRUE(state.restore(nodeWith({permanent("KernelDeadlock", "DockerHung", kStart)}), false, now));
  EXPECT_EQ(conditionOf(state, "KernelDeadlock").status, "True");
  EXPECT_EQ(conditionOf(state, "KernelDeadlock").reason, "DockerHung");
  EXPECT_EQ(conditionOf(state, "KernelDeadlock").lastTransition, kStart);
  EXPECT_TRUE(state.takeEvents().empty()) << "it was told before the restart";
  EXPECT_EQ(publishedFindings(state).size(), 1u);
  Series series;
  series.take(state);
  EXPECT_EQ(series["DockerHung"], 1);
  EXPECT_EQ(series["KernelDeadlock/DockerHung"], 1);
}

TEST(NodeRestoreTest, ANewBootClearsBootButNotInstance) {
  NodeState state = freshState("boot-2");
  ASSERT_TRUE(state.restore(nodeWith({permanent("KernelDeadlock", "DockerHung", kStart),
                                      permanent("NeuronHealth", "Dma", kStart, "3")}),
                            false, kStart + 1h));
  EXPECT_EQ(conditionOf(state, "KernelDeadlock").status, "False");
  EXPECT_EQ(conditionOf(state, "NeuronHealth").status, "True");
  const auto findings = publishedFindings(state);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].device, "3");
  EXPECT_EQ(findings[0].bootId, "boot-1") << "the evidence is from then";
  const auto events = state.takeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].condition, "KernelDeadlock");
  EXPECT_FALSE(events[0].warning);
}

TEST(NodeRestoreTest, ANewInstanceClearsAll) {
  Json node =
      nodeWith({permanent("KernelDeadlock", "DockerHung", kStart), permanent("NeuronHealth", "Dma", kStart)});
  node.get_object()["spec"].get_object()["providerID"] = "aws:///a/i-2";
  NodeState state = freshState();
  ASSERT_TRUE(state.restore(node, false, kStart + 1h));
  EXPECT_EQ(conditionOf(state, "KernelDeadlock").status, "False");
  EXPECT_EQ(conditionOf(state, "NeuronHealth").status, "False");
  EXPECT_TRUE(publishedFindings(state).empty());
}

TEST(NodeRestoreTest, TheLookbackReadsAgainWithoutCountingAgain) {
  NodeState state = freshState();
  ASSERT_TRUE(state.restore(nodeWith({permanent("NeuronHealth", "Dma", kStart)}), false, kStart + 1h));
  state.report(
      permanent("NeuronHealth", "Dma", kStart + 1ms));  // the same record, by another reading of the clocks
  EXPECT_EQ(publishedFindings(state)[0].count, 1u);
  EXPECT_TRUE(state.takeEvents().empty());
  state.report(permanent("NeuronHealth", "Dma", kStart + 1h));
  EXPECT_EQ(publishedFindings(state)[0].count, 2u);
}

TEST(NodeRestoreTest, AProblemSeenBeforeTheNodeCouldBeReadIsTheOneThatWasKnown) {
  NodeState state = freshState();
  state.report(permanent("NeuronHealth", "Dma", kStart + 1ms));
  ASSERT_TRUE(state.restore(nodeWith({permanent("NeuronHealth", "Dma", kStart)}), false, kStart + 1h));
  EXPECT_EQ(conditionOf(state, "NeuronHealth").lastTransition, kStart);
  EXPECT_TRUE(state.takeEvents().empty());
  EXPECT_EQ(publishedFindings(state)[0].count, 1u);
  EXPECT_EQ(publishedFindings(state)[0].instance, "aws:///a/i-1");
  Series series;
  series.take(state);
  EXPECT_EQ(series["Dma"], 1);
}

TEST(NodeRestoreTest, ANewReasonSeenSinceWinsOverTheOldOne) {
  NodeState state = freshState();
  state.report(permanent("NeuronHealth", "Hbm", kStart + 2min));
  ASSERT_TRUE(state.restore(nodeWith({permanent("NeuronHealth", "Dma", kStart)}), false, kStart + 1h));
  EXPECT_EQ(conditionOf(state, "NeuronHealth").reason, "Hbm");
  EXPECT_EQ(state.takeEvents().size(), 1u);
  EXPECT_EQ(publishedFindings(state).size(), 2u);
}

TEST(NodeRestoreTest, WithoutAFindingTheTimeOfTheConditionTells) {
  for (const auto& [transition, kept] : {std::pair{kBooted + 1s, "True"}, {kBooted - 1min, "False"}}) {
    Problem problem = permanent("KernelDeadlock", "DockerHung", transition);
    Json node = nodeWith({problem});
    node.get_object()["metadata"].get_object().erase("annotations");
    NodeState state = freshState();
    ASSERT_TRUE(state.restore(node, false, kStart));
    EXPECT_EQ(conditionOf(state, "KernelDeadlock").status, kept);
  }
}

TEST(NodeRestoreTest, AReasonThatNoRuleHasAnyMoreIsCleared) {
  NodeState state = freshState();
  ASSERT_TRUE(state.restore(nodeWith({permanent("NeuronHealth", "Removed", kStart)}), false, kStart));
  EXPECT_EQ(conditionOf(state, "NeuronHealth").status, "False");
}

TEST(NodeRestoreTest, AConditionWhoseWordsAreOverGoesOnInThoseOfWhatHolds) {
  NodeState state = freshState("boot-2");
  const Json node = nodeWith(
      {permanent("NeuronHealth", "Dma", kStart, "3"), permanent("NeuronHealth", "Removed", kStart + 1s)});
  ASSERT_TRUE(state.restore(node, false, kStart + 1h));
  EXPECT_EQ(conditionOf(state, "NeuronHealth").status, "True");
  EXPECT_EQ(conditionOf(state, "NeuronHealth").reason, "Dma");
  EXPECT_EQ(conditionOf(state, "NeuronHealth").message, "line of Dma");
  EXPECT_EQ(publishedFindings(state).size(), 1u);
  Series series;
  series.take(state);
  EXPECT_EQ(series["NeuronHealth/Dma"], 1);
}

TEST(NodeRestoreTest, AReasonOfOneDeviceIsOverWithoutIt) {
  const auto stateWith = [](const std::string& device) {
    return NodeState({{"m", "MonitorDegraded", "Fine", "fine"}},
                     {{"MonitorDegraded", "Blind", fault::ClearOn::kEvidence, true, true, device}},
                     {"boot-1", kBooted}, kStart);
  };
  NodeState before = stateWith("");
  before.report(permanent("MonitorDegraded", "Blind", kStart, "a"));
  const Json node = nodeAfter(before);
  for (const auto& [device, kept] : {std::pair{"a", "True"}, {"b", "False"}}) {
    NodeState state = stateWith(device);
    ASSERT_TRUE(state.restore(node, false, kStart));
    EXPECT_EQ(conditionOf(state, "MonitorDegraded").status, kept);
  }
}

TEST(NodeRestoreTest, AnUnreadableAnnotationIsToldAndTheRestGoesOn) {
  Json node = nodeWith({permanent("KernelDeadlock", "DockerHung", kStart)});
  node.get_object()["metadata"].get_object()["annotations"].get_object()[api::kFindingsAnnotation] = "[{]";
  NodeState state = freshState();
  ASSERT_TRUE(state.restore(node, false, kStart + 1min));
  EXPECT_EQ(conditionOf(state, "KernelDeadlock").status, "True");
  const auto events = state.takeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].reason, "FindingsUnreadable");
  EXPECT_FALSE(state.restore(Json("no node"), false, kStart));
}

Json ownedBy(const std::string& manager, const std::string& type) {
  const std::string key = "k:{\"type\":\"" + type + "\"}";
  return JsonObject{
      {"manager", manager},
      {"operation", "Update"},
      {"subresource", "status"},
      {"fieldsV1", JsonObject{{"f:status", JsonObject{{"f:conditions", JsonObject{{".", JsonObject()},
                                                                                  {key, JsonObject()}}}}}}}};
}

TEST(ConditionOwnersTest, ReadsManagedFields) {
  Json node = nodeWith({});
  EXPECT_TRUE(conditionOwners(node, "mainstay-agent").empty());
  node.get_object()["metadata"].get_object()["managedFields"] =
      JsonArray{ownedBy("node-problem-detector", "NeuronHealth"), ownedBy("mainstay-agent", "KernelDeadlock"),
                JsonObject{{"manager", "kubelet"}}, "odd"};
  const auto owners = conditionOwners(node, "mainstay-agent");
  EXPECT_EQ(owners, (std::map<std::string, std::string>{{"NeuronHealth", "node-problem-detector"}}));
}

// Of which conditions a patch takes off, and which it writes.
std::vector<std::string> takenOff(const Json& patch) {
  std::vector<std::string> types;
  for (const Json& condition : find(patch, "status", "conditions")->get_array()) {
    if (findString(condition, "$patch") == "delete") {
      types.push_back(findString(condition, "type"));
    }
  }
  return types;
}

TEST(NodeRestoreTest, WhatOnlyWeHaveWrittenAndNobodyDeclaresAnyMoreIsTakenOffOnce) {
  NodeState before({{"old", "Gone", "None", "fine"}, {"old", "Shared", "None", "fine"}}, {}, {}, kStart);
  before.report(permanent("Gone", "Bad", kStart));
  Json node = nodeAfter(before);
  node.get_object()["metadata"].get_object()["managedFields"] =
      JsonArray{ownedBy("mainstay-agent", "Gone"),
                ownedBy("mainstay-agent", "Shared"),
                ownedBy("another", "Shared"),
                ownedBy("kubelet", "Ready"),
                ownedBy("mainstay-agent", "TakenOffByHand"),
                ownedBy("mainstay-agent", "NeuronHealth")};
  NodeState state = freshState();
  ASSERT_TRUE(state.restore(node, false, kStart));
  EXPECT_EQ(takenOff(state.patch(kStart)), std::vector<std::string>{"Gone"});
  EXPECT_TRUE(publishedFindings(state).empty());
  const auto events = state.takeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].reason, "ConditionRemoved");
  EXPECT_NE(events[0].message.find("findings: Gone. "), std::string::npos) << events[0].message;
  state.onPublished(node);
  EXPECT_TRUE(takenOff(state.patch(kStart)).empty()) << "another writer may have added it since";
}

// A file that cannot be read just now must not launder what its rules have found.
TEST(NodeRestoreTest, WhatAFileMayDeclareThatCannotBeReadStaysAsItIs) {
  NodeState before({{"f", "OfBadFile", "None", "fine"},
                    {"f", "Healthy", "None", "fine"},
                    {"neuron-monitor", "NeuronHealth", "NeuronHasNoError", "Neuron has no error"}},
                   {}, {"boot-1", kBooted}, kStart);
  before.report(permanent("OfBadFile", "Bad", kStart));
  before.report(permanent("NeuronHealth", "OfAnotherFile", kStart));
  Json node = nodeAfter(before);
  node.get_object()["metadata"].get_object()["managedFields"] =
      JsonArray{ownedBy("mainstay-agent", "OfBadFile"), ownedBy("mainstay-agent", "Healthy")};
  NodeState state = freshState();
  state.expectUndeclared();
  ASSERT_TRUE(state.restore(node, false, kStart + 1h));
  EXPECT_TRUE(takenOff(state.patch(kStart)).empty());
  EXPECT_EQ(conditionOf(state, "OfBadFile").status, "True");
  EXPECT_EQ(conditionOf(state, "OfBadFile").lastTransition, kStart);
  EXPECT_EQ(conditionOf(state, "NeuronHealth").reason, "OfAnotherFile");
  EXPECT_EQ(publishedFindings(state).size(), 2u);
  EXPECT_EQ(conditionOf(state, "Healthy").status, "") << "nobody has looked";
  EXPECT_TRUE(state.takeEvents().empty());
}

TEST(NodeRestoreTest, AConditionOfAnotherManagerIsLeftAlone) {
  Json node = nodeWith({permanent("NeuronHealth", "Dma", kStart)});
  node.get_object()["metadata"].get_object()["managedFields"] =
      JsonArray{ownedBy("node-problem-detector", "NeuronHealth")};
  NodeState state = freshState();
  ASSERT_TRUE(state.restore(node, false, kStart));
  state.report(permanent("NeuronHealth", "Dma", kStart));
  EXPECT_EQ(find(state.patch(kStart), "status", "conditions")->get_array().size(), 1u);
  EXPECT_TRUE(publishedFindings(state).empty());
  EXPECT_EQ(state.takeEvents().front().reason, "ConditionOwnedByOther");

  NodeState taking = freshState();
  ASSERT_TRUE(taking.restore(node, true, kStart));
  EXPECT_EQ(find(taking.patch(kStart), "status", "conditions")->get_array().size(), 2u);
  EXPECT_EQ(conditionOf(taking, "NeuronHealth").status, "True");
}

}  // namespace
}  // namespace mainstay::agent
