#include "agent/node_publisher.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "agent/testing.h"

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;
using testing::FakeNodeApi;

const TimePoint kBegin = *parseTime("2026-11-29T20:14:07Z");

class NodePublisherTest : public ::testing::Test {
 protected:
  NodePublisherTest() { settings.nodeName = "a"; }

  // Steps until the publisher wants to wait.
  TimePoint run(TimePoint now) {
    if (!publisher) {
      publisher.emplace(api, settings, metrics, kBegin);
    }
    TimePoint wake = publisher->step(now, state);
    for (int i = 0; wake <= now && i < 1000; ++i) {
      wake = publisher->step(now, state);
    }
    return wake;
  }
  void report(const std::string& reason, TimePoint time = kBegin) {
    Problem problem;
    problem.source = "kernel-monitor";
    problem.condition = "NeuronHealth";
    problem.reason = reason;
    problem.message = "line";
    problem.rule = reason;
    problem.time = time;
    state.report(problem);
  }
  void reportTemporary(int number) {
    Problem problem;
    problem.source = "kernel-monitor";
    problem.reason = "Oops";
    problem.message = std::to_string(number);
    state.report(problem);
  }

  PublisherSettings settings;
  FakeNodeApi api{"a"};
  Metrics metrics;
  NodeState state{{{"kernel-monitor", "NeuronHealth", "NeuronHasNoError", "fine"}},
                  {{"NeuronHealth", "Dma", fault::ClearOn::kInstance, true}},
                  {"boot-1", kBegin - 1h},
                  kBegin};
  std::optional<NodePublisher> publisher;
};

TEST_F(NodePublisherTest, ReadsTheNodeAndThenPublishesEverything) {
  const TimePoint wake = run(kBegin);
  EXPECT_EQ(api.calls, (std::vector<std::string>{"GET /api/v1/nodes/a", "PATCH /api/v1/nodes/a/status"}));
  EXPECT_EQ(findString(api.condition("NeuronHealth"), "status"), "False");
  EXPECT_EQ(wake, kBegin + 20s) << "the connection is kept warm";
}

TEST_F(NodePublisherTest, AConditionOfARemovedRuleGoesWithTheFirstPatch) {
  mergePatch(api.node, *parseJson(R"({
      "metadata": {"managedFields": [{"manager": "mainstay-agent", "fieldsV1": {"f:status": {"f:conditions":
          {"k:{\"type\":\"Gone\"}": {}}}}}]},
      "status": {"conditions": [{"type": "Gone", "status": "True"}]}})"));
  api.failNext("PATCH", Error(Code::kUnavailable, "no"));
  run(run(kBegin));
  EXPECT_TRUE(api.condition("Gone").is_null());
  EXPECT_EQ(toText(api.patches.at(0)).find("\"type\":\"Gone\"") != std::string::npos, true);
  run(kBegin + 10min);
  EXPECT_EQ(toText(api.patches.at(1)).find("Gone"), std::string::npos);
}

TEST_F(NodePublisherTest, NothingIsPublishedBeforeTheNodeIsKnown) {
  api.failNext("GET", Error(Code::kUnavailable, "no"), 3);
  TimePoint now = run(kBegin);
  EXPECT_GT(now, kBegin);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(api.patches.empty());
    now = run(now);
  }
  run(now);
  EXPECT_EQ(api.patches.size(), 1u);
}

TEST_F(NodePublisherTest, AChangeGoesOutAtOnceConditionBeforeEvent) {
  run(kBegin);
  api.calls.clear();
  report("Dma", kBegin + 3s);
  run(kBegin + 3s);
  EXPECT_EQ(api.calls, (std::vector<std::string>{"PATCH /api/v1/nodes/a/status",
                                                 "POST /api/v1/namespaces/default/events"}));
  EXPECT_EQ(findString(api.condition("NeuronHealth"), "reason"), "Dma");
  EXPECT_NE(api.annotation().find("\"reason\":\"Dma\""), std::string::npos);
  ASSERT_EQ(api.events.size(), 1u);
  EXPECT_EQ(findString(api.events[0], "involvedObject", "uid"), "uid-1");
  EXPECT_EQ(findString(api.events[0], "source", "component"), "kernel-monitor");
  EXPECT_EQ(findString(api.events[0], "type"), "Warning");
}

TEST_F(NodePublisherTest, WhatChangedMeanwhileGoesWithOnePatch) {
  run(kBegin);
  report("Dma");
  report("Hbm");
  run(kBegin + 1s);
  EXPECT_EQ(api.patches.size(), 2u);
}

TEST_F(NodePublisherTest, AHeartbeatWritesTheSameAgain) {
  settings.keepWarm = {};
  TimePoint wake = run(kBegin);
  EXPECT_EQ(wake, kBegin + 5min);
  run(wake - 1s);
  EXPECT_EQ(api.patches.size(), 1u);
  run(wake);
  ASSERT_EQ(api.patches.size(), 2u);
  EXPECT_EQ(findString(api.condition("NeuronHealth"), "lastHeartbeatTime"), "2026-11-29T20:19:07Z");
  EXPECT_EQ(findString(api.condition("NeuronHealth"), "lastTransitionTime"), "2026-11-29T20:14:07Z");
}

