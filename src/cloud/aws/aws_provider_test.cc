#include "cloud/aws/aws_provider.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "cloud/aws/testing.h"
#include "cloud/provider_contract.h"

namespace mainstay::cloud::aws {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class AwsWorld final : public ProviderWorld {
 public:
  Provider& provider() override { return provider_; }
  std::string group() override { return "workers"; }
  std::string unknownProviderId() override { return "aws:///us-west-2b/i-999"; }
  void settle() override { aws_.settle(); }

 private:
  FakeAws aws_;
  TestSurroundings surroundings_{aws_};
  AwsProvider provider_{surroundings_.get()};
};

std::unique_ptr<ProviderWorld> makeAwsWorld() {
  return std::make_unique<AwsWorld>();
}

using namespace std::chrono_literals;

constexpr char kFirst[] = "aws:///us-west-2b/i-1";

class AwsProviderTest : public testing::Test {
 protected:
  Result<> mark() { return provider_.markUnhealthy(kFirst, "incident-1"); }
  // The words of a refusal that says the world is not ready for it, and that nothing was written.
  std::string refusal() {
    const Result<> marked = mark();
    if (marked) {
      return "marked";
    }
    EXPECT_EQ(marked.error().code(), Code::kFailedPrecondition);
    EXPECT_THAT(aws_.actions(), Not(Contains("SetInstanceHealth")));
    return marked.error().toString();
  }
  Instance first() { return provider_.describe(kFirst).value().value(); }

  FakeAws aws_;
  TestSurroundings world_{aws_};
  AwsProvider provider_{world_.get()};
};

TEST_F(AwsProviderTest, CountsALaunchToTheEndOfItsSecond) {
  const auto instance = provider_.describe(kFirst);
  ASSERT_TRUE(instance && *instance);
  EXPECT_EQ((*instance)->launched.time_since_epoch() % 1s, 999'999us);
}

TEST_F(AwsProviderTest, MarksPastTheGracePeriodUnlessTold) {
  ASSERT_TRUE(mark().has_value());
  EXPECT_THAT(aws_.requests(),
              Contains(testing::Field(&HttpRequest::body, HasSubstr("ShouldRespectGracePeriod=false"))));
  AwsProvider patient(world_.get(), {.respectGracePeriod = true});
  ASSERT_TRUE(patient.markUnhealthy("aws:///us-west-2b/i-2", "t").has_value());
  EXPECT_THAT(aws_.requests(),
              Contains(testing::Field(&HttpRequest::body, HasSubstr("ShouldRespectGracePeriod=true"))));
}

TEST_F(AwsProviderTest, DoesNotMarkWhatIsUnhealthyOrEnding) {
  ASSERT_TRUE(mark().has_value());
  ASSERT_TRUE(mark().has_value());
  aws_.setLifecycle("i-2", "Terminating:Wait");
  ASSERT_TRUE(provider_.markUnhealthy("aws:///us-west-2b/i-2", "t").has_value());
  aws_.setEc2State("i-3", "shutting-down");
  ASSERT_TRUE(provider_.markUnhealthy("aws:///us-west-2b/i-3", "t").has_value());
  const std::vector<std::string> actions = aws_.actions();
  EXPECT_EQ(std::ranges::count(actions, "SetInstanceHealth"), 1);
}

TEST_F(AwsProviderTest, TakesAMarkBackBeforeTheEnd) {
  ASSERT_TRUE(mark().has_value());
  EXPECT_FALSE(first().healthy);
  ASSERT_TRUE(provider_.markHealthy(kFirst).has_value());
  EXPECT_TRUE(first().healthy);
}

TEST_F(AwsProviderTest, SaysWhenTheMarkDoesNotStick) {
  aws_.setDeaf(true);
  const Result<> marked = mark();
  ASSERT_FALSE(marked.has_value());
  EXPECT_EQ(marked.error().code(), Code::kFailedPrecondition);
  EXPECT_THAT(marked.error().toString(), HasSubstr("did not stick"));
}

TEST_F(AwsProviderTest, IsContentWhenTheInstanceEndsUnderTheMark) {
  // The group is read, and then the instance is gone.
  aws_.answerWith(
      {.status = 200, .body = R"(<DescribeAutoScalingInstancesResponse><DescribeAutoScalingInstancesResult>
    <AutoScalingInstances><member><InstanceId>i-9</InstanceId><AutoScalingGroupName>workers</AutoScalingGroupName>
    <AvailabilityZone>us-west-2b</AvailabilityZone><LifecycleState>InService</LifecycleState><HealthStatus>HEALTHY</HealthStatus>
    </member></AutoScalingInstances></DescribeAutoScalingInstancesResult></DescribeAutoScalingInstancesResponse>)"});
  const Result<> marked = provider_.markUnhealthy("aws:///us-west-2b/i-9", "t");
  EXPECT_TRUE(marked.has_value()) << marked.error().toString();
  EXPECT_THAT(aws_.actions(), Contains("SetInstanceHealth"));
}

TEST_F(AwsProviderTest, RefusesWhileTheGroupWouldNotReplace) {
  for (const char* process : {"Launch", "Terminate", "ReplaceUnhealthy"}) {
    aws_.suspend(process, "User suspended at 2026-11-29T20:14:07Z");
    EXPECT_THAT(refusal(),
                AllOf(HasSubstr("process " + std::string(process) + " of group workers is suspended"),
                      HasSubstr("User suspended at"),
                      HasSubstr("resume-processes --auto-scaling-group-name workers --scaling-processes " +
                                std::string(process))));
    EXPECT_THAT(provider_.describeGroup("workers").value().obstacle, HasSubstr(process));
    aws_.resume(process);
  }
  aws_.suspend("AZRebalance", "");
  EXPECT_TRUE(mark().has_value());
}

TEST_F(AwsProviderTest, RefusesWhatIsInStandby) {
  aws_.setLifecycle("i-1", "Standby");
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("Standby"), HasSubstr("exit-standby"), HasSubstr("--instance-ids i-1")));
}

TEST_F(AwsProviderTest, RefusesWhatIsBeingDetached) {
  aws_.setLifecycle("i-1", "Detaching");
  EXPECT_THAT(refusal(), HasSubstr("detached from group workers"));
}

TEST_F(AwsProviderTest, RefusesAnInstanceInNoGroup) {
  aws_.detach("i-1");
  EXPECT_EQ(first().group, "");
  EXPECT_EQ(first().lifecycle, "running");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("in no Auto Scaling group"), HasSubstr("NodeClaim")));
}

