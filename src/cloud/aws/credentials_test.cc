#include "cloud/aws/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloud/aws/session.h"
#include "cloud/aws/testing.h"

namespace mainstay::cloud::aws {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Deadline soon() {
  return Deadline::after(seconds(20));
}

std::string jsonCredentials(const std::string& key, TimePoint expires) {
  return R"({"Code":"Success","AccessKeyId":")" + key +
         R"(","SecretAccessKey":"the-secret","Token":"the-token","Expiration":")" + formatTime(expires) +
         "\"}";
}

// Answers by method and path; writes down what was asked.
struct Answers {
  std::map<std::string, HttpResponse> byRequest = {};
  std::optional<Error> trouble = {};
  std::vector<HttpRequest> asked = {};

  Transport transport() {
    return [this](const HttpRequest& request, Deadline, std::stop_token) -> Result<HttpResponse> {
      asked.push_back(request);
      if (trouble) {
        return fail(*trouble);
      }
      const auto at = byRequest.find(request.method + " " + request.target);
      return at == byRequest.end() ? HttpResponse{.status = 404} : at->second;
    };
  }
};

class CredentialsTest : public testing::Test {
 protected:
  CredentialsTest() {
    world_.environment["AWS_EC2_METADATA_DISABLED"] = "true";
    world_.send = answers_.transport();
  }
  Session& session() {
    if (!session_) {
      session_.emplace(world_.get());
    }
    return *session_;
  }
  Result<Credentials> find() { return session().credentials(soon()); }
  std::string refusal() {
    const auto found = find();
    return found ? "found some" : found.error().toString();
  }
  void serveMetadata() {
    world_.environment.erase("AWS_EC2_METADATA_DISABLED");
    const std::string at = "http://169.254.169.254/latest/";
    answers_.byRequest["PUT " + at + "api/token"] = {.body = "metadata-token"};
    answers_.byRequest["GET " + at + "meta-data/iam/security-credentials/"] = {.body = "node-role\n"};
    answers_.byRequest["GET " + at + "meta-data/iam/security-credentials/node-role"] = {
        .body = jsonCredentials("FROM-INSTANCE", world_.clock.time + hours(6))};
    answers_.byRequest["GET " + at + "meta-data/placement/region"] = {.body = "eu-central-1"};
  }

  Answers answers_;
  TestSurroundings world_;
  std::optional<Session> session_;
};

TEST_F(CredentialsTest, TakesTheEnvironmentFirst) {
  serveMetadata();
  world_.environment["AWS_ACCESS_KEY_ID"] = "FROM-ENVIRONMENT";
  world_.environment["AWS_SECRET_ACCESS_KEY"] = "s";
  world_.environment["AWS_SESSION_TOKEN"] = "t";
  world_.environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://169.254.170.23/v1/credentials";
  const Credentials found = find().value();
  EXPECT_EQ(found.accessKeyId, "FROM-ENVIRONMENT");
  EXPECT_EQ(found.sessionToken, "t");
  EXPECT_FALSE(found.expires.has_value());
  EXPECT_TRUE(answers_.asked.empty());
}

TEST_F(CredentialsTest, RefusesHalfAPairInTheEnvironment) {
  world_.environment["AWS_ACCESS_KEY_ID"] = "K";
  EXPECT_THAT(refusal(), HasSubstr("only one of"));
}

TEST_F(CredentialsTest, TakesTheNamedProfile) {
  world_.environment["AWS_SHARED_CREDENTIALS_FILE"] = "/c";
  world_.environment["AWS_PROFILE"] = "two";
  world_.addFile("/c",
                 "[one]\naws_access_key_id=A\naws_secret_access_key=s\n"
                 "[two]\naws_access_key_id=B\naws_secret_access_key=s\naws_session_token=t\n");
  const Credentials found = find().value();
  EXPECT_EQ(found.accessKeyId, "B");
  EXPECT_EQ(found.sessionToken, "t");
}

TEST_F(CredentialsTest, SaysWhichWayOfAProfileIsNotFollowed) {
  world_.environment["AWS_CONFIG_FILE"] = "/c";
  world_.addFile("/c", "[default]\nsso_session = mine\n");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("sso_session"), HasSubstr("export-credentials")));
}

