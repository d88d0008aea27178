#include "cli/output.h"

#include <gtest/gtest.h>

#include <sstream>

namespace mainstay::cli {
namespace {

TEST(TableTest, LinesUpAndEndsWithoutSpaces) {
  Table table({"NODE", "PHASE"});
  table.add({"node-a-long", "Held"});
  table.add({"x", ""});

  EXPECT_EQ(table.text(), "NODE         PHASE\nnode-a-long  Held\nx\n");
}

TEST(TableTest, CountsCharactersNotBytes) {
  Table table({"A", "B"});
  table.add({"\xc3\xa4\xc3\xb6", "1"});
  table.add({"xy", "2"});

  EXPECT_EQ(table.text(), "A   B\n\xc3\xa4\xc3\xb6  1\nxy  2\n");
}

TEST(PaletteTest, PaintsOnlyWhenOn) {
  EXPECT_EQ(Palette(false).paint(Colour::kRed, "x"), "x");
  EXPECT_EQ(Palette(true).paint(Colour::kRed, "x"), "\033[31mx\033[0m");
}

TEST(PrintTest, TheSameDataInThreeForms) {
  const Json document = parseJson(R"({"a":1})").value();
  std::ostringstream text, json, yaml;

  print(text, Format::kText, document, "one\n");
  print(json, parseFormat("json"), document, "one\n");
  print(yaml, parseFormat("yaml"), document, "one\n");

  EXPECT_EQ(text.str(), "one\n");
  EXPECT_EQ(parseJson(json.str()).value(), document);
  EXPECT_EQ(yaml.str(), "a: 1\n");
}

}  // namespace
}  // namespace mainstay::cli
