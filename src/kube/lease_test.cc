#include "kube/lease.h"

#include <gtest/gtest.h>

#include <map>

#include "kube/scripted_api.h"

namespace mainstay::kube {
namespace {

using std::chrono::seconds;

// One lease behind optimistic locking, and a switch that cuts callers off.
class LeaseServer final : public Api {
 public:
  Result<Json> call(const ApiRequest& request, Deadline) override {
    ++calls;
    if (down) {
      return fail(Code::kUnavailable, "connection refused");
    }
    if (request.method == "GET") {
      return lease.is_null() ? Result<Json>(fail(Code::kNotFound, "no lease")) : Result<Json>(lease);
    }
    if (request.method == "POST" && !lease.is_null()) {
      return fail(Code::kAlreadyExists, "there is one");
    }
    if (request.method == "PUT" &&
        findString(request.body, "metadata", "resourceVersion") != std::to_string(version)) {
      return fail(Code::kConflict, "the object has been modified");
    }
    lease = request.body;
    lease.at("metadata").as_object()["resourceVersion"] = std::to_string(++version);
    return lease;
  }
  Result<std::unique_ptr<WatchStream>> watch(const std::string&, Query, Signal&) override {
    return fail(Code::kInternal, "nobody watches leases here");
  }
  std::string text(const char* key) { return findString(lease, "spec", key); }
  std::int64_t number(const char* key) { return lease.at("spec").at(key).as_int64(); }

  Json lease;
  int version = 0;
  int calls = 0;
  bool down = false;
};

class LeaseTest : public testing::Test {
 protected:
  TimePoint stepFirst() { return first_.step(clock_.now()); }
  TimePoint stepSecond() { return second_.step(clock_.now()); }

