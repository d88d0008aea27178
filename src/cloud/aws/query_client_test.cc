#include "cloud/aws/query_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/http_client.h"
#include "cloud/aws/testing.h"

namespace mainstay::cloud::aws {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// --- Signature Version 4, written down from its documentation, to judge libcurl's by ---

std::string hmacSha256(const std::string& key, const std::string& text) {
  unsigned char digest[EVP_MAX_MD_SIZE] = {};
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &size);
  return {reinterpret_cast<const char*>(digest), size};
}

std::string hexOf(const std::string& bytes) {
  std::string hex;
  for (const char byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += kDigits[static_cast<unsigned char>(byte) >> 4];
    hex += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return hex;
}

std::string sha256Hex(const std::string& text) {
  unsigned char digest[EVP_MAX_MD_SIZE] = {};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha256(), nullptr);
  return hexOf({reinterpret_cast<const char*>(digest), size});
}

// The text between `from` and `to`, or to the end.
std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find(from) + from.size();
  return text.substr(begin, text.find(to, begin) - begin);
}

std::string signatureOf(const HttpRequest& request, const std::string& secret) {
  const std::string authorization = request.headers.at("Authorization");
  const std::string scope = between(authorization, "Credential=AKIATEST/", ",");
  const std::string names = between(authorization, "SignedHeaders=", ",");
  std::string headers;
  for (std::size_t at = 0; at < names.size(); at = std::min(names.size(), names.find(';', at)) + 1) {
    const std::string name = names.substr(at, names.find(';', at) - at);
    headers += name + ":" + request.headers.at(name) + "\n";
  }
  const std::string canonical =
      request.method + "\n/\n\n" + headers + "\n" + names + "\n" + sha256Hex(request.body);
  const std::string toSign =
      "AWS4-HMAC-SHA256\n" + request.headers.at("X-Amz-Date") + "\n" + scope + "\n" + sha256Hex(canonical);
  std::string key = "AWS4" + secret;
  for (const std::string& part : {between(scope, "", "/"), std::string("us-west-2"),
                                  std::string("autoscaling"), std::string("aws4_request")}) {
    key = hmacSha256(key, part);
  }
  return hexOf(hmacSha256(key, toSign));
}

class QueryClientTest : public testing::Test {
 protected:
  CallResult<Element> call(CallOptions options = {}) {
    return client_.call(kAutoScaling, "DescribeAutoScalingGroups",
                        {{"AutoScalingGroupNames.member.1", "workers"}}, options);
  }
  int calls() { return static_cast<int>(aws_.requests().size()); }

  FakeAws aws_;
  TestSurroundings world_{aws_};
  Session session_{world_.get()};
  QueryClient client_{session_};
};

TEST_F(QueryClientTest, PostsTheActionWithItsVersion) {
  const auto answer = call();
  ASSERT_TRUE(answer.has_value()) << answer.error().toString();
  EXPECT_EQ(answer->name, "DescribeAutoScalingGroupsResponse");
  const HttpRequest sent = aws_.requests().at(0);
  EXPECT_EQ(sent.method, "POST");
  EXPECT_EQ(sent.body,
            "Action=DescribeAutoScalingGroups&Version=2011-01-01&AutoScalingGroupNames.member.1=workers");
}

TEST_F(QueryClientTest, SignsEveryHeaderAndTheBody) {
  world_.environment["AWS_SESSION_TOKEN"] = "a-session-token";
  ASSERT_TRUE(call().has_value());
  const HttpRequest sent = aws_.requests().at(0);
  EXPECT_EQ(between(sent.headers.at("Authorization"), "SignedHeaders=", ","),
            "content-type;host;x-amz-date;x-amz-security-token");
  EXPECT_EQ(between(sent.headers.at("Authorization"), "Signature=", ","), signatureOf(sent, "a-secret"));
}

