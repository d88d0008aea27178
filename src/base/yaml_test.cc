#include "base/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainstay {
namespace {

using testing::HasSubstr;

Json yamlValue(std::string_view text) {
  const auto documents = parseYaml(text, "file.yaml");
  EXPECT_TRUE(documents) << documents.error().toString();
  EXPECT_EQ(documents->size(), 1u);
  return documents && documents->size() == 1 ? documents->front().value : Json();
}

std::string yamlError(std::string_view text) {
  const auto documents = parseYaml(text, "file.yaml");
  EXPECT_FALSE(documents) << text;
  return documents ? "" : documents.error().toString();
}

TEST(YamlTest, ReadsScalarsAsTheCoreSchemaSays) {
  EXPECT_EQ(toText(yamlValue("[true, FALSE, null, ~, , 7, -7, +7, 0x1F, 0o17, 012]")),
            "[true,false,null,null,null,7,-7,7,31,15,12]");
  EXPECT_EQ(yamlValue("1.5").get_double(), 1.5);
  EXPECT_EQ(yamlValue("-2e3").get_double(), -2000);
  EXPECT_EQ(yamlValue(".5").get_double(), 0.5);
  EXPECT_EQ(yamlValue("18446744073709551615").get_uint64(), 18446744073709551615u);
  EXPECT_EQ(
      toText(yamlValue("['7', \"true\", yes, on, 1_000, 1.2.3, 0x, 10%, 20m, -, +-5, .inf, 1e999, '']")),
      R"(["7","true","yes","on","1_000","1.2.3","0x","10%","20m","-","+-5",".inf","1e999",""])");
}

TEST(YamlTest, ReadsTheFormsThatPeopleWrite) {
  const Json value = yamlValue(
      "# a policy\n"
      "metadata: {name: trn-and-p5, labels: {a.b/c: \"x\"}}\n"
      "spec:\n"
      "  ladder: [{action: replace}]\n"
      "  text: |\n"
      "    one\n"
      "    two\n"
      "  folded: >-\n"
      "    one\n"
      "    two\n"
      "  1: number\n");
  EXPECT_EQ(
      toText(value),
      R"({"metadata":{"name":"trn-and-p5","labels":{"a.b/c":"x"}},)"
      R"("spec":{"ladder":[{"action":"replace"}],"text":"one\ntwo\n","folded":"one two","1":"number"}})");
}

TEST(YamlTest, ReadsEveryDocumentAndSkipsEmptyOnes) {
  const auto documents = parseYaml("---\n---\na: 1\n---\n# nothing\n---\nb: 2\n", "file.yaml");
  ASSERT_TRUE(documents);
  ASSERT_EQ(documents->size(), 2u);
  EXPECT_EQ(toText((*documents)[1].value), R"({"b":2})");
  EXPECT_EQ((*documents)[1].places.at("b").line, 7);
  EXPECT_TRUE(parseYaml("", "file.yaml")->empty());
}

TEST(YamlTest, SaysWhereAWrongValueStands) {
  const auto documents = parseYaml(
      "spec:\n"
      "  mode: Enforce\n"
      "  faults:\n"
      "    - match: {type: 5}\n",
      "policy.yaml");
  ASSERT_TRUE(documents);
  DecodeErrors errors = documents->front().errors();
  const Cursor root(documents->front().value, errors);
  root.at("spec").at("faults").at(0).at("match").at("type").string();
  root.at("spec").at("faults").at(0).at("ladder").string();
  root.at("spec").allow({"mode"});
  EXPECT_THAT(errors.lines(), testing::ElementsAre(HasSubstr("policy.yaml:4:21: spec.faults[0].match.type: "),
                                                   HasSubstr("policy.yaml:4:7: spec.faults[0].ladder: "),
                                                   HasSubstr("policy.yaml:3:3: spec.faults: ")));
}

TEST(YamlTest, NamesFileLineAndColumnOfWhatItCannotRead) {
  EXPECT_THAT(yamlError("a: 1\nb: [1, 2\nc: 3\n"), HasSubstr("file.yaml:3:"));
  EXPECT_THAT(yamlError("a: 1\n\tb: 2\n"), HasSubstr("file.yaml:2:"));
  EXPECT_EQ(yamlError("a: 1\nb: 2\na: 3\n"), "file.yaml:3:1: the key \"a\" stands here twice");
  EXPECT_EQ(yamlError("? [x]\n: 1\n"),
            "file.yaml:1:3: a key must be a plain or quoted text (or a bracket is not closed)");
  EXPECT_THAT(yamlError("a: *nobody\n"), HasSubstr("file.yaml:1:"));
  EXPECT_THAT(yamlError("{\"a\": 1"), HasSubstr("a bracket is not closed"));
  EXPECT_THAT(yamlError("- a\nb: 1\n"),
              HasSubstr("file.yaml:2:1: this does not belong to what stands above"));
}

TEST(YamlTest, RefusesBytesThatAreNotUtf8) {
  EXPECT_EQ(parseYaml("a: b\nc: caf\xe9\n", "f.yaml").error().toString(),
            "f.yaml:2:7: a byte that is not UTF-8; save the file as UTF-8");
  EXPECT_TRUE(parseYaml("a: caf\xc3\xa9\n", "f.yaml"));
}

TEST(YamlTest, ExpandsAliases) {
  EXPECT_EQ(toText(yamlValue("a: &x {b: [1, 2]}\nc: *x\nd: [&y z, *y]\n")),
            R"({"a":{"b":[1,2]},"c":{"b":[1,2]},"d":["z","z"]})");
}

TEST(YamlTest, RefusesAliasesThatExplode) {
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 0; j < 9; ++j) {
      laughs += ", " + before;
    }
    laughs += "]\n";
  }
  EXPECT_THAT(yamlError(laughs), HasSubstr("more than 10000 values, with aliases expanded"));

  std::string heavy = "a: &a " + std::string(100'000, 'x') + "\nb: [*a";
  for (int i = 0; i < 100; ++i) {
    heavy += ", *a";
  }
  EXPECT_THAT(yamlError(heavy + "]\n"), HasSubstr("more than 4194304 bytes, with aliases expanded"));
  EXPECT_THAT(yamlError("a: &a [*a]\n"), HasSubstr("inside the value that it names"));
}

