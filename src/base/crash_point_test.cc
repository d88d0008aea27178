#include "base/crash_point.h"

#include <gtest/gtest.h>

namespace mainstay {
namespace {

Result<int> sendTo(int& sent) {
  return ++sent;
}

TEST(CrashPointTest, EndsBeforeTheWriteIsSent) {
  int ends = 0;
  int sent = 0;
  CrashPoint point(2, CrashPoint::Side::kBefore, [&] { ++ends; });
  EXPECT_TRUE(point.write("first", [&] { return sendTo(sent); }).has_value());
  EXPECT_EQ(point.write("second", [&] { return sendTo(sent); }).error().code(), Code::kCancelled);
  EXPECT_EQ(sent, 1);
  EXPECT_EQ(ends, 1);
}

TEST(CrashPointTest, EndsAfterTheWriteWasSentAndKeepsTheAnswer) {
  int ends = 0;
  int sent = 0;
  CrashPoint point(1, CrashPoint::Side::kAfter, [&] { ++ends; });
  EXPECT_EQ(point.write("first", [&] { return sendTo(sent); }).error().code(), Code::kCancelled);
  EXPECT_EQ(sent, 1);
  EXPECT_EQ(ends, 1);
}

TEST(CrashPointTest, SendsNothingOnceDead) {
  int sent = 0;
  CrashPoint point(1, CrashPoint::Side::kBefore, [] {});
  ignore(point.write("first", [&] { return sendTo(sent); }), "it ends here");
  ignore(point.write("second", [&] { return sendTo(sent); }), "it is dead");
  EXPECT_TRUE(point.dead());
  EXPECT_EQ(sent, 0);
  EXPECT_EQ(point.writes(), 2);
}

TEST(CrashPointTest, CountsOnlyTheKindOfWriteThatItIsGiven) {
  int sent = 0;
  CrashPoint point(
      1, CrashPoint::Side::kBefore, [] {}, "/pods/");
  EXPECT_TRUE(point.write("PATCH /nodes/a", [&] { return sendTo(sent); }).has_value());
  EXPECT_FALSE(point.write("DELETE /pods/a", [&] { return sendTo(sent); }).has_value());
  EXPECT_EQ(sent, 1);
  EXPECT_EQ(point.writes(), 1);
  EXPECT_FALSE(point.write("PATCH /nodes/a", [&] { return sendTo(sent); }).has_value()) << "it is dead";
}

TEST(CrashPointDeathTest, ExitsAsIfKilledWhenParsed) {
  auto point = CrashPoint::parse("1:before:first");
  ASSERT_TRUE(point.has_value());
  int sent = 0;
  EXPECT_TRUE((*point)->write("another", [&] { return sendTo(sent); }).has_value());
  EXPECT_EXIT(ignore((*point)->write("first", [&] { return sendTo(sent); }), "it ends here"),
              testing::ExitedWithCode(kCrashExitCode), "");
}

TEST(CrashPointTest, SaysWhatItExpectedWhenTheVariableIsWrong) {
  for (const char* text :
       {"", "7", "7:", "before", "0:before", "-1:after", "7:during", "7x:after", "7:before "}) {
    auto point = CrashPoint::parse(text);
    ASSERT_FALSE(point.has_value()) << text;
    EXPECT_NE(point.error().toString().find("7:before or 7:after"), std::string::npos);
  }
}

}  // namespace
}  // namespace mainstay
