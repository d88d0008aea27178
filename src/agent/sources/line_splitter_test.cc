#include "agent/sources/line_splitter.h"

#include <gtest/gtest.h>

namespace mainstay::agent {
namespace {

using Texts = std::vector<std::string>;

TEST(LineSplitterTest, KeepsAPartUntilItsLineFeed) {
  LineSplitter splitter;
  Lines out;
  splitter.take("one\ntw", out);
  EXPECT_EQ(out.lines, Texts{"one"});
  splitter.take("o\n\nthree", out);
  EXPECT_EQ(out.lines, (Texts{"one", "two", ""}));
  splitter.finish(out);
  EXPECT_EQ(out.lines, (Texts{"one", "two", "", "three"}));
  splitter.finish(out);
  EXPECT_EQ(out.lines.size(), 4u) << "nothing waits any more";
}

TEST(LineSplitterTest, GivesUpALineThatIsTooLongAndGoesOnBehindIt) {
  const std::string most(LineSplitter::kMaxLine, 'x');
  LineSplitter splitter;
  Lines out;
  splitter.take(most + "\n" + most, out);
  EXPECT_EQ(out.lines, Texts{most});
  splitter.take("y", out);
  splitter.take("z\nnext\n", out);
  EXPECT_EQ(out.tooLong, 1u);
  EXPECT_EQ(out.lines, (Texts{most, "next"}));
}

TEST(LineSplitterTest, DropsTheHoleThatATruncationLeftBehind) {
  LineSplitter splitter;
  Lines out;
  const std::string hole(LineSplitter::kMaxLine, '\0');
  splitter.take(hole, out);
  splitter.take(hole + "a" + std::string(1, '\0') + "b\n", out);
  EXPECT_EQ(out.lines, Texts{std::string("a\0b", 3)});
  EXPECT_EQ(out.tooLong, 0u);
}

}  // namespace
}  // namespace mainstay::agent