TEST_F(QueryClientTest, RepeatsThrottledCallsTwice) {
  aws_.answerWith(awsError(400, "Throttling", "Rate exceeded"));
  aws_.answerWith(awsError(503, "ServiceUnavailable", "busy"));
  EXPECT_TRUE(call().has_value());
  EXPECT_EQ(calls(), 3);
  EXPECT_THAT(world_.pauses, ElementsAre(milliseconds(500), seconds(1)));
}

TEST_F(QueryClientTest, GivesUpAfterThreeAttempts) {
  for (int i = 0; i < 3; ++i) {
    aws_.answerWith(awsError(400, "RequestLimitExceeded", "Request limit exceeded."));
  }
  const auto answer = call();
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(calls(), 3);
  EXPECT_EQ(answer.error().code(), Code::kResourceExhausted);
  EXPECT_EQ(answer.error().awsCode(), "RequestLimitExceeded");
  EXPECT_EQ(answer.error().requestId(), "request-1");
}

TEST_F(QueryClientTest, DoesNotRepeatWhatWouldFailAgain) {
  aws_.answerWith(awsError(400, "ValidationError", "1 validation error detected"));
  const auto answer = call();
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(calls(), 1);
  EXPECT_EQ(answer.error().code(), Code::kInvalidArgument);
  EXPECT_EQ(answer.error().toString(),
            "Auto Scaling DescribeAutoScalingGroups: ValidationError: 1 validation error "
            "detected (request request-1)");
}

TEST_F(QueryClientTest, StopsRepeatingWhenTheQuotaIsSpent) {
  for (int i = 0; i < 101 + 50; ++i) {
    aws_.answerWith(awsError(500, "InternalFailure", "down"));
  }
  for (int i = 0; i < 51; ++i) {
    EXPECT_FALSE(call().has_value());
  }
  EXPECT_EQ(calls(), 50 * 3 + 1) << "500 tokens are 100 repeats";
}

TEST_F(QueryClientTest, EndsWithinItsLimit) {
  aws_.answerWith(awsError(503, "ServiceUnavailable", "busy"));
  EXPECT_FALSE(call({.limit = milliseconds(400)}).has_value()) << "the first wait would be 500 ms";
  EXPECT_EQ(calls(), 1);
}

TEST_F(QueryClientTest, DoesNotRepeatWhenAskedToStop) {
  std::stop_source stop;
  Surroundings surroundings = world_.get();
  surroundings.stop = stop.get_token();
  surroundings.pause = [&](Duration, std::stop_token) { stop.request_stop(); };
  Session session(surroundings);
  aws_.answerWith(awsError(503, "ServiceUnavailable", "busy"));
  const auto answer = QueryClient(session).call(kAutoScaling, "DescribeAutoScalingGroups", {});
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), Code::kCancelled);
  EXPECT_EQ(calls(), 1);
}

TEST_F(QueryClientTest, FindsNewCredentialsWhenAwsSaysThatTheyHaveEnded) {
  world_.environment["AWS_ACCESS_KEY_ID"] = "AKIAOLD";
  ASSERT_TRUE(call().has_value());
  world_.environment["AWS_ACCESS_KEY_ID"] = "AKIANEW";
  aws_.answerWith(awsError(403, "ExpiredToken", "The security token included in the request is expired"));
  EXPECT_TRUE(call().has_value());
  EXPECT_THAT(aws_.requests().at(1).headers.at("Authorization"), HasSubstr("AKIAOLD"));
  EXPECT_THAT(aws_.requests().at(2).headers.at("Authorization"), HasSubstr("AKIANEW"));
}

TEST_F(QueryClientTest, NamesThePermissionThatIsMissing) {
  aws_.answerWith(awsError(403, "AccessDenied", "User: arn:aws:iam::1:user/x is not authorized"));
  const auto answer = call();
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), Code::kPermissionDenied);
  EXPECT_THAT(answer.error().toString(),
              HasSubstr("allow autoscaling:DescribeAutoScalingGroups in the IAM policy"));
}