TEST(YamlTest, RefusesWhatIsTooLargeOrTooDeep) {
  EXPECT_THAT(yamlError(std::string((1 << 20) + 1, ' ')), HasSubstr("larger than 1048576 bytes"));
  EXPECT_THAT(yamlError(std::string(65, '[') + std::string(65, ']')),
              HasSubstr("nested deeper than 64 levels"));
  EXPECT_FALSE(parseYaml(std::string(100'000, '['), "file.yaml"));
  EXPECT_FALSE(parseYaml(std::string(100'000, '{'), "file.yaml"));
  std::string many;
  for (int i = 0; i < 10'001; ++i) {
    many += "- x\n";
  }
  EXPECT_THAT(yamlError(many), HasSubstr("more than 10000 values"));
  const std::string longKey(300'000, 'k');
  EXPECT_THAT(yamlError("? " + longKey + "\n: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]\n"),
              HasSubstr("more than"));
}

TEST(YamlTest, SurvivesAnyBytes) {
  for (const std::string_view text :
       {"\0", "\xff\xfe\x00", "%YAML 9.9\n--- x", "!!binary x", "- - - :", "{?,:}", "&a", "*", "\"\\x"}) {
    const auto documents = parseYaml(text, "file.yaml");
    EXPECT_TRUE(documents || documents.error().code() == Code::kInvalidArgument);
  }
}

TEST(YamlTextTest, WritesBlockStyle) {
  const Json value = *parseJson(
      R"({"kind":"Node","spec":{"taints":[{"key":"a","value":"b"}],"empty":[],"none":{}},"share":1.5})");
  EXPECT_EQ(toYamlText(value),
            "kind: Node\n"
            "spec:\n"
            "  taints:\n"
            "    - key: a\n"
            "      value: b\n"
            "  empty: []\n"
            "  none: {}\n"
            "share: 1.5\n");
}

TEST(YamlTextTest, QuotesTextThatOtherReadersWouldTakeForSomethingElse) {
  const Json value = *parseJson(
      R"(["true","null","","7","0x1","1e3","yes","N","2026-11-29","1_000","plain","a: b","- x","# c",)"
      R"("two\nlines"," space","é","*a","{b"])");
  const std::string text = toYamlText(value);
  EXPECT_EQ(toText(yamlValue(text)), toText(value)) << text;
  EXPECT_THAT(text, HasSubstr("- \"yes\"\n"));
  EXPECT_THAT(text, HasSubstr("- \"2026-11-29\"\n"));
  EXPECT_THAT(text, HasSubstr("- plain\n"));
}

}  // namespace
}  // namespace mainstay
