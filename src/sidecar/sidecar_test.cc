#include "sidecar/sidecar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainstay::sidecar {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr TimePoint kStart{std::chrono::hours(500000)};
constexpr char kOwn[] = "aws:///us-west-2b/i-own";

// A group of two, where a mark stays until a test changes it.
class TwoInstances final : public cloud::Provider {
 public:
  TwoInstances() {
    group.name = "workers";
    group.desired = 2;
    for (const char* id : {"i-own", "i-other"}) {
      group.instances.push_back({.id = id,
                                 .providerId = "aws:///us-west-2b/" + std::string(id),
                                 .group = group.name,
                                 .lifecycle = "InService",
                                 .healthy = true,
                                 .launched = kStart});
    }
  }
  std::string name() const override { return "test"; }
  Result<std::optional<cloud::Instance>> describe(const std::string& providerId) override {
    calls.push_back("describe");
    if (trouble) {
      return fail(*trouble);
    }
    EXPECT_EQ(providerId, kOwn);
    return group.instances[0];
  }
  Result<cloud::Group> describeGroup(const std::string& wanted) override {
    EXPECT_EQ(wanted, group.name);
    return group;
  }
  Result<> markUnhealthy(const std::string&, const std::string&) override {
    calls.push_back("markUnhealthy");
    group.instances[0].healthy = false;
    group.instances[1].healthy = !collides;
    trouble = troubleAfterMark;
    return {};
  }
  Result<> markHealthy(const std::string&) override {
    calls.push_back("markHealthy");
    group.instances[0].healthy = true;
    return {};
  }

  cloud::Group group;
  std::optional<Error> trouble;           // of the next call
  std::optional<Error> troubleAfterMark;  // of the one that follows the mark
  bool collides = false;                  // the other is marked in the same moment
  std::vector<std::string> calls;
};

class SidecarTest : public testing::Test {
 protected:
  SidecarTest() {
    settings_.counters = {"A", "B"};
    settings_.groupInterval = settings_.interval;
  }

  // Steps once, at the moment that the sidecar asked for, and returns what was logged.
  std::string step() {
    if (!sidecar_) {
      sidecar_.emplace(parts(), settings_, kStart);
    }
    testing::internal::CaptureStderr();
    now_ = sidecar_->step(now_);
    return testing::internal::GetCapturedStderr();
  }
  Parts parts() {
    return {.readMetrics = [this]() -> Result<std::string> { return page_; },
            .identify = [this]() -> Result<std::string> {
              ++identified_;
              return kOwn;
            },
            .publish = [this](const std::vector<Value>& values) -> Result<> {
              published_.push_back(values);
              return publishes_;
            },
            .provider = &cloud_};
  }

  Settings settings_;
  TwoInstances cloud_;
  Result<std::string> page_ = "problem_counter{reason=\"A\"} 0\nproblem_counter{reason=\"B\"} 0\n";
  const std::string broken_ = "problem_counter{reason=\"A\"} 1\nproblem_counter{reason=\"B\"} 0\n";
  Result<> publishes_;
  std::vector<std::vector<Value>> published_;
  int identified_ = 0;
  TimePoint now_ = kStart;
  std::optional<Sidecar> sidecar_;
};

TEST_F(SidecarTest, AsksNothingOfTheCloudWithoutAnError) {
  settings_.recover = true;
  step();
  EXPECT_EQ(now_, kStart + settings_.interval);
  EXPECT_THAT(published_, IsEmpty());
  EXPECT_THAT(cloud_.calls, IsEmpty());
  EXPECT_EQ(identified_, 0);
}

TEST_F(SidecarTest, WaitsForTheStartupDelay) {
  page_ = broken_;
  sidecar_.emplace(parts(), settings_, kStart + seconds(60));
  step();
  EXPECT_EQ(now_, kStart + seconds(60));
  EXPECT_THAT(published_, IsEmpty());
  step();
  EXPECT_THAT(published_, SizeIs(1));
}

TEST_F(SidecarTest, PublishesAndMarksOnce) {
  settings_.recover = true;
  page_ = broken_;
  const std::string log = step();
  EXPECT_THAT(published_, ElementsAre(ElementsAre(Value{"A", 1})));
  EXPECT_THAT(cloud_.calls, ElementsAre("describe", "markUnhealthy", "describe"));
  EXPECT_THAT(log, HasSubstr("the hardware has an error"));
  EXPECT_THAT(log, HasSubstr("marking the instance unhealthy"));
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(step(), IsEmpty()) << "only changes are logged";
  }
  EXPECT_THAT(cloud_.calls, Not(testing::Contains("markUnhealthy").Times(2)));
  EXPECT_EQ(identified_, 1);
}

