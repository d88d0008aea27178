#include "base/log.h"

#include <algorithm>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"

namespace mainstay {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// What `write` puts on standard error in this format.
template <class Write>
std::string logged(LogFormat format, LogLevel least, Write write) {
  configureLog(format, least);
  testing::internal::CaptureStderr();
  write();
  std::string text = testing::internal::GetCapturedStderr();
  configureLog(LogFormat::kLogfmt, LogLevel::kInfo);
  return text;
}

TEST(LogTest, WritesLogfmtWithTimeAndLevelFirst) {
  const std::string line = logged(LogFormat::kLogfmt, LogLevel::kInfo, [] {
    logInfo("node isolated", {{"node", "node-b"}, {"count", 3}, {"enforce", true}, {"why", ""}});
  });
  EXPECT_TRUE(
      std::regex_match(line, std::regex(R"(ts=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z level=info )"
                                        R"(msg="node isolated" node=node-b count=3 enforce=true why=""\n)")))
      << line;
}

TEST(LogTest, QuotesValuesThatWouldBreakALine) {
  const std::string line = logged(LogFormat::kLogfmt, LogLevel::kInfo, [] {
    logWarning("x", {{"text", "a \"b\"\\\n\x01"}, {"equals", "a=b"}, {"percent", "%v{}"}});
  });
  EXPECT_THAT(line, HasSubstr("level=warning "));
  EXPECT_THAT(line, EndsWith("text=\"a \\\"b\\\"\\\\\\n\\u0001\" equals=\"a=b\" percent=%v{}\n"));
}

TEST(LogTest, WritesOneJsonObjectPerLine) {
  const std::string line = logged(LogFormat::kJson, LogLevel::kInfo, [] {
    logError("it \"failed\"", {{"error", Error(Code::kNotFound, "gone").with("reading x")},
                               {"count", 3},
                               {"share", 0.5},
                               {"again", false},
                               {"bytes", "\xff\x80 ok \xc3\xa9"}});
  });
  const auto parsed = parseJson(std::string_view(line).substr(0, line.size() - 1));
  ASSERT_TRUE(parsed) << line << parsed.error().toString();
  EXPECT_EQ(findString(*parsed, "level"), "error");
  EXPECT_EQ(findString(*parsed, "msg"), "it \"failed\"");
  EXPECT_EQ(findString(*parsed, "error"), "reading x: gone");
  EXPECT_EQ(find(*parsed, "count")->get_int64(), 3);
  EXPECT_EQ(findString(*parsed, "share"), "0.500000");
  EXPECT_FALSE(find(*parsed, "again")->get_bool());
  EXPECT_EQ(findString(*parsed, "bytes"), "\xef\xbf\xbd\xef\xbf\xbd ok \xc3\xa9");
}

TEST(LogTest, LeavesOutWhatIsBelowTheLevel) {
  const auto writeAll = [] {
    logDebug("one");
    logInfo("two");
    logWarning("three");
    logError("four");
  };
  const std::string warnings = logged(LogFormat::kLogfmt, LogLevel::kWarning, writeAll);
  EXPECT_EQ(std::count(warnings.begin(), warnings.end(), '\n'), 2);
  EXPECT_THAT(logged(LogFormat::kLogfmt, LogLevel::kDebug, writeAll), HasSubstr("level=debug msg=\"one\""));
}

}  // namespace
}  // namespace mainstay