TEST_F(CredentialsTest, AssumesTheRoleOfTheServiceAccount) {
  world_.environment["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/token";
  world_.environment["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/mainstay";
  world_.environment["AWS_REGION"] = "us-west-2";
  world_.addFile("/token", "service-account-token\n");
  answers_.byRequest["POST https://sts.us-west-2.amazonaws.com/"] = {
      .body =
          "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
          "<AccessKeyId>FROM-STS</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</"
          "SessionToken>"
          "<Expiration>2030-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult>"
          "</AssumeRoleWithWebIdentityResponse>"};
  const auto found = find();
  ASSERT_TRUE(found.has_value()) << found.error().toString();
  EXPECT_EQ(found->accessKeyId, "FROM-STS");
  EXPECT_EQ(found->expires, parseTime("2030-01-01T00:00:00Z"));
  ASSERT_EQ(answers_.asked.size(), 1u);
  EXPECT_FALSE(answers_.asked[0].awsSignature.has_value()) << "the token is the proof";
  const Query sent = parseQuery(answers_.asked[0].body);
  EXPECT_EQ(queryValue(sent, "WebIdentityToken"), "service-account-token");
  EXPECT_EQ(queryValue(sent, "RoleArn"), "arn:aws:iam::1:role/mainstay");
}

TEST_F(CredentialsTest, ExplainsATrustPolicyThatDoesNotFit) {
  world_.environment["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/token";
  world_.environment["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/mainstay";
  world_.environment["AWS_REGION"] = "us-west-2";
  world_.addFile("/token", "service-account-token");
  answers_.byRequest["POST https://sts.us-west-2.amazonaws.com/"] =
      awsError(403, "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("web identity (IRSA)"), HasSubstr("trust policy"),
                               Not(HasSubstr("service-account-token"))));
}

TEST_F(CredentialsTest, AsksTheAgentOfPodIdentity) {
  const std::string url = "http://169.254.170.23/v1/credentials";
  world_.environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url;
  world_.environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = "/token";
  world_.addFile("/token", "pod-token\n");
  answers_.byRequest["GET " + url] = {.body = jsonCredentials("FROM-AGENT", world_.clock.time + hours(6))};
  EXPECT_EQ(find().value().accessKeyId, "FROM-AGENT");
  EXPECT_EQ(answers_.asked.at(0).headers.at("Authorization"), "pod-token");
}

TEST_F(CredentialsTest, AsksTheAgentOfEcsByItsRelativeAddress) {
  world_.environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/v2/credentials/1";
  answers_.byRequest["GET http://169.254.170.2/v2/credentials/1"] = {
      .body = jsonCredentials("FROM-ECS", world_.clock.time + hours(6))};
  EXPECT_EQ(find().value().accessKeyId, "FROM-ECS");
}

TEST_F(CredentialsTest, SendsNoTokenToAPlainAddressElsewhere) {
  for (const char* url : {"http://evil.example/", "http://169.254.170.23.evil.example/",
                          "http://127.0.0.1@evil.example/", "http://169.254.169.254/x", "ftp://127.0.0.1/"}) {
    TestSurroundings world;
    world.send = answers_.transport();
    world.environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url;
    Session session(world.get());
    const auto found = session.credentials(soon());
    ASSERT_FALSE(found.has_value()) << url;
    EXPECT_THAT(found.error().toString(), HasSubstr("must be https")) << url;
  }
  EXPECT_TRUE(answers_.asked.empty());
}

TEST_F(CredentialsTest, TakesTheInstancesRoleLast) {
  serveMetadata();
  EXPECT_EQ(find().value().accessKeyId, "FROM-INSTANCE");
  ASSERT_EQ(answers_.asked.size(), 3u);
  EXPECT_EQ(answers_.asked[1].headers.at("X-aws-ec2-metadata-token"), "metadata-token");
}

TEST_F(CredentialsTest, ExplainsTheHopLimitWhenTheInstanceIsSilent) {
  world_.environment.erase("AWS_EC2_METADATA_DISABLED");
  answers_.trouble = Error(Code::kDeadlineExceeded, "no whole answer in time");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("hop limit"), HasSubstr("HttpPutResponseHopLimit"),
                               HasSubstr("--http-put-response-hop-limit 2"),
                               HasSubstr("no AWS credentials in the environment")));
  EXPECT_EQ(answers_.asked.size(), 2u) << "tried twice";
}

TEST_F(CredentialsTest, TellsOfAnInstanceWithoutARole) {
  serveMetadata();
  answers_.byRequest.erase("GET http://169.254.169.254/latest/meta-data/iam/security-credentials/");
  EXPECT_THAT(refusal(), HasSubstr("no IAM role"));
}

TEST_F(CredentialsTest, TellsWhyTheInstancesRoleGivesNone) {
  serveMetadata();
  answers_.byRequest["GET http://169.254.169.254/latest/meta-data/iam/security-credentials/node-role"].body =
      R"({"Code":"AssumeRoleUnauthorizedAccess","Message":"EC2 cannot assume the role"})";
  EXPECT_THAT(refusal(), HasSubstr("EC2 cannot assume the role"));
}

TEST_F(CredentialsTest, ListsWhereItLookedWhenThereAreNone) {
  EXPECT_THAT(refusal(), AllOf(HasSubstr("the environment, the shared files, web identity (IRSA)"),
                               HasSubstr("IMDSv2")));
}

TEST_F(CredentialsTest, RenewsBeforeTheEnd) {
  serveMetadata();
  ASSERT_TRUE(find().has_value());
  const std::size_t once = answers_.asked.size();
  world_.clock.time += hours(6) - minutes(6);
  ASSERT_TRUE(find().has_value());
  EXPECT_EQ(answers_.asked.size(), once) << "they last";
  world_.clock.time += minutes(2);
  ASSERT_TRUE(find().has_value());
  EXPECT_GT(answers_.asked.size(), once);
}

TEST_F(CredentialsTest, UsesThoseInHandWhileTheirSourceIsAway) {
  serveMetadata();
  ASSERT_TRUE(find().has_value());
  answers_.trouble = Error(Code::kUnavailable, "no connection");
  world_.clock.time += hours(6) - minutes(4);
  EXPECT_EQ(find().value().accessKeyId, "FROM-INSTANCE");
  const std::size_t asked = answers_.asked.size();
  EXPECT_TRUE(find().has_value());
  EXPECT_EQ(answers_.asked.size(), asked) << "not asked again at once";
  world_.clock.time += minutes(5);
  EXPECT_FALSE(find().has_value()) << "they have ended";
}

TEST_F(CredentialsTest, FindsNewOnesWhenToldThatTheseHaveEnded) {
  serveMetadata();
  const Credentials first = find().value();
  answers_.byRequest["GET http://169.254.169.254/latest/meta-data/iam/security-credentials/node-role"].body =
      jsonCredentials("NEW", world_.clock.time + hours(6));
  session().expire(Credentials());
  EXPECT_EQ(find().value(), first) << "not those in hand";
  session().expire(first);
  EXPECT_EQ(find().value().accessKeyId, "NEW");
}

TEST_F(CredentialsTest, ShowsNoSecretInItsErrors) {
  serveMetadata();
  answers_.byRequest["GET http://169.254.169.254/latest/meta-data/iam/security-credentials/node-role"].body =
      R"({"AccessKeyId":"K","SecretAccessKey":"the-secret","Token":["the-token"]})";
  EXPECT_THAT(refusal(), AllOf(Not(HasSubstr("the-secret")), Not(HasSubstr("the-token"))));
}

TEST_F(CredentialsTest, FindsTheRegionInTheSameOrder) {
  serveMetadata();
  world_.environment["AWS_CONFIG_FILE"] = "/c";
  world_.addFile("/c", "[default]\nregion = from-profile\n");
  world_.environment["AWS_DEFAULT_REGION"] = "from-default";
  world_.environment["AWS_REGION"] = "from-region";
  EXPECT_EQ(findRegion(world_.get(), soon()).value(), "from-region");
  world_.environment.erase("AWS_REGION");
  EXPECT_EQ(findRegion(world_.get(), soon()).value(), "from-default");
  world_.environment.erase("AWS_DEFAULT_REGION");
  EXPECT_EQ(findRegion(world_.get(), soon()).value(), "from-profile");
  world_.environment.erase("AWS_CONFIG_FILE");
  EXPECT_EQ(findRegion(world_.get(), soon()).value(), "eu-central-1");
  world_.environment["AWS_EC2_METADATA_DISABLED"] = "true";
  EXPECT_THAT(findRegion(world_.get(), soon()).error().toString(), HasSubstr("set AWS_REGION"));
}

}  // namespace
}  // namespace mainstay::cloud::aws
