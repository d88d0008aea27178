#include "kube/testing.h"

#include <gtest/gtest.h>

#include "kube/scripted_api.h"

namespace mainstay::kube {
namespace {

const ApiRequest kRead{.path = "/api/v1/nodes"};
const ApiRequest kWrite{.method = "PATCH", .path = "/api/v1/nodes/a"};

class WrappedApiTest : public testing::Test {
 protected:
  void accept(int times) {
    for (int i = 0; i < times; ++i) {
      inner_.answer(Json(JsonObject()));
    }
  }
  static bool works(Api& api, const ApiRequest& request) {
    return api.call(request, Deadline::never()).has_value();
  }
  ScriptedApi inner_;
  Signal signal_;
};

TEST_F(WrappedApiTest, CrashesBeforeTheNthWriteAndCountsNoReads) {
  CrashPoint point(2, CrashPoint::Side::kBefore, [] {});
  CrashingApi api(inner_, point);
  accept(3);
  EXPECT_TRUE(works(api, kWrite));
  EXPECT_TRUE(works(api, kRead));
  EXPECT_FALSE(works(api, kWrite));
  EXPECT_EQ(inner_.calls.size(), 2u);
  EXPECT_FALSE(works(api, kRead)) << "the dead do not read";
  EXPECT_FALSE(api.watch("/api/v1/nodes", {}, signal_).has_value());
}

TEST_F(WrappedApiTest, CrashesAfterTheNthWriteWasCarriedOut) {
  CrashPoint point(1, CrashPoint::Side::kAfter, [] {});
  CrashingApi api(inner_, point);
  accept(1);
  EXPECT_FALSE(works(api, kWrite));
  EXPECT_EQ(inner_.calls.size(), 1u);
}

TEST_F(WrappedApiTest, FailsTheKthCallWithTheGivenErrorAndSendsItNot) {
  FaultyApi api(inner_);
  api.failCall(2, Error(Code::kConflict, "on purpose"));
  accept(2);
  EXPECT_TRUE(works(api, kRead));
  EXPECT_EQ(api.call(kWrite, Deadline::never()).error().code(), Code::kConflict);
  EXPECT_TRUE(works(api, kWrite));
  EXPECT_EQ(inner_.calls.size(), 2u);
}

TEST_F(WrappedApiTest, FailsCallsThatMatchSoManyTimes) {
  FaultyApi api(inner_);
  api.failMatching([](const ApiRequest& request) { return request.isWrite(); },
                   Error(Code::kUnavailable, "on purpose"), 2);
  accept(2);
  EXPECT_TRUE(works(api, kRead));
  EXPECT_FALSE(works(api, kWrite));
  EXPECT_FALSE(works(api, kWrite));
  EXPECT_TRUE(works(api, kWrite));
}

TEST_F(WrappedApiTest, OpeningAWatchIsACallThatCanFail) {
  FaultyApi api(inner_);
  api.failCall(1, Error(Code::kGone, "on purpose"));
  EXPECT_EQ(api.watch("/api/v1/nodes", {}, signal_).error().code(), Code::kGone);
  EXPECT_TRUE(api.watch("/api/v1/nodes", {}, signal_).has_value());
}

TEST_F(WrappedApiTest, DropsOpenWatchesAndWakesTheirLoops) {
  FaultyApi api(inner_);
  auto old = api.watch("/api/v1/nodes", {}, signal_);
  ASSERT_TRUE(old.has_value());
  EXPECT_TRUE((*old)->poll().has_value());
  api.dropWatches();
  EXPECT_TRUE(signal_.take());
  EXPECT_EQ((*old)->poll().error().code(), Code::kUnavailable);
  auto fresh = api.watch("/api/v1/nodes", {}, signal_);
  EXPECT_TRUE((*fresh)->poll().has_value());
  fresh->reset();
  api.dropWatches();
  EXPECT_FALSE(signal_.take()) << "a closed watch is left alone";
}

}  // namespace
}  // namespace mainstay::kube
