#include "agent/tools/log_patterns.h"

#include <gtest/gtest.h>

namespace mainstay::agent {
namespace {

std::map<std::string, std::size_t> thresholdsOf(const std::vector<std::string>& flags) {
  std::map<std::string, std::size_t> thresholds;
  const auto patterns = parseLogPatterns(flags);
  for (const LogPattern& pattern : *patterns) {
    thresholds[pattern.text] = pattern.threshold;
  }
  return thresholds;
}

using Thresholds = std::map<std::string, std::size_t>;

TEST(LogPatternsTest, ReadsCountsAndPatterns) {
  EXPECT_EQ(thresholdsOf({"10:pattern1"}), (Thresholds{{"pattern1", 10}}));
  EXPECT_EQ(thresholdsOf({"10:pattern1", "20:pattern2"}), (Thresholds{{"pattern1", 10}, {"pattern2", 20}}));
  EXPECT_EQ(thresholdsOf({"10:pattern1a:pattern1b", "20:pattern2"}),
            (Thresholds{{"pattern1a:pattern1b", 10}, {"pattern2", 20}}));
  EXPECT_EQ(thresholdsOf({"10:p", "20:p"}), (Thresholds{{"p", 20}}));
  EXPECT_TRUE(thresholdsOf({}).empty());
}

TEST(LogPatternsTest, RefusesWhatIsNoCountAndPattern) {
  for (const char* bad : {"10:", "0:pattern1", ":pattern1", ":", "notAnInteger:pattern1", "pattern1", "",
                          "-1:pattern1", "1x:pattern1", "1:a\\(b"}) {
    EXPECT_FALSE(parseLogPatterns({bad})) << bad;
  }
}

// The complaint of a pattern with a count about these pieces of text.
std::string complaintOf(const std::string& flag, const std::vector<std::string>& pieces) {
  const auto patterns = parseLogPatterns({flag});
  LineCounter counter(*patterns);
  for (const std::string& piece : pieces) {
    counter.take(piece);
  }
  counter.finish();
  return counter.complaint();
}

TEST(LogPatternsTest, CountsLinesHoweverTheTextComes) {
  EXPECT_EQ(complaintOf("2:oom", {"an OOM\nanother oom oom\n"}), "oom: 2 lines, 2 are too many");
  EXPECT_EQ(complaintOf("3:oom", {"an OOM\nanother oom oom\n"}), "");
  EXPECT_EQ(complaintOf("2:oom", {"an O", "OM", "\n", "\n\noo", "m"}), "oom: 2 lines, 2 are too many");
  EXPECT_EQ(complaintOf("1:a.c$", {"abc\n"}), "a.c$: 1 lines, 1 are too many");
  EXPECT_EQ(complaintOf("1:x\\|b", {"abc\n"}), "x\\|b: 1 lines, 1 are too many") << "as grep";
  EXPECT_EQ(complaintOf("1:a(b)", {"ab\n"}), "") << "as grep without -E";
}

TEST(LogPatternsTest, ALineOfAnyLengthIsBounded) {
  const std::string piece(50000, 'x');
  EXPECT_EQ(complaintOf("1:xy", {piece, piece, piece, "y\nxy\n"}), "xy: 1 lines, 1 are too many");
}

}  // namespace
}  // namespace mainstay::agent