TEST_F(SidecarTest, ASidecarThatStartsAgainDoesNotMarkAgain) {
  settings_.recover = true;
  page_ = broken_;
  step();
  sidecar_.reset();
  cloud_.calls.clear();
  EXPECT_THAT(step(), HasSubstr("nothing is left to do"));
  EXPECT_THAT(cloud_.calls, ElementsAre("describe"));
}

TEST_F(SidecarTest, OnlyPublishesUnlessRecoveryIsSwitchedOn) {
  page_ = broken_;
  step();
  step();
  EXPECT_THAT(published_, SizeIs(1));
  EXPECT_THAT(cloud_.calls, IsEmpty());
}

TEST_F(SidecarTest, StandsBackAndSaysWhyUntilTheGroupCanSpareIt) {
  settings_.recover = true;
  page_ = broken_;
  cloud_.group.instances[1].healthy = false;
  EXPECT_THAT(step(), HasSubstr("i-other is Unhealthy and InService"));
  EXPECT_THAT(step(), IsEmpty());
  EXPECT_THAT(cloud_.calls, Not(testing::Contains("markUnhealthy")));
  // The detector has been restarted and forgot; the hardware did not.
  page_ = "problem_counter{reason=\"A\"} 0\n";
  cloud_.group.instances[1].healthy = true;
  step();
  EXPECT_THAT(cloud_.calls, testing::Contains("markUnhealthy"));
}

TEST_F(SidecarTest, WithdrawsAMarkThatWasOneTooMany) {
  settings_.recover = true;
  page_ = broken_;
  cloud_.collides = true;
  EXPECT_THAT(step(), HasSubstr("taking the mark back"));
  EXPECT_THAT(cloud_.calls, ElementsAre("describe", "markUnhealthy", "describe", "markHealthy"));
  cloud_.collides = false;
  std::string log;
  for (int i = 0; i < 17; ++i) {
    log += step();
  }
  EXPECT_THAT(log, HasSubstr("the instance is not marked"));
  cloud_.group.instances[1].healthy = true;
  for (int i = 0; i < 17 && cloud_.group.instances[0].healthy; ++i) {
    step();
  }
  EXPECT_FALSE(cloud_.group.instances[0].healthy) << "it tries again";
}

TEST_F(SidecarTest, AMarkThatCouldNotBeLookedAtIsLookedAtLater) {
  settings_.recover = true;
  page_ = broken_;
  cloud_.collides = true;
  cloud_.troubleAfterMark = Error(Code::kUnavailable, "no route");
  EXPECT_THAT(step(), HasSubstr("no route"));
  EXPECT_FALSE(cloud_.group.instances[0].healthy);
  cloud_.trouble.reset();
  EXPECT_THAT(step(), HasSubstr("taking the mark back"));
  EXPECT_TRUE(cloud_.group.instances[0].healthy);
}

TEST_F(SidecarTest, TellsOfFailuresWhenTheyBeginAndEndAndTriesAgain) {
  settings_.recover = true;
  page_ = broken_;
  cloud_.trouble = Error(Code::kUnavailable, "no route");
  publishes_ = fail(Code::kPermissionDenied, "not authorized");
  EXPECT_THAT(step(), testing::AllOf(HasSubstr("no route"), HasSubstr("not authorized")));
  EXPECT_THAT(step(), IsEmpty());
  cloud_.trouble.reset();
  EXPECT_THAT(step(), HasSubstr("works again"));
  EXPECT_THAT(cloud_.calls, testing::Contains("markUnhealthy"));
}

TEST_F(SidecarTest, UnknownIsNotHealthy) {
  settings_.publishZeros = true;
  page_ = fail(Code::kUnavailable, "connection refused");
  EXPECT_THAT(step(), HasSubstr("connection refused"));
  EXPECT_THAT(published_, IsEmpty());
  page_ = "up 1\n";
  EXPECT_THAT(step(), HasSubstr("the detector knows none of the counters"));
  EXPECT_THAT(published_, IsEmpty());
  page_ = "problem_counter{reason=\"A\"} 0\n<html>\n";
  EXPECT_THAT(step(), testing::AllOf(HasSubstr("unknown=B"), HasSubstr("lines=1")));
  EXPECT_THAT(published_, ElementsAre(ElementsAre(Value{"A", 0})));
}

}  // namespace
}  // namespace mainstay::sidecar
