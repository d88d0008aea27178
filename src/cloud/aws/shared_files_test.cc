#include "cloud/aws/shared_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloud/aws/testing.h"

namespace mainstay::cloud::aws {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(SharedFilesTest, ReadsProfilesAsTheCommandLineWritesThem) {
  const Profiles config = parseSharedFile(
      "# comment\n"
      "[default]\r\n"
      "region = us-west-2  # why\r\n"
      "[profile gpu fleet]\n"
      "Region=us-east-1\n"
      "s3 =\n"
      "  region = nested\n"
      "; another\n"
      "[sso-session mine]\n"
      "sso_region = us-east-2\n"
      "[plain]\n"
      "region = nobody\n",
      SharedFile::kConfig);
  ASSERT_EQ(config.size(), 2u);
  EXPECT_EQ(valueOf(config.at("default"), "region"), "us-west-2");
  EXPECT_EQ(valueOf(config.at("gpu fleet"), "region"), "us-east-1");

  const Profiles credentials =
      parseSharedFile("[plain]\naws_secret_access_key = a=b#c;d\n", SharedFile::kCredentials);
  EXPECT_EQ(valueOf(credentials.at("plain"), "aws_secret_access_key"), "a=b#c;d");
}

TEST(SharedFilesTest, SurvivesAnyText) {
  for (const char* text :
       {"", "[", "]", "[]", "[]]", "=", "[a\n=x", "x=1", "[profile]\na=1", "[a]\n\xff=\xff", "\n\n"}) {
    parseSharedFile(text, SharedFile::kConfig);
    parseSharedFile(text, SharedFile::kCredentials);
  }
  EXPECT_TRUE(parseSharedFile("x=1\n", SharedFile::kCredentials).empty()) << "before any profile";
}

TEST(SharedFilesTest, MergesBothFilesAndTheCredentialsFileWins) {
  TestSurroundings world;
  world.environment["HOME"] = "/home/a";
  world.addFile("/home/a/.aws/credentials", "[default]\naws_access_key_id = K1\n");
  world.addFile("/home/a/.aws/config", "[default]\naws_access_key_id = K2\nregion = us-west-2\n");
  const std::optional<Profile> profile = loadProfile(world.get()).value();
  ASSERT_TRUE(profile.has_value());
  EXPECT_EQ(valueOf(*profile, "aws_access_key_id"), "K1");
  EXPECT_EQ(valueOf(*profile, "region"), "us-west-2");
}

TEST(SharedFilesTest, ReadsTheFilesThatTheEnvironmentNames) {
  TestSurroundings world;
  world.environment = {
      {"AWS_SHARED_CREDENTIALS_FILE", "/x"}, {"AWS_CONFIG_FILE", "/y"}, {"AWS_PROFILE", "p"}};
  world.addFile("/x", "[p]\na = 1\n");
  world.addFile("/y", "[profile p]\nb = 2\n");
  const std::optional<Profile> profile = loadProfile(world.get()).value();
  ASSERT_TRUE(profile.has_value());
  EXPECT_EQ(valueOf(*profile, "a") + valueOf(*profile, "b"), "12");
}

TEST(SharedFilesTest, HasNoProfileWithoutFilesUnlessOneIsNamed) {
  TestSurroundings world;
  EXPECT_FALSE(loadProfile(world.get()).value().has_value());
  world.environment = {{"HOME", "/home/a"}, {"AWS_PROFILE", "gone"}};
  const auto named = loadProfile(world.get());
  ASSERT_FALSE(named.has_value());
  EXPECT_THAT(named.error().toString(), AllOf(HasSubstr("gone"), HasSubstr("/home/a/.aws/credentials")));
}

}  // namespace
}  // namespace mainstay::cloud::aws
