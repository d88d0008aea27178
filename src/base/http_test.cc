#include "base/http.h"

#include <gtest/gtest.h>

namespace mainstay {
namespace {

TEST(HttpHeadersTest, CompareNamesWithoutCase) {
  HttpHeaders headers{{"Content-Type", "text/plain"}};
  headers["content-type"] = "application/json";
  EXPECT_EQ(headers.size(), 1u);
  EXPECT_EQ(headers.find(std::string_view("CONTENT-TYPE"))->second, "application/json");
}

TEST(QueryTest, DecodesKeysAndValuesInOrder) {
  const Query query = parseQuery("labelSelector=a%3Db%2Cc&watch=1&name=x+y&flag&=v&&a=1=2");
  const Query expected = {
      {"labelSelector", "a=b,c"}, {"watch", "1"}, {"name", "x y"}, {"flag", ""}, {"", "v"}, {"a", "1=2"}};
  EXPECT_EQ(query, expected);
}

TEST(QueryTest, KeepsBrokenPercentSignsAsTheyAre) {
  EXPECT_EQ(queryValue(parseQuery("a=%zz%4"), "a"), "%zz%4");
  EXPECT_EQ(queryValue(parseQuery("a=100%"), "a"), "100%");
}

TEST(QueryTest, ComesBackUnchangedThroughItsText) {
  std::string everyByte;
  for (int byte = 0; byte < 256; ++byte) {
    everyByte += static_cast<char>(byte);
  }
  const Query query = {{"k&=", everyByte}, {"empty", ""}};
  EXPECT_EQ(parseQuery(formatQuery(query)), query);
}

TEST(QueryTest, EncodesSpacesForPathsAndQueriesAlike) {
  EXPECT_EQ(percentEncode("a b/c~"), "a%20b%2Fc~");
  EXPECT_EQ(formatQuery({}), "");
}

TEST(QueryTest, GivesTheFirstValueOrNothing) {
  const Query query = {{"a", "1"}, {"a", "2"}};
  EXPECT_EQ(queryValue(query, "a"), "1");
  EXPECT_EQ(queryValue(query, "b"), "");
}

}  // namespace
}  // namespace mainstay
