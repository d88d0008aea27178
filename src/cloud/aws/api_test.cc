#include "cloud/aws/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloud/aws/testing.h"

namespace mainstay::cloud::aws {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class ApiTest : public testing::Test {
 protected:
  Query sent() { return parseQuery(aws_.requests().back().body); }

  FakeAws aws_;
  TestSurroundings world_{aws_};
  Session session_{world_.get()};
  QueryClient client_{session_};
  Api api_{client_};
};

TEST_F(ApiTest, DescribesMembersOfGroups) {
  const auto found = api_.describeAutoScalingInstances({"i-1", "i-2", "i-99"}).value();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].group, "workers");
  EXPECT_EQ(found[0].lifecycle, "InService");
  EXPECT_TRUE(found[0].healthy()) << "written in capitals there";
}

TEST_F(ApiTest, FollowsPages) {
  aws_.setPageSize(1);
  EXPECT_THAT(api_.describeInstances({"i-1", "i-2", "i-3"}).value(), SizeIs(3));
  EXPECT_THAT(aws_.actions(), SizeIs(3));
}

TEST_F(ApiTest, EndsPagesThatNeverEnd) {
  for (int i = 0; i < 101; ++i) {
    aws_.answerWith(
        {.status = 200,
         .body = "<DescribeInstancesResponse><nextToken>x</nextToken></DescribeInstancesResponse>"});
  }
  EXPECT_THAT(api_.describeInstances({"i-1"}).error().toString(), HasSubstr("more than 100 pages"));
}

TEST_F(ApiTest, AsksForManyInstancesInPortions) {
  EXPECT_THAT(api_.describeInstances(std::vector<std::string>(401, "i-1")).value(), SizeIs(3));
  EXPECT_THAT(aws_.actions(), SizeIs(3));
}

TEST_F(ApiTest, TellsWhatAnAnswerLacks) {
  aws_.answerWith(
      {.status = 200,
       .body =
           "<DescribeAutoScalingInstancesResponse><DescribeAutoScalingInstancesResult><AutoScalingInstances>"
           "<member><InstanceId>i-1</InstanceId></member></AutoScalingInstances>"
           "</DescribeAutoScalingInstancesResult></DescribeAutoScalingInstancesResponse>"});
  EXPECT_THAT(api_.describeAutoScalingInstances({"i-1"}).error().toString(),
              HasSubstr("lacks AvailabilityZone"));
}

TEST_F(ApiTest, DescribesStatusWithWhatAwsHasScheduled) {
  const auto status = api_.describeInstanceStatus("i-1").value();
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->system, "impaired");
  EXPECT_THAT(status->events, ElementsAre("system-maintenance: scheduled maintenance"));
  aws_.answerWith(
      {.status = 400,
       .body =
           "<Response><Errors><Error><Code>InvalidInstanceID.NotFound</Code><Message>gone</Message></Error>"
           "</Errors></Response>"});
  EXPECT_FALSE(api_.describeInstanceStatus("i-99").value().has_value());
}

TEST_F(ApiTest, SaysTheGracePeriodInEachMark) {
  ASSERT_TRUE(api_.setInstanceHealth("i-1", "Unhealthy", false).has_value());
  EXPECT_EQ(queryValue(sent(), "ShouldRespectGracePeriod"), "false");
  ASSERT_TRUE(api_.setInstanceHealth("i-1", "Unhealthy", true).has_value());
  EXPECT_EQ(queryValue(sent(), "ShouldRespectGracePeriod"), "true");
}

TEST_F(ApiTest, TerminatesWithoutMakingTheGroupSmaller) {
  ASSERT_TRUE(api_.terminateInstanceInAutoScalingGroup("i-1").has_value());
  EXPECT_EQ(queryValue(sent(), "ShouldDecrementDesiredCapacity"), "false");
}

TEST_F(ApiTest, RebootsOneInstance) {
  ASSERT_TRUE(api_.rebootInstance("i-2").has_value());
  EXPECT_EQ(queryValue(sent(), "InstanceId.1"), "i-2");
}

TEST_F(ApiTest, PutsMetricsWithDimensionsAndTime) {
  ASSERT_TRUE(api_.putMetricData("NeuronHealthCheck", {{.name = "NeuronHasError_DMA_ERROR",
                                                        .value = 1,
                                                        .dimensions = {{"InstanceId", "i-1"}},
                                                        .at = parseTime("2026-11-29T20:14:07Z")},
                                                       {.name = "Ratio", .value = 0.25, .unit = "None"}})
                  .has_value());
  const Query query = sent();
  EXPECT_EQ(queryValue(query, "Namespace"), "NeuronHealthCheck");
  EXPECT_EQ(queryValue(query, "MetricData.member.1.MetricName"), "NeuronHasError_DMA_ERROR");
  EXPECT_EQ(queryValue(query, "MetricData.member.1.Value"), "1");
  EXPECT_EQ(queryValue(query, "MetricData.member.1.Timestamp"), "2026-11-29T20:14:07Z");
  EXPECT_EQ(queryValue(query, "MetricData.member.1.Dimensions.member.1.Name"), "InstanceId");
  EXPECT_EQ(queryValue(query, "MetricData.member.1.Dimensions.member.1.Value"), "i-1");
  EXPECT_EQ(queryValue(query, "MetricData.member.2.Value"), "0.25");
  EXPECT_EQ(queryValue(query, "MetricData.member.2.Unit"), "None");
}

TEST_F(ApiTest, PutsManyMetricsInPortions) {
  ASSERT_TRUE(api_.putMetricData("N", std::vector<MetricDatum>(1001, {.name = "x"})).has_value());
  EXPECT_THAT(aws_.actions(), ElementsAre("PutMetricData", "PutMetricData"));
  EXPECT_EQ(queryValue(sent(), "MetricData.member.2.MetricName"), "");
}

}  // namespace
}  // namespace mainstay::cloud::aws
