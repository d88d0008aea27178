#include "kube/events.h"

#include <gtest/gtest.h>

#include "kube/scripted_api.h"

namespace mainstay::kube {
namespace {

class EventsTest : public testing::Test {
 protected:
  Result<> say(const std::string& message, const EventSubject& about = node()) {
    return recorder_.record(about, "Warning", "NodeIsolated", message, clock_.now());
  }
  static EventSubject node() {
    return {.apiVersion = "v1", .kind = "Node", .ns = "", .name = "a", .uid = "u1"};
  }
  void acceptAll(int times) {
    for (int i = 0; i < times; ++i) {
      api_.answer(Json(JsonObject()));
    }
  }

  ScriptedApi api_;
  ManualClock clock_;
  EventRecorder recorder_{api_, "mainstay-recovery", "host-1"};
};

TEST_F(EventsTest, WritesAnEventAsKubectlDescribeLooksForIt) {
  acceptAll(1);
  ASSERT_TRUE(say("DMA error").has_value());
  const ApiRequest& call = api_.calls.at(0);
  EXPECT_EQ(call.path, "/api/v1/namespaces/default/events");
  EXPECT_EQ(findString(call.body, "involvedObject", "apiVersion"), "v1");
  EXPECT_EQ(findString(call.body, "involvedObject", "kind"), "Node");
  EXPECT_EQ(findString(call.body, "involvedObject", "name"), "a");
  EXPECT_EQ(findString(call.body, "involvedObject", "uid"), "u1");
  EXPECT_EQ(findString(call.body, "reason"), "NodeIsolated");
  EXPECT_EQ(findString(call.body, "type"), "Warning");
  EXPECT_EQ(findString(call.body, "message"), "DMA error");
  EXPECT_EQ(findString(call.body, "source", "component"), "mainstay-recovery");
  EXPECT_EQ(findString(call.body, "source", "host"), "host-1");
  EXPECT_EQ(findString(call.body, "reportingComponent"), "mainstay-recovery");
  EXPECT_EQ(findString(call.body, "reportingInstance"), "host-1");
  EXPECT_EQ(findString(call.body, "firstTimestamp"), formatTime(clock_.now()));
  EXPECT_EQ(call.body.at("count"), 1);
  EXPECT_TRUE(findString(call.body, "metadata", "name").starts_with("a."));
}

TEST_F(EventsTest, LivesInTheNamespaceOfItsSubject) {
  acceptAll(1);
  ASSERT_TRUE(say("x", {.apiVersion = "v1", .kind = "Pod", .ns = "ml", .name = "p", .uid = "u"}).has_value());
  EXPECT_EQ(api_.calls.at(0).path, "/api/v1/namespaces/ml/events");
}

TEST_F(EventsTest, TellsWhenItHappenedRatherThanWhenItCouldBeSent) {
  acceptAll(2);
  const TimePoint happened = clock_.now() - std::chrono::minutes(5);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(recorder_.record(node(), "Warning", "Oops", "100% lost", clock_.now(), happened).has_value());
  }
  EXPECT_EQ(findString(api_.calls[0].body, "firstTimestamp"), formatTime(happened));
  EXPECT_EQ(findString(api_.calls[0].body, "message"), "100% lost") << "no format of printf";
  EXPECT_EQ(findString(api_.calls[1].body, "lastTimestamp"), formatTime(happened));
}

TEST_F(EventsTest, CountsRepeatsOnTheFirst) {
  acceptAll(3);
  ASSERT_TRUE(say("DMA error").has_value());
  clock_.advance(std::chrono::minutes(9));
  ASSERT_TRUE(say("DMA error").has_value());
  clock_.advance(std::chrono::minutes(9));
  ASSERT_TRUE(say("DMA error").has_value());
  EXPECT_EQ(api_.calls[1].method, "PATCH");
  EXPECT_TRUE(api_.calls[1].path.ends_with(findString(api_.calls[0].body, "metadata", "name")));
  EXPECT_EQ(api_.calls[2].body.at("count"), 3);
  EXPECT_EQ(findString(api_.calls[2].body, "lastTimestamp"), formatTime(clock_.now()));
}

TEST_F(EventsTest, BeginsANewEventForOtherWordsOrAfterTenMinutes) {
  acceptAll(3);
  ASSERT_TRUE(say("DMA error").has_value());
  ASSERT_TRUE(say("SRAM error").has_value());
  clock_.advance(std::chrono::minutes(10));
  ASSERT_TRUE(say("DMA error").has_value());
  for (const ApiRequest& call : api_.calls) {
    EXPECT_EQ(call.method, "POST");
  }
  EXPECT_NE(findString(api_.calls[0].body, "metadata", "name"),
            findString(api_.calls[1].body, "metadata", "name"));
}

TEST_F(EventsTest, BeginsANewEventWhenTheFirstHasExpiredInTheServer) {
  acceptAll(1);
  ASSERT_TRUE(say("DMA error").has_value());
  api_.answer(fail(Code::kNotFound, "events have a life of an hour"));
  acceptAll(1);
  ASSERT_TRUE(say("DMA error").has_value());
  EXPECT_EQ(api_.calls[2].method, "POST");
  EXPECT_EQ(api_.calls[2].body.at("count"), 1);
}

TEST_F(EventsTest, AFailureIsToldAndCountsNothing) {
  api_.answer(fail(Code::kPermissionDenied, "events is forbidden"));
  EXPECT_EQ(say("DMA error").error().code(), Code::kPermissionDenied);
  acceptAll(1);
  ASSERT_TRUE(say("DMA error").has_value());
  EXPECT_EQ(api_.calls[1].method, "POST");
}

TEST_F(EventsTest, CutsLongTextsBetweenCharacters) {
  acceptAll(1);
  const std::size_t bound = 16u << 10;
  std::string text(bound - 1, 'x');
  text += "\xC3\xA4 and more";  // an umlaut across the bound
  ASSERT_TRUE(say(text).has_value());
  EXPECT_EQ(findString(api_.calls[0].body, "message"), std::string(bound - 1, 'x'));
}

TEST_F(EventsTest, TheTenthOfSimilarEventsCombinesThoseThatFollow) {
  acceptAll(12);
  for (int i = 1; i <= 12; ++i) {
    ASSERT_TRUE(say("error " + std::to_string(i)).has_value());
    clock_.advance(std::chrono::minutes(9));
  }
  EXPECT_EQ(findString(api_.calls[8].body, "message"), "error 9");
  EXPECT_EQ(api_.calls[9].method, "POST");
  EXPECT_EQ(findString(api_.calls[9].body, "message"), "(combined from similar events): error 10");
  EXPECT_EQ(api_.calls[11].method, "PATCH");
  EXPECT_TRUE(api_.calls[11].path.ends_with(findString(api_.calls[9].body, "metadata", "name")));
  EXPECT_EQ(findString(api_.calls[11].body, "message"), "(combined from similar events): error 12");
  EXPECT_EQ(api_.calls[11].body.at("count"), 3);
}

TEST_F(EventsTest, CutsOffAFloodAndCountsWhatItDidNotWrite) {
  acceptAll(26);
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(say("DMA error").has_value());
  }
  EXPECT_EQ(api_.calls.size(), 25u);
  clock_.advance(std::chrono::minutes(5));
  ASSERT_TRUE(say("DMA error").has_value());
  EXPECT_EQ(api_.calls.size(), 26u);
  EXPECT_EQ(api_.calls.back().body.at("count"), 41);
}

TEST_F(EventsTest, WritesEverythingWhenItsCallerKeepsFloodsAway) {
  acceptAll(40);
  EventRecorder recorder(api_, "agent", "host-1", FloodControl::kCaller);
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(recorder.record(node(), "Warning", "Oops", "DMA error", clock_.now()).has_value());
  }
  EXPECT_EQ(api_.calls.size(), 40u);
}

TEST_F(EventsTest, RemembersABoundedNumber) {
  const int many = 4096;
  acceptAll(many + 2);
  EventSubject subject = node();
  for (int i = 0; i <= many; ++i) {
    subject.name = "node-" + std::to_string(i);
    ASSERT_TRUE(say("DMA error", subject).has_value());
    clock_.advance(Duration(1));
  }
  subject.name = "node-0";
  ASSERT_TRUE(say("DMA error", subject).has_value());
  EXPECT_EQ(api_.calls.back().method, "POST") << "the oldest was forgotten";
}

}  // namespace
}  // namespace mainstay::kube
