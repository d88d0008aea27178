#include <gmock/gmock.h>

#include "agent/node_state.h"
#include "agent/source_health.h"
#include "api/names.h"

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const TimePoint kClearTime = *parseTime("2026-11-29T12:00:00Z");

class NodeClearTest : public ::testing::Test {
 protected:
  NodeClearTest() { state.takeEvents(); }

  Problem found(const std::string& reason, TimePoint time, const std::string& condition = "GPUFault") {
    Problem problem;
    problem.source = "s";
    problem.condition = condition;
    problem.reason = reason;
    problem.message = "line";
    problem.rule = reason;
    problem.time = time;
    problem.joins = true;
    return problem;
  }
  // The Node with a request that was written at noon.
  static Json asked(const std::string& condition = "") {
    return withAnnotation(fault::encodeClearRequest({kClearTime, "ops", "board swapped", condition}));
  }
  static Json withAnnotation(const std::string& text) {
    return JsonObject{{"metadata", JsonObject{{"annotations", JsonObject{{api::kClearAnnotation, text}}}}}};
  }
  std::vector<std::string> hear(const Json& node) {
    state.hear(node, kClearTime + 10s);
    std::vector<std::string> told;
    for (const NodeEvent& event : state.takeEvents()) {
      told.push_back(event.reason + ": " + event.message);
    }
    return told;
  }
  std::string status(const std::string& type) const {
    for (const api::Condition& condition : state.conditions()) {
      if (condition.type == type) {
        return condition.status;
      }
    }
    return "";
  }
  // What the next patch does to the annotation: "goes" or "stays".
  std::string annotation() const {
    return find(state.patch(kClearTime), "metadata", "annotations", api::kClearAnnotation) ? "goes" : "stays";
  }

  NodeState state{{{"s", "GPUFault", "NoGPUFault", "fine"},
                   {"s", "StorageFault", "NoStorageFault", "fine"},
                   monitorDegraded()},
                  {{"GPUFault", "Xid79", fault::ClearOn::kBoot},
                   {"GPUFault", "Xid95", fault::ClearOn::kInstance},
                   {"StorageFault", "Worn", fault::ClearOn::kInstance}},
                  {"boot-1", kClearTime - 1h},
                  kClearTime - 1h};
};

TEST_F(NodeClearTest, WhatWasSeenBeforeIsOverWithAWord) {
  state.report(found("Xid79", kClearTime - 1s));
  state.takeEvents();
  const std::uint64_t revision = state.revision();
  EXPECT_THAT(hear(asked()),
              ElementsAre(HasSubstr("GPUFault is now: False"),
                          "ClearedByOperator: GPUFault called over by ops at 2026-11-29T12:00:00Z: board "
                          "swapped. Over: Xid79@"));
  EXPECT_EQ(status("GPUFault"), "False");
  EXPECT_GT(state.revision(), revision) << "to be published at once";
}

TEST_F(NodeClearTest, WhatWasSeenSinceStays) {
  state.report(found("Xid79", kClearTime - 1s));
  state.report(found("Xid95", kClearTime + 1s));
  state.takeEvents();
  EXPECT_THAT(hear(asked()), ElementsAre(HasSubstr("Over: Xid79@. Seen since, and standing: Xid95@")));
  EXPECT_EQ(status("GPUFault"), "True");
  EXPECT_EQ(state.conditions().at(0).reason, "Xid95");
  EXPECT_EQ(state.findings().size(), 1u);
}

TEST_F(NodeClearTest, ARequestThatClearsNothingIsAnsweredToo) {
  state.report(found("Xid79", kClearTime - 1s));
  state.report(found("Xid79", kClearTime + 1s));
  state.takeEvents();
  EXPECT_THAT(hear(asked()), ElementsAre(HasSubstr("NotCleared: GPUFault stays as it is")));
  EXPECT_EQ(annotation(), "goes");
}

TEST_F(NodeClearTest, OnlyTheConditionThatIsMeant) {
  state.report(found("Xid79", kClearTime - 1s));
  state.report(found("Worn", kClearTime - 1s, "StorageFault"));
  hear(asked("StorageFault"));
  EXPECT_EQ(status("GPUFault"), "True");
  EXPECT_EQ(status("StorageFault"), "False");
}

TEST_F(NodeClearTest, APersonMayVouchForAnInstanceAndItIsSaid) {
  state.report(found("Xid95", kClearTime - 1s));
  state.takeEvents();
  EXPECT_THAT(hear(asked()).back(), HasSubstr("By its rule only another instance ends it"));
  EXPECT_EQ(status("GPUFault"), "False");
}

TEST_F(NodeClearTest, WhatIsNotSeenIsNotForAPersonToSay) {
  state.report(found("KernelLogUnreadable", kClearTime - 1s, kMonitorDegraded));
  state.takeEvents();
  EXPECT_THAT(hear(asked()), IsEmpty());
  EXPECT_EQ(status(kMonitorDegraded), "True");
}

TEST_F(NodeClearTest, ACheckThatGoesOnFindingItRaisesItAgain) {
  Verdict verdict;
  verdict.condition = "GPUFault";
  verdict.status = "True";
  verdict.reason = "Xid79";
  verdict.rule = "check.json#rules[0]";
  verdict.time = kClearTime - 1s;
  verdict.clearOn = fault::ClearOn::kBoot;
  state.judge(verdict);
  hear(asked());
  EXPECT_EQ(status("GPUFault"), "False");
  verdict.time = kClearTime + 1min;
  state.judge(verdict);
  EXPECT_EQ(status("GPUFault"), "True");
}

TEST_F(NodeClearTest, TheRequestIsHeardOnceAndTakenOff) {
  EXPECT_EQ(annotation(), "stays");
  state.report(found("Xid79", kClearTime - 1s));
  hear(asked());
  EXPECT_EQ(annotation(), "goes");
  EXPECT_THAT(hear(asked()), IsEmpty()) << "the patch has failed";
  EXPECT_EQ(annotation(), "goes");
  hear(JsonObject{});
  EXPECT_EQ(annotation(), "stays");
}

TEST_F(NodeClearTest, ARequestThatCannotBeReadClearsNothingAndIsTold) {
  state.report(found("Xid79", kClearTime - 1s));
  state.takeEvents();
  EXPECT_THAT(hear(withAnnotation("yes")), ElementsAre(HasSubstr("ClearUnreadable: nothing is cleared")));
  EXPECT_EQ(status("GPUFault"), "True");
  EXPECT_EQ(annotation(), "goes");
}

}  // namespace
}  // namespace mainstay::agent