TEST_F(NodePublisherTest, AnotherWriterOfAConditionIsSeenAtTheNextHeartbeat) {
  settings.keepWarm = {};
  const TimePoint heartbeat = run(kBegin);
  const JsonObject condition{
      {"k:{\"type\":\"NeuronHealth\"}", JsonObject{{"f:lastHeartbeatTime", JsonObject()}}}};
  api.node.get_object()["metadata"].get_object()["managedFields"] =
      JsonArray{JsonObject{{"manager", "node-problem-detector"},
                           {"fieldsV1", JsonObject{{"f:status", JsonObject{{"f:conditions", condition}}}}}}};

  run(heartbeat);

  ASSERT_EQ(api.patches.size(), 2u);
  EXPECT_TRUE(find(api.patches.back(), "status", "conditions")->get_array().empty());
  ASSERT_EQ(api.events.size(), 1u);
  EXPECT_EQ(findString(api.events[0], "reason"), "ConditionOwnedByOther");
}

TEST_F(NodePublisherTest, AFailedPatchIsTriedAgainWithGrowingPauses) {
  run(kBegin);
  api.failNext("PATCH", Error(Code::kUnavailable, "no"), 4);
  report("Dma");
  TimePoint now = kBegin + 1s;
  std::vector<Duration> pauses;
  for (int i = 0; i < 4; ++i) {
    const TimePoint wake = run(now);
    pauses.push_back(wake - now);
    now = wake;
  }
  EXPECT_TRUE(std::is_sorted(pauses.begin(), pauses.end()));
  EXPECT_LE(pauses.front(), 100ms);
  run(now);
  EXPECT_EQ(findString(api.condition("NeuronHealth"), "reason"), "Dma");
  EXPECT_NE(metrics.text().find("mainstay_agent_patches_total{result=\"error\"} 4"), std::string::npos)
      << metrics.text();
}

TEST_F(NodePublisherTest, FlappingIsSlowedDown) {
  run(kBegin);
  for (int i = 0; i < 1000; ++i) {
    const TimePoint now = kBegin + std::chrono::milliseconds(i);
    report(i % 2 ? "Dma" : "Hbm", now);
    run(now);
  }
  EXPECT_LE(api.patches.size(), 12u);
  run(kBegin + 5s);
  EXPECT_EQ(findString(api.condition("NeuronHealth"), "reason"), "Dma") << "the last state arrives";
}

TEST_F(NodePublisherTest, ARepetitionWaitsForTheRefresh) {
  settings.keepWarm = {};
  run(kBegin);
  report("Dma");
  run(kBegin + 1s);
  report("Dma", kBegin + 2s);
  EXPECT_EQ(run(kBegin + 2s), kBegin + 11s);
  EXPECT_EQ(api.patches.size(), 2u);
  run(kBegin + 11s);
  EXPECT_NE(api.annotation().find("\"count\":2"), std::string::npos);
}

TEST_F(NodePublisherTest, AFloodOfEventsIsCutAndDoesNotHideAChange) {
  run(kBegin);
  for (int i = 0; i < 500; ++i) {
    reportTemporary(i);
  }
  report("Dma");
  run(kBegin + 1s);
  EXPECT_EQ(api.events.size(), 11u) << "9 of the flood, one that combines the other 16, and the change";
  EXPECT_EQ(findString(api.events.back(), "reason"), "Dma");
  EXPECT_NE(metrics.text().find("mainstay_agent_events_dropped_total 475"), std::string::npos);
}

TEST_F(NodePublisherTest, AnEventThatFailsIsTriedLaterAndConditionsGoOn) {
  run(kBegin);
  api.failNext("POST", Error(Code::kUnavailable, "no"), 1);
  reportTemporary(1);
  EXPECT_EQ(run(kBegin + 1s), kBegin + 11s);
  report("Dma");
  run(kBegin + 2s);
  EXPECT_EQ(findString(api.condition("NeuronHealth"), "reason"), "Dma");
  EXPECT_TRUE(api.events.empty());
  run(kBegin + 11s);
  EXPECT_EQ(api.events.size(), 2u);
}

TEST_F(NodePublisherTest, AnEventThatIsRefusedIsDropped) {
  run(kBegin);
  api.failNext("POST", Error(Code::kPermissionDenied, "no"), 1);
  reportTemporary(1);
  reportTemporary(2);
  run(kBegin + 1s);
  ASSERT_EQ(api.events.size(), 1u);
  EXPECT_EQ(findString(api.events[0], "message"), "2");
}

TEST_F(NodePublisherTest, EventsAndConditionsCanBeSwitchedOff) {
  settings.writeEvents = false;
  settings.updateConditions = false;
  report("Dma");
  run(kBegin);
  EXPECT_EQ(api.calls, std::vector<std::string>{"GET /api/v1/nodes/a"});
}

TEST_F(NodePublisherTest, ANodeThatWasMadeAnewGetsItsConditionsBack) {
  run(kBegin);
  report("Dma");
  run(kBegin + 1s);
  api.node = FakeNodeApi("a").node;
  api.node.get_object()["metadata"].get_object()["uid"] = "uid-2";
  run(kBegin + 6min);
  EXPECT_EQ(findString(api.condition("NeuronHealth"), "status"), "True");
  api.node.get_object()["metadata"].get_object().erase("uid");
  report("Hbm");
  run(kBegin + 6min);
  reportTemporary(1);
  run(kBegin + 6min);
  EXPECT_EQ(findString(api.events.back(), "involvedObject", "uid"), "uid-2")
      << "an answer without one tells nothing";
}

}  // namespace
}  // namespace mainstay::agent