  LeaseServer server_;
  ManualClock clock_;
  LeaderElector first_{server_, clock_, {.identity = "first"}};
  LeaderElector second_{server_, clock_, {.identity = "second"}};
};

TEST_F(LeaseTest, CreatesTheLeaseAsClientGoDoes) {
  EXPECT_FALSE(first_.leading());
  EXPECT_FALSE(first_.token().valid());
  EXPECT_EQ(stepFirst(), clock_.now() + seconds(2));
  EXPECT_TRUE(first_.leading());
  EXPECT_EQ(server_.text("holderIdentity"), "first");
  EXPECT_EQ(server_.number("leaseDurationSeconds"), 15);
  EXPECT_EQ(server_.number("leaseTransitions"), 0);
  EXPECT_EQ(server_.text("acquireTime"), formatMicroTime(clock_.now()));
  EXPECT_EQ(server_.text("renewTime"), formatMicroTime(clock_.now()));
  EXPECT_EQ(findString(server_.lease, "metadata", "name"), "mainstay-controller");
}

TEST_F(LeaseTest, RenewsAndKeepsTheTimeOfAcquisition) {
  stepFirst();
  const std::string acquired = server_.text("acquireTime");
  server_.lease.at("spec").as_object()["preferredHolder"] = "foreign field";
  clock_.advance(seconds(2));
  stepFirst();
  EXPECT_EQ(server_.text("acquireTime"), acquired);
  EXPECT_EQ(server_.text("renewTime"), formatMicroTime(clock_.now()));
  EXPECT_EQ(server_.number("leaseTransitions"), 0);
  EXPECT_EQ(server_.text("preferredHolder"), "foreign field");
}

TEST_F(LeaseTest, AsksNothingBeforeItIsDue) {
  stepFirst();
  const int calls = server_.calls;
  clock_.advance(seconds(1));
  stepFirst();
  EXPECT_EQ(server_.calls, calls);
}

TEST_F(LeaseTest, WaitsForALiveHolder) {
  stepFirst();
  for (int i = 0; i < 30; ++i) {
    stepSecond();
    clock_.advance(seconds(2));
    stepFirst();
    EXPECT_FALSE(second_.leading());
    EXPECT_TRUE(first_.leading());
  }
  EXPECT_EQ(second_.holder(), "first");
}

TEST_F(LeaseTest, TakesOverAWholeLeaseAfterItSawTheLastChange) {
  stepFirst();
  clock_.advance(seconds(14));  // the holder is dead since; second first looks now
  TimePoint wake = stepSecond();
  clock_.advance(seconds(14));
  wake = stepSecond();
  EXPECT_FALSE(second_.leading()) << "14 s since it saw the lease, whatever renewTime says";
  EXPECT_EQ(wake, clock_.now() + seconds(1)) << "it comes back when the lease ends";
  clock_.advance(seconds(1));
  stepSecond();
  EXPECT_TRUE(second_.leading());
  EXPECT_EQ(server_.number("leaseTransitions"), 1);
  EXPECT_EQ(server_.text("acquireTime"), formatMicroTime(clock_.now()));
}

TEST_F(LeaseTest, IgnoresAHoldersClock) {
  stepFirst();
  server_.lease.at("spec").as_object()["renewTime"] = "1999-01-01T00:00:00.000000Z";
  stepSecond();
  EXPECT_FALSE(second_.leading());
}

TEST_F(LeaseTest, StopsLeadingAtTheRenewDeadlineWhileTheServerIsAway) {
  stepFirst();
  const LeaderToken token = first_.token();
  server_.down = true;
  TimePoint wake = clock_.now();
  for (int i = 0; i < 4; ++i) {
    clock_.advance(seconds(2));
    wake = stepFirst();
    EXPECT_TRUE(first_.leading());
  }
  EXPECT_LE(wake, clock_.now() + seconds(2)) << "it wants to be there when its time is over";
  clock_.advance(seconds(2));
  EXPECT_FALSE(first_.leading()) << "by itself, before any step";
  EXPECT_FALSE(token.valid());
  EXPECT_GT(stepFirst(), clock_.now());
  server_.down = false;
  clock_.advance(seconds(2));
  stepFirst();
  EXPECT_TRUE(first_.leading()) << "nobody took it meanwhile";
  EXPECT_EQ(server_.number("leaseTransitions"), 0);
}

TEST_F(LeaseTest, WakesItsFollowersWheneverTheyMayActAgain) {
  class Follower final : public Loop {
   public:
    std::string_view name() const override { return "follower"; }
    TimePoint step(TimePoint) override { return kNever; }
  };
  Follower follower;
  Election election(first_, {&follower});
  election.step(clock_.now());
  EXPECT_TRUE(follower.signal().take()) << "it leads now";
  clock_.advance(seconds(2));
  election.step(clock_.now());
  EXPECT_FALSE(follower.signal().take()) << "a renewal is no news";
  clock_.advance(seconds(11));
  EXPECT_FALSE(first_.leading()) << "its term has run out, before any step";
  election.step(clock_.now());
  EXPECT_TRUE(follower.signal().take()) << "a follower that looked in between sleeps";
}

TEST_F(LeaseTest, AHolderThatWasStoppedPastItsLeaseWakesUpAndMustNotAct) {
  stepFirst();
  const LeaderToken token = first_.token();
  stepSecond();
  clock_.advance(seconds(16));
  stepSecond();
  EXPECT_TRUE(second_.leading());

  EXPECT_FALSE(token.valid());
  EXPECT_FALSE(first_.leading());
  LeaderOnlyApi guarded(server_, first_);
  const int calls = server_.calls;
  const auto written = guarded.call({.method = "PATCH", .path = "/api/v1/nodes/a"}, Deadline::never());
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code(), Code::kFailedPrecondition);
  EXPECT_EQ(server_.calls, calls) << "nothing was sent";
  stepFirst();
  EXPECT_FALSE(first_.leading());
  EXPECT_TRUE(second_.leading());
}

TEST_F(LeaseTest, NeverTwoLeadersWhateverTheOrderOfSteps) {
  TimePoint wakeFirst = clock_.now();
  TimePoint wakeSecond = clock_.now();
  int changes = 0;
  std::string leader;
  for (int tick = 0; tick < 2000; ++tick) {
    server_.down = tick % 97 > 60;          // the server comes and goes
    const bool stopped = tick % 211 > 150;  // so does the first candidate
    if (!stopped && clock_.now() >= wakeFirst) {
      wakeFirst = stepFirst();
    }
    if (clock_.now() >= wakeSecond) {
      wakeSecond = stepSecond();
    }
    ASSERT_FALSE(first_.leading() && second_.leading()) << "tick " << tick;
    const std::string now = first_.leading() ? "first" : second_.leading() ? "second" : leader;
    changes += now != leader ? 1 : 0;
    leader = now;
    clock_.advance(std::chrono::milliseconds(700));
  }
  EXPECT_GT(changes, 2);
}

TEST_F(LeaseTest, AnOrderlyStopLetsTheNextOneInAtOnce) {
  stepFirst();
  stepSecond();
  first_.release();
  EXPECT_FALSE(first_.leading());
  EXPECT_FALSE(first_.token().valid());
  EXPECT_EQ(server_.text("holderIdentity"), "");
  EXPECT_EQ(server_.number("leaseDurationSeconds"), 1);
  clock_.advance(seconds(2));
  stepSecond();
  EXPECT_TRUE(second_.leading());
  EXPECT_EQ(server_.number("leaseTransitions"), 1);
}

TEST_F(LeaseTest, ReleaseDoesNothingWithoutTheLease) {
  first_.release();
  EXPECT_EQ(server_.calls, 0);
}

TEST_F(LeaseTest, OneOfTwoWhoTryTogetherWins) {
  stepFirst();
  first_.release();
  clock_.advance(seconds(2));
  stepFirst();
  stepSecond();
  EXPECT_NE(first_.leading(), second_.leading());
}

TEST_F(LeaseTest, SurvivesALeaseOfWrongShape) {
  for (const char* spec :
       {R"({"spec":null})", R"({"spec":{"holderIdentity":7}})", R"({})",
        R"({"spec":{"holderIdentity":"x","leaseDurationSeconds":9223372036854775807}})",
        R"({"spec":{"holderIdentity":"x","leaseDurationSeconds":-5,"acquireTime":"soon"}})"}) {
    LeaseServer server;
    server.lease = parseJson(spec).value();
    server.lease.as_object()["metadata"] = JsonObject{{"resourceVersion", "0"}};
    LeaderElector elector(server, clock_, {.identity = "me"});
    EXPECT_GT(elector.step(clock_.now()), clock_.now()) << spec;
  }
}

TEST_F(LeaseTest, ReadsPassThroughTheGuardAlways) {
  LeaderOnlyApi guarded(server_, first_);
  server_.lease = JsonObject();
  EXPECT_TRUE(guarded.call({.path = "/api/v1/nodes"}, Deadline::never()).has_value());
}

}  // namespace
}  // namespace mainstay::kube
