#include <gtest/gtest.h>

#include "kube/scripted_api.h"
#include "kube/token_bucket.h"
#include "kube/token_source.h"

namespace mainstay::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(TokenBucketTest, AllowsABurstThenTheRate) {
  TokenBucket bucket(10, 3);
  const TimePoint start{seconds(100)};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(bucket.take(start, seconds(9)), Duration(0));
  }
  EXPECT_EQ(bucket.take(start, seconds(9)), milliseconds(100));
  EXPECT_EQ(bucket.take(start, seconds(9)), milliseconds(200)) << "turns queue up";
  EXPECT_EQ(bucket.take(start + seconds(1), seconds(9)), Duration(0));
}

TEST(TokenBucketTest, TakesNothingFromWhoCannotWait) {
  TokenBucket bucket(1, 1);
  const TimePoint start{seconds(100)};
  EXPECT_EQ(bucket.take(start, Duration(0)), Duration(0));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(bucket.take(start, milliseconds(10)), seconds(1));
  }
}

TEST(TokenBucketTest, NeverSavesUpMoreThanABurstAndIgnoresTimeGoingBack) {
  TokenBucket bucket(10, 2);
  const TimePoint start{seconds(100)};
  EXPECT_EQ(bucket.take(start, Duration(0)), Duration(0));
  const TimePoint later = start + std::chrono::hours(10);
  EXPECT_EQ(bucket.take(later, Duration(0)), Duration(0));
  EXPECT_EQ(bucket.take(start, Duration(0)), Duration(0));
  EXPECT_GT(bucket.take(later, Duration(0)), Duration(0));
}

TEST(TokenBucketTest, ZeroIsNoLimit) {
  TokenBucket bucket(0, 1);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(bucket.take(TimePoint{}, Duration(0)), Duration(0));
  }
}

class TokenSourceTest : public testing::Test {
 protected:
  std::string at(Duration time) {
    return source_.current(TimePoint(time)).value_or(Credential{.token = "(error)"}).token;
  }
  FakeFileSystem files_{std::map<std::string, std::string>{{"/run/token", "one\n"}}};
  TokenSource source_{files_, "", "/run/token"};
};

TEST_F(TokenSourceTest, ReadsTheFileAgainAfterAMinute) {
  EXPECT_EQ(at(seconds(0)), "one");
  ASSERT_TRUE(files_.write("/run/token", "two\n").has_value());
  EXPECT_EQ(at(seconds(59)), "one");
  EXPECT_EQ(at(seconds(60)), "two");
}

TEST_F(TokenSourceTest, GoesOnWithTheLastTokenWhileTheFileCannotBeRead) {
  EXPECT_EQ(at(seconds(0)), "one");
  files_.failOn("/run/token", Error(Code::kNotFound, "gone"));
  EXPECT_EQ(at(seconds(61)), "one");
}

TEST_F(TokenSourceTest, ReadsAtOnceAfterARefusal) {
  EXPECT_EQ(at(seconds(0)), "one");
  EXPECT_FALSE(source_.refresh({.token = "one"}, TimePoint(seconds(1))))
      << "the same token would be refused again";
  ASSERT_TRUE(files_.write("/run/token", "two").has_value());
  EXPECT_TRUE(source_.refresh({.token = "one"}, TimePoint(seconds(2))));
  EXPECT_EQ(at(seconds(3)), "two");
}

TEST_F(TokenSourceTest, NamesTheFileAndNeverItsContent) {
  for (const char* content : {"", " \n", "s3cret\nsecond line"}) {
    FakeFileSystem files(std::map<std::string, std::string>{{"/run/token", content}});
    TokenSource source(files, "", "/run/token");
    const auto token = source.current(TimePoint{});
    ASSERT_FALSE(token.has_value());
    EXPECT_NE(token.error().toString().find("/run/token"), std::string::npos);
    EXPECT_EQ(token.error().toString().find("s3cret"), std::string::npos);
  }
}

TEST(TokenSourceWithoutFileTest, GivesTheTokenItWasGiven) {
  FakeFileSystem files;
  TokenSource source(files, "fixed", "");
  EXPECT_EQ(source.current(TimePoint{}).value().token, "fixed");
  EXPECT_FALSE(source.refresh({.token = "fixed"}, TimePoint{}));
}

}  // namespace
}  // namespace mainstay::kube