TEST_F(AwsProviderTest, TellsOfAHookThatHoldsTheEnd) {
  aws_.setTerminationHook(true);
  ASSERT_TRUE(mark().has_value());
  aws_.settle();
  EXPECT_EQ(first().lifecycle, "Terminating:Wait");
  EXPECT_THAT(first().obstacle, AllOf(HasSubstr("lifecycle hook"), HasSubstr("complete-lifecycle-action")));
  aws_.setTerminationHook(false);
  aws_.settle();
  EXPECT_EQ(first().lifecycle, "Terminated");
  EXPECT_EQ(first().obstacle, "");
}

TEST_F(AwsProviderTest, TellsOfAHookThatHoldsAStart) {
  aws_.setLifecycle("i-3", "Pending:Wait");
  EXPECT_THAT(provider_.describeGroup("workers").value().obstacle,
              AllOf(HasSubstr("the new instance i-3"), HasSubstr("Pending:Wait")));
}

TEST_F(AwsProviderTest, QuotesWhyThereIsNoCapacity) {
  aws_.setCapacityTrouble("We currently do not have sufficient trn1.32xlarge capacity in us-west-2b.");
  ASSERT_TRUE(mark().has_value());
  aws_.settle();
  const Group group = provider_.describeGroup("workers").value();
  ASSERT_FALSE(group.activities.empty());
  EXPECT_EQ(group.activities[0].status, "Failed");
  EXPECT_THAT(group.activities[0].statusMessage, HasSubstr("sufficient trn1.32xlarge capacity"));
}

TEST_F(AwsProviderTest, BelievesEc2ThatAnInstanceHasEnded) {
  aws_.setEc2State("i-1", "shutting-down");
  EXPECT_TRUE(first().ending());
  aws_.setEc2State("i-1", "terminated");
  EXPECT_EQ(first().lifecycle, "Terminated");
  aws_.forget("i-1");
  EXPECT_FALSE(provider_.describe(kFirst).value().has_value());
}

TEST_F(AwsProviderTest, DoesNotTakeAnInstanceForGoneInAnEmptyAccount) {
  aws_.forgetAll();
  const auto nobody = provider_.describe(kFirst);
  ASSERT_FALSE(nobody.has_value());
  EXPECT_THAT(nobody.error().toString(), HasSubstr("not the cluster's credentials"));
}

TEST_F(AwsProviderTest, DoesNothingInAnotherRegionOrZone) {
  for (const char* id : {"aws:///us-east-1a/i-1", "aws:///us-west-2a/i-1"}) {
    const Result<> marked = provider_.markUnhealthy(id, "t");
    ASSERT_FALSE(marked.has_value()) << id;
    EXPECT_EQ(marked.error().code(), Code::kFailedPrecondition) << id;
  }
  EXPECT_THAT(aws_.actions(), Not(Contains("SetInstanceHealth")));
}

TEST_F(AwsProviderTest, RefusesProviderIdsThatAreNotOfEc2) {
  for (const char* id :
       {"local:///z/i-1", "aws:///us-west-2b/fargate-ip-10-0-0-1", "aws:///us-west-2b/i-", "aws:///i-1",
        "eks-hybrid:///us-west-2/c/mi-1", "aws:///us-west-2b//", "aws://i-1"}) {
    const auto described = provider_.describe(id);
    ASSERT_FALSE(described.has_value()) << id;
  }
  EXPECT_TRUE(aws_.requests().empty());
}

TEST_F(AwsProviderTest, AsksNobodyBeforeItIsAsked) {
  TestSurroundings nothing;
  AwsProvider provider(nothing.get());
  EXPECT_EQ(provider.name(), "aws");
  nothing.environment["AWS_EC2_METADATA_DISABLED"] = "true";
  EXPECT_THAT(provider.describe(kFirst).error().toString(), HasSubstr("set AWS_REGION"));
}

// The shipped policy allows what the provider calls, and nothing else.
TEST_F(AwsProviderTest, CallsExactlyWhatItsIamPolicyAllows) {
  ASSERT_TRUE(mark().has_value());
  aws_.settle();
  ASSERT_TRUE(provider_.describeGroup("workers").has_value());
  ASSERT_TRUE(provider_.describe("aws:///us-west-2b/i-999").has_value());
  std::ifstream file(MAINSTAY_SOURCE_DIR "/deploy/aws/controller-policy.json");
  std::stringstream text;
  text << file.rdbuf();
  std::set<std::string> allowed;
  const Json policy = parseJson(text.str()).value();
  for (const Json& statement : policy.at("Statement").as_array()) {
    for (const Json& action : statement.at("Action").as_array()) {
      allowed.insert(std::string(action.as_string()));
    }
  }
  EXPECT_EQ(aws_.permissionsUsed(), allowed);
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Aws, ProviderContract, testing::Values(&makeAwsWorld));

}  // namespace mainstay::cloud::aws
