#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainstay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Json parsed(std::string_view text) {
  return parseJson(text).value();
}

TEST(JsonTest, NamesLineAndColumnOfAMistake) {
  const std::string text = "{\n  \"a\": 1,\n}";

  EXPECT_THAT(parseJson(text).error().toString(), StartsWith("3:1: invalid JSON: "));
  EXPECT_THAT(parseJson(text, "rules.json").error().toString(), StartsWith("rules.json:3:1: invalid JSON: "));
}

TEST(JsonTest, NamesTheUsualMistakes) {
  EXPECT_THAT(parseJson("{\"a\": 1,\n}").error().toString(),
              HasSubstr("2:1: invalid JSON: syntax error: the comma"));
  EXPECT_THAT(parseJson("[1,]").error().toString(), HasSubstr("the comma in front has nothing behind it"));
  EXPECT_THAT(parseJson("\xEF\xBB\xBF{}").error().toString(),
              HasSubstr("1:1: invalid JSON: syntax error: the file begins"));
  EXPECT_THAT(parseJson("{// a\n}").error().toString(), HasSubstr("JSON has no comments"));
  EXPECT_THAT(parseJson("{'a': 1}").error().toString(), HasSubstr("double quotes"));
  EXPECT_THAT(parseJson("{\"a\" 1}").error().toString(), testing::EndsWith("syntax error"));
}

TEST(JsonTest, RefusesTrailingTextIncompleteAndTooDeepDocuments) {
  EXPECT_THAT(parseJson("{} x").error().toString(), HasSubstr("after the end"));
  EXPECT_FALSE(parseJson("{\"a\":"));
  EXPECT_FALSE(parseJson(""));
  EXPECT_FALSE(parseJson(std::string(65, '[') + std::string(65, ']')));
  EXPECT_TRUE(parseJson(std::string(64, '[') + std::string(64, ']')));
}

TEST(JsonTest, RefusesNumbersThatAreNone) {
  EXPECT_THAT(parseJson(R"({"a":[1e309]})").error().toString(), HasSubstr("out of range"));
  EXPECT_FALSE(parseJson("0e309"));
  EXPECT_TRUE(parseJson("1e308"));
}

TEST(JsonTest, LastDuplicateKeyWins) {
  EXPECT_EQ(findString(parsed(R"({"a":"1","a":"2"})"), "a"), "2");
}

TEST(JsonTest, PrettyTextRoundTrips) {
  const Json value = parsed(R"({"a":[1,{"b":"x\"y"}],"c":{},"d":[]})");

  EXPECT_EQ(parsed(toPrettyText(value)), value);
  EXPECT_EQ(toPrettyText(parsed(R"({"a":[1]})")), "{\n  \"a\": [\n    1\n  ]\n}");
}

TEST(MergePatchTest, RemovesMergesAndReplaces) {
  Json target = parsed(R"({"a":{"x":1,"y":2},"b":[1],"c":3})");

  mergePatch(target, parsed(R"({"a":{"x":null,"z":4},"b":[2],"d":{"e":null,"f":1}})"));

  EXPECT_EQ(target, parsed(R"({"a":{"y":2,"z":4},"b":[2],"c":3,"d":{"f":1}})"));
}

TEST(FindTest, WalksObjectsAndStopsAtOtherKinds) {
  const Json value = parsed(R"({"a":{"b":"x"},"n":null,"l":[1]})");

  EXPECT_EQ(findString(value, "a", "b"), "x");
  EXPECT_EQ(find(value, "a", "b", "c"), nullptr);
  EXPECT_EQ(find(value, "l", "0"), nullptr);
  EXPECT_EQ(findString(value, "l"), "");
}

TEST(CursorTest, CollectsEveryMistakeWithItsPath) {
  const Json document = parsed(R"({"spec":{"mode":7,"limits":{"perHour":"x"},"names":["a",1],"wait":"5"}})");
  DecodeErrors errors("policy.yaml");
  const Cursor spec = Cursor(document, errors).at("spec");

  spec.at("mode").string("Observe");
  spec.at("limits").at("perHour").integer();
  spec.at("limits").at("missing").integer();
  for (const Cursor& name : spec.at("names").elements()) {
    name.string();
  }
  spec.at("wait").duration(Duration(0));

  EXPECT_THAT(errors.lines(),
              ElementsAre("policy.yaml: spec.mode: expected a string, found an integer",
                          "policy.yaml: spec.limits.perHour: expected an integer, found a string",
                          "policy.yaml: spec.limits.missing: expected an integer, but it is missing",
                          "policy.yaml: spec.names[1]: expected a string, found an integer",
                          "policy.yaml: spec.wait: \"5\" is not a duration (write it as 90s, 5m or 1h30m)"));
  EXPECT_EQ(errors.result().error().code(), Code::kInvalidArgument);
}

TEST(CursorTest, AbsentAndNullTakeTheFallback) {
  const Json document = parsed(R"({"a":null})");
  DecodeErrors errors;
  const Cursor root(document, errors);

  EXPECT_EQ(root.at("a").string("x"), "x");
  EXPECT_EQ(root.at("b").integer(3), 3);
  EXPECT_FALSE(root.at("a").at("deep").exists());
  EXPECT_TRUE(errors.empty());
}

TEST(CursorTest, SuggestsTheNearestKnownKey) {
  const Json document = parsed(R"({"spec":{"limts":{},"zzzzzz":1}})");
  DecodeErrors errors;

  Cursor(document, errors).at("spec").allow({"limits", "mode"});

  EXPECT_THAT(errors.lines(),
              ElementsAre("spec.limts: unknown field, did you mean limits?", "spec.zzzzzz: unknown field"));
}

TEST(CursorTest, PrintsThePlaceWhenTheDocumentKnowsIt) {
  const Json document = parsed(R"({"a":1})");
  DecodeErrors errors("x.yaml", [](const std::string& path) {
    return path == "a" ? SourcePlace{3, 5} : SourcePlace{};
  });

  Cursor(document, errors).at("a").string();

  EXPECT_THAT(errors.lines(), ElementsAre("x.yaml:3:5: a: expected a string, found an integer"));
}

TEST(ErrorTest, PrintsContextOutermostFirst) {
  EXPECT_EQ(Error(Code::kNotFound, "no such pod").with("evicting pod x").with("draining node-7").toString(),
            "draining node-7: evicting pod x: no such pod");
}

}  // namespace
}  // namespace mainstay