TEST_F(QueryClientTest, ShowsNothingOfWhatWasSigned) {
  aws_.answerWith(
      awsError(403, "SignatureDoesNotMatch",
               "The request signature we calculated does not match.\n\nThe Canonical String was\n'POST\n"
               "x-amz-security-token:a-session-token'"));
  const std::string told = call().error().toString();
  EXPECT_THAT(told, AllOf(HasSubstr("this machine's clock"), Not(HasSubstr("a-session-token")),
                          Not(HasSubstr("a-secret"))));
}

TEST_F(QueryClientTest, ReadsTheErrorsOfEc2) {
  aws_.answerWith(
      {.status = 400,
       .body = "<Response><Errors><Error><Code>InvalidInstanceID.NotFound</Code><Message>The instance ID "
               "'i-1' does not exist</Message></Error></Errors><RequestID>r-2</RequestID></Response>"});
  const auto answer = call();
  EXPECT_EQ(answer.error().code(), Code::kNotFound);
  EXPECT_EQ(answer.error().requestId(), "r-2");
}

TEST_F(QueryClientTest, SurvivesAnswersOfAnyShape) {
  for (const char* body : {"", "<", "{}", "<html>hello</html>", "<ErrorResponse/>", "\xff\xfe"}) {
    for (const int status : {200, 204, 301, 400, 404}) {
      aws_.answerWith({.status = status, .body = body});
      EXPECT_FALSE(call().has_value()) << status << " " << body;
    }
  }
  aws_.answerWith({.status = 200, .body = "<html>log in to the portal</html>"});
  EXPECT_THAT(call().error().toString(), HasSubstr("check proxies and AWS_ENDPOINT_URL"));
}

TEST_F(QueryClientTest, ReachesNothingButLoopbackInTests) {
  world_.environment["AWS_ENDPOINT_URL"] = "http://autoscaling.us-west-2.amazonaws.com";
  EXPECT_THAT(call().error().toString(), HasSubstr("tests call loopback only"));
  world_.environment.erase("AWS_ENDPOINT_URL");
  EXPECT_THAT(call().error().toString(), HasSubstr("tests call loopback only"));
}

TEST(EndpointTest, FollowsPartitionAndEnvironment) {
  std::map<std::string, std::string> variables;
  const auto environment = [&](const std::string& name) { return variables[name]; };
  EXPECT_EQ(endpointOf(kAutoScaling, "us-west-2", environment).value(),
            "https://autoscaling.us-west-2.amazonaws.com/");
  EXPECT_EQ(endpointOf(kCloudWatch, "cn-north-1", environment).value(),
            "https://monitoring.cn-north-1.amazonaws.com.cn/");
  EXPECT_EQ(endpointOf(kSts, "us-gov-west-1", environment).value(),
            "https://sts.us-gov-west-1.amazonaws.com/");
  variables["AWS_ENDPOINT_URL"] = "http://127.0.0.1:5000";
  variables["AWS_ENDPOINT_URL_EC2"] = "https://vpce-1.example/";
  EXPECT_EQ(endpointOf(kAutoScaling, "us-west-2", environment).value(), "http://127.0.0.1:5000/");
  EXPECT_EQ(endpointOf(kEc2, "us-west-2", environment).value(), "https://vpce-1.example/");
}

TEST(EndpointTest, RefusesWhatIsNoRegionOrUrl) {
  const auto none = [](const std::string&) { return std::string(); };
  for (const char* region : {"", "us west", "us-west-2.evil.example/", "US-WEST-2", "a@b"}) {
    EXPECT_FALSE(endpointOf(kEc2, region, none).has_value()) << region;
  }
  const auto file = [](const std::string&) { return std::string("file:///etc/passwd"); };
  EXPECT_THAT(endpointOf(kEc2, "us-west-2", file).error().toString(), HasSubstr("AWS_ENDPOINT_URL_EC2"));
}

}  // namespace
}  // namespace mainstay::cloud::aws
