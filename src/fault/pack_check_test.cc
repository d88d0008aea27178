#include "fault/pack_check.h"

#include <gmock/gmock.h>

namespace mainstay::fault {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kCheckedHead[] = R"(pack: demo
source: nowhere
date: 2026-01-15
conditions:
  - {type: GPUFault, reason: NoGPUFault, message: fine}
rules:
)";

std::vector<Pack> packs(const std::string& rules) {
  auto pack = parsePack(kCheckedHead + rules, "demo.yaml");
  EXPECT_TRUE(pack) << pack.error().toString();
  return {*std::move(pack)};
}

TEST(PackExamples, MustMatchAndGiveWhatTheySay) {
  const auto found =
      testPacks(packs("  - {id: a, name: a, event: A, pattern: '^alpha', examples: ['beta', {line: 'alpha', "
                      "event: B}], not: ['alpha 2']}\n"));
  EXPECT_THAT(found,
              ElementsAre("demo.yaml:7: demo/a: its example does not match: \"beta\"",
                          "demo.yaml:7: demo/a: event: expected \"B\", found \"A\" in its example \"alpha\"",
                          "demo.yaml:7: demo/a: must not match, and does: \"alpha 2\""));
}

TEST(PackExamples, AreNoOtherRulesLines) {
  const auto found =
      testPacks(packs("  - {id: a, name: a, event: A, pattern: '^alpha', examples: [alpha]}\n"
                      "  - {id: b, name: b, event: B, pattern: '^alp', examples: [alpaca]}\n"));
  EXPECT_THAT(found, ElementsAre(HasSubstr("demo/a: its example is a line of demo/b, too")));
}

TEST(PackLint, TellsWhatIsProbablyAMistake) {
  const struct {
    std::string rule;
    std::string complaint;
  } kCases[] = {
      {"{id: a, name: a, event: A, pattern: '^alpha'}", "demo/a: no example"},
      {"{id: a, name: a, event: A, pattern: '^[a-z]+ \\d+', examples: ['x 1']}",
       "asks for no text of 4 characters, so that every line of the log pays"},
      {"{id: a, name: a, event: A, pattern: '^alpha(?:[a-z][0-9][a-f][0-8][a-e]){900}', examples: [alpha]}",
       "the pattern costs too much"},
      {"{id: a, name: a, event: A, pattern: '^alpha', examples: [alpha], follows: {of: gone}}",
       "no rule is called \"demo/gone\""},
      {"{id: a, name: a, event: A, pattern: '^alpha', examples: [alpha], corroborate: require}",
       "there are witnesses of Neuron devices only"},
      {"{id: a, implies: demo/b/79, pattern: '^alpha', examples: [alpha]}",
       "implies \"demo/b/79\", which is no entry"},
      {"{id: a, name: a, pattern: '^(?P<device>alpha)(?P<x>.*)', examples: [alpha], variants: "
       "[{when: {x: 1}, name: one}, {when: {device: d, x: 1}, name: two}]}",
       "the variant \"two\" is never reached: \"one\" stands before it"},
  };
  for (const auto& test : kCases) {
    EXPECT_THAT(lintPacks(packs("  - " + test.rule + "\n")), ElementsAre(HasSubstr(test.complaint)))
        << test.rule;
  }
}

TEST(PackLint, HasNothingToSayAboutAGoodRule) {
  const auto good =
      packs("  - {id: a, name: a, event: A, pattern: '^alpha', examples: [alpha], not: [beta]}\n");
  EXPECT_THAT(lintPacks(good), IsEmpty());
  EXPECT_THAT(testPacks(good), IsEmpty());
}

}  // namespace
}  // namespace mainstay::fault
