#include "sidecar/doors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/http_server.h"

namespace mainstay::sidecar {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class StoppedClock final : public Clock {
 public:
  TimePoint now() const override { return TimePoint(std::chrono::hours(500000)); }
};

// AWS as far as these doors ask it: the metadata service of one instance, EC2's list, CloudWatch.
class DoorsTest : public testing::Test {
 protected:
  AwsDoors& doors() {
    session_.emplace(cloud::aws::Surroundings{
        .environment =
            [this](const std::string& name) {
              return environment_.contains(name) ? environment_.at(name) : std::string();
            },
        .files = &files_,
        .clock = &clock_,
        .send = [this](const HttpRequest& request, Deadline, std::stop_token) { return answerAws(request); },
        .sendDirect = [this](const HttpRequest& request, Deadline, std::stop_token) { return answerMetadata(request); },
        .pause = [](Duration, std::stop_token) {},
        .random = [] { return 0.5; }});
    return doors_.emplace(*session_, options_);
  }
  Result<HttpResponse> answerMetadata(const HttpRequest& request) const {
    if (!metadata_) {
      return fail(Code::kDeadlineExceeded, "no answer");
    }
    const bool token = request.method == "PUT";
    const bool id = request.target.ends_with("/instance-id");
    return HttpResponse{.body = token ? "token" : id ? "i-metadata" : "us-west-2a"};
  }
  Result<HttpResponse> answerAws(const HttpRequest& request) {
    requests_.push_back(request.body);
    std::string items;
    for (const std::string& id : found_) {
      items += "<item><instanceId>" + id + "</instanceId><instanceState><name>running</name></instanceState>" +
               "<placement><availabilityZone>us-west-2b</availabilityZone></placement>" +
               "<launchTime>2026-11-29T20:14:07Z</launchTime></item>";
    }
    return HttpResponse{.body = "<R><reservationSet><item><instancesSet>" + items +
                                "</instancesSet></item></reservationSet></R>"};
  }
  std::string trouble() {
    const auto identity = doors().identify();
    return identity ? "" : identity.error().toString();
  }

  std::map<std::string, std::string> environment_ = {{"AWS_REGION", "us-west-2"},
                                                     {"AWS_ACCESS_KEY_ID", "AKIATEST"},
                                                     {"AWS_SECRET_ACCESS_KEY", "a-secret"}};
  FakeFileSystem files_;
  StoppedClock clock_;
  Options options_;
  bool metadata_ = false;           // answers
  std::vector<std::string> found_;  // what EC2 has
  std::vector<std::string> requests_;
  std::optional<cloud::aws::Session> session_;
  std::optional<AwsDoors> doors_;
};

TEST_F(DoorsTest, TheMetadataServiceKnowsBest) {
  metadata_ = true;
  environment_["NODE_NAME"] = "ip-10-0-0-1.ec2.internal";
  EXPECT_EQ(doors().identify(), "aws:///us-west-2a/i-metadata");
  EXPECT_TRUE(requests_.empty()) << "nobody else is asked";
}

TEST_F(DoorsTest, FindsTheInstanceByNodeNameWhereTheMetadataServiceIsSilent) {
  environment_["NODE_NAME"] = "ip-10-0-0-1.ec2.internal";
  found_ = {"i-by-name"};
  EXPECT_EQ(doors().identify(), "aws:///us-west-2b/i-by-name");
  ASSERT_EQ(requests_.size(), 1u);
  EXPECT_THAT(requests_[0], AllOf(HasSubstr("private-dns-name"), HasSubstr("ip-10-0-0-1.ec2.internal")));
}

TEST_F(DoorsTest, TakesTheInstanceThatItIsTold) {
  metadata_ = true;
  options_.instanceId = "i-told";
  found_ = {"i-told"};
  EXPECT_EQ(doors().identify(), "aws:///us-west-2b/i-told");
}

TEST_F(DoorsTest, ChoosesNoneOfTwoInstancesWithOneName) {
  environment_["NODE_NAME"] = "ip-10-0-0-1.ec2.internal";
  found_ = {"i-one", "i-two"};
  EXPECT_THAT(trouble(), AllOf(HasSubstr("2 have the private DNS name"), HasSubstr("--instance-id")));
  found_ = {};
  EXPECT_THAT(trouble(), HasSubstr("0 have"));
}

TEST_F(DoorsTest, SaysWhatToSetWhenNothingTellsTheInstance) {
  EXPECT_THAT(trouble(), AllOf(HasSubstr("hop limit"), HasSubstr("NODE_NAME"), HasSubstr("--instance-id")));
  environment_["AWS_EC2_METADATA_DISABLED"] = "true";
  EXPECT_THAT(trouble(), HasSubstr("switched off"));
}

TEST_F(DoorsTest, PublishesWithTheDimensionsThatWereAskedFor) {
  metadata_ = true;
  environment_["NODE_NAME"] = "node-1";
  options_.dimensions = {"InstanceId", "NodeName"};
  ASSERT_TRUE(doors().publish({{"NeuronHasError_DMA_ERROR", 1}}));
  ASSERT_EQ(requests_.size(), 1u);
  EXPECT_THAT(requests_[0], AllOf(HasSubstr("Action=PutMetricData"), HasSubstr("Namespace=NeuronHealthCheck"),
                                  HasSubstr("i-metadata"), HasSubstr("node-1")));
}

TEST(MetricDataTest, EachValueStandsWithoutDimensionsFirst) {
  const std::map<std::string, std::string> dimensions = {{"InstanceId", "i-1"}};
  EXPECT_EQ(metricData({{"A", 1}, {"B", 0}}, {}).size(), 2u);
  const auto data = metricData({{"A", 1}}, dimensions);
  ASSERT_EQ(data.size(), 2u);
  EXPECT_TRUE(data[0].dimensions.empty());
  EXPECT_EQ(data[1].dimensions, dimensions);
  EXPECT_EQ(data[1].value, 1);
}

TEST(DetectorPageTest, TellsAPageFromNone) {
  const auto server = *HttpServer::listen({}, [](const HttpRequest& request, HttpReply& reply) {
    reply.send({request.target == "/metrics" ? 200 : 404, {}, "up 1\n"});
  });
  const std::string origin = "http://127.0.0.1:" + std::to_string(server->port());
  EXPECT_EQ(DetectorPage(origin + "/metrics", {}).read(), "up 1\n");
  const auto missing = DetectorPage(origin + "/", {}).read();
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().toString(), AllOf(HasSubstr("404"), HasSubstr("--metrics-url")));
}

}  // namespace
}  // namespace mainstay::sidecar
