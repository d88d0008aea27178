#include "fault/line_format.h"

#include <gtest/gtest.h>

namespace mainstay::fault {
namespace {

using Keys = std::map<std::string, std::string>;

const TimePoint kLineNow = *parseTime("2026-11-29T20:14:07Z");
const Keys kKernelLog = {
    {"timestamp", "^.{15}"}, {"message", R"(kernel: \[.*\] (.*))"}, {"timestampFormat", "Jan _2 15:04:05"}};
const Keys kDockerLog = {{"timestamp", R"re(^time="(\S*)")re"},
                         {"message", "msg=\"([^\n]*)\""},
                         {"timestampFormat", "2006-01-02T15:04:05.999999999-07:00"}};

LineFormat formatOf(const Keys& keys, std::vector<std::string> skipList = {}) {
  auto format = LineFormat::create(keys, std::move(skipList));
  EXPECT_TRUE(format) << format.error().toString();
  return *std::move(format);
}

std::string errorOf(const Keys& keys, const std::string& line) {
  const auto record = formatOf(keys).read(line, kLineNow);
  return record ? "" : record.error().toString();
}

TEST(LineFormatTest, ReadsAKernelLineOfSyslog) {
  const auto record =
      formatOf(kKernelLog)
          .read("May  1 12:23:45 hostname kernel: [0.000000] component: log message", kLineNow);
  ASSERT_TRUE(record) << record.error().toString();
  EXPECT_EQ(record->text, "component: log message");
  EXPECT_EQ(TimeLayout("Jan _2 2006 15:04:05").parse("May  1 2026 12:23:45", kLineNow), record->time)
      << "local time of this year";
  EXPECT_NE(record->facility(), 0) << "whoever can log can write such a line";
}

TEST(LineFormatTest, AnEmptyMessageIsOne) {
  EXPECT_EQ(formatOf(kKernelLog).read("May  1 12:23:45 hostname kernel: [0.000000] ", kLineNow)->text, "");
}

TEST(LineFormatTest, ReadsALineOfDocker) {
  const auto record =
      formatOf(kDockerLog)
          .read(
              R"(time="2017-02-01T17:58:34.999999999-08:00" level=error msg="test log line1\n test log line2")",
              kLineNow);
  ASSERT_TRUE(record) << record.error().toString();
  EXPECT_EQ(formatMicroTime(record->time), "2017-02-02T01:58:34.999999Z");
  EXPECT_EQ(record->text, R"(test log line1\n test log line2)");
}

TEST(LineFormatTest, SaysWhatDoesNotFit) {
  EXPECT_EQ(errorOf(kKernelLog, "May  1 12:23:45 hostname kernel: [0.000000 component: log message"),
            "\"message\" does not match");
  EXPECT_EQ(errorOf(kKernelLog, "Mai  1 12:23:45 hostname kernel: [0.000000] x"),
            "\"Mai  1 12:23:45\" is not a time in the form of \"timestampFormat\"");
  EXPECT_EQ(errorOf(kDockerLog, "msg=\"x\""), "\"timestamp\" does not match");
}

TEST(LineFormatTest, TheLastGroupCounts) {
  const auto messageOf = [](const std::string& expression, const std::string& line) {
    return formatOf({{"message", expression}}).read(line, kLineNow)->text;
  };
  EXPECT_EQ(messageOf("(a+)(b+)", "xaabb"), "bb");
  EXPECT_EQ(messageOf("(a+)|(b+)", "xaabb"), "") << "a group that took no part";
  EXPECT_EQ(messageOf("a+b", "xaabb"), "aab");
  EXPECT_EQ(messageOf("((?<word>a+)b)", "xaabb"), "aa") << "counted by where it opens";
}

TEST(LineFormatTest, InvalidUtf8IsOneReplacementPerByteAsInGo) {
  EXPECT_EQ(formatOf({{"message", "a..b"}})
                .read("a\xff\xfe"
                      "b",
                      kLineNow)
                ->text,
            "a\xEF\xBF\xBD\xEF\xBF\xBD"
            "b");
}

TEST(LineFormatTest, SkipsLinesByWhatTheyHold) {
  const LineFormat format = formatOf(kKernelLog, {" audit:", " kubelet:"});
  EXPECT_TRUE(format.skips("Jan  2 03:04:05 host audit: x"));
  EXPECT_TRUE(format.skips("Jan  2 03:04:05 host kubelet: x"));
  EXPECT_FALSE(format.skips("Jan  2 03:04:05 host kernel: [0.000000] 1"));
}

TEST(LineFormatTest, NamesTheExpressionThatDoesNotCompile) {
  const auto format = LineFormat::create({{"message", "("}}, {});
  ASSERT_FALSE(format);
  EXPECT_TRUE(format.error().toString().starts_with("message: ")) << format.error().toString();
}

}  // namespace
}  // namespace mainstay::fault
