#include "fault/pack.h"

#include <gmock/gmock.h>

namespace mainstay::fault {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kPack[] = R"(pack: demo
about: a pack of the tests
source: nowhere
date: 2026-01-15
class: gpu
conditions:
  - {type: GPUFault, reason: NoGPUFault, message: fine}
effects:
  reset: {severity: fatal, condition: GPUFault, reason: 'Xid{code}', event: XidError, action: reset}
rules:
  - id: xid
    name: Xid
    pattern: '^Xid \((?P<pci>[0-9a-f:.]+)\): (?P<code>\d+)'
    unknown: {name: new, event: XidUnknown}
    codes:
      - [79, reset, off the bus]
      - code: 48
        effect: reset
        action: reboot
        name: double bit error
        variants:
          - {when: {pci: '/^0000/'}, id: first, severity: error}
  - id: lockup
    name: CPU lockup
    condition: GPUFault
    reason: Lockup
    pattern: ^stuck
)";

Result<Pack> read(const std::string& text, const std::vector<Pack>& base = {}) {
  return parsePack(text, "demo.yaml", base);
}

std::string packErrorOf(const std::string& text) {
  const auto pack = read(text);
  return pack ? "" : pack.error().toString();
}

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kPack;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Pack, IsReadWithItsDefaults) {
  const auto pack = read(kPack);
  ASSERT_TRUE(pack) << pack.error().toString();
  ASSERT_EQ(pack->rules.size(), 2u);
  const PackRule& xid = pack->rules[0];
  EXPECT_EQ(xid.id, "demo/xid");
  EXPECT_EQ(xid.place, "demo.yaml:11");
  EXPECT_EQ(xid.source, "nowhere");
  EXPECT_EQ(xid.device, "{pci}") << "an address that is captured is the device";
  EXPECT_EQ(xid.trust, Trust::kKernel);
  const Entry& lost = xid.codes.at("79");
  EXPECT_EQ(lost.name, "off the bus");
  EXPECT_EQ(lost.effect->condition, "GPUFault");
  EXPECT_EQ(lost.effect->faultClass, "gpu");
  EXPECT_EQ(lost.effect->action, RepairAction::kReset);
  const Entry& ecc = xid.codes.at("48");
  EXPECT_EQ(ecc.effect->action, RepairAction::kReboot);
  EXPECT_EQ(ecc.effect->event, "XidError") << "what is not said anew stays";
  EXPECT_EQ(ecc.variants.at(0).effect->severity, Severity::kError);
  EXPECT_EQ(ecc.variants.at(0).effect->action, RepairAction::kReboot);
  EXPECT_EQ(xid.unknown->effect->severity, Severity::kUnknown);
}

TEST(Pack, LaidOverAnotherChangesWhatItNames) {
  std::vector<Pack> packs{*read(kPack)};
  const auto over = read(R"(pack: demo
rules:
  - id: xid
    codes:
      - {code: 79, effect: reset, action: replace, name: off the bus}
  - {id: lockup, enabled: false}
)",
                         packs);
  ASSERT_TRUE(over) << over.error().toString();
  addPack(packs, *over);
  ASSERT_EQ(packs.size(), 1u);
  ASSERT_EQ(packs[0].rules.size(), 1u);
  EXPECT_EQ(findEntry(packs, "demo/xid/79").entry->effect->action, RepairAction::kReplace);
  EXPECT_EQ(findEntry(packs, "demo/xid/48").entry->effect->action, RepairAction::kReboot);
}

TEST(Pack, LaidOverAnotherMayTrustEverybody) {
  const std::vector<Pack> packs{*read(kPack)};
  const auto over = read("pack: demo\ntrust: any\n", packs);
  ASSERT_TRUE(over) << over.error().toString();
  EXPECT_EQ(over->rules.at(0).trust, Trust::kAny);
}

TEST(Pack, MistakesAreToldWithTheirPlace) {
  const struct {
    std::string text;
    std::string error;
  } kCases[] = {
      {changed("event: XidError", "evnt: XidError"),
       "demo.yaml:9:76: effects.reset.evnt: unknown field, did you mean event?"},
      {changed("[79, reset,", "[79, rest,"),
       "demo.yaml:16:14: rules[0].codes[0][1]: no effect \"rest\" stands above, did you mean reset?"},
      {changed("'^Xid", "'Xid"), "expected ^ in front"},
      {changed("'^Xid \\((", "'^Xid ((("), "rules[0].pattern: invalid pattern: "},
      {changed("action: reboot", "action: explode"),
       "expected none, restart-app, reset, reboot or replace, found \"explode\""},
      {changed("condition: GPUFault, reason: 'Xid", "condition: GPUFaul, reason: 'Xid"),
       "\"GPUFaul\" is not one of the pack's conditions, did you mean GPUFault?"},
      {changed("when: {pci:", "when: {pcie:"),
       "no group of the pattern is called \"pcie\", did you mean pci?"},
      {changed("(?P<code>\\d+)", "\\d+"), "no group (?P<code>...)"},
      {changed("reason: Lockup", "reason: 'Lockup{cpu}'"), "only {code} may stand there"},
      {changed("    unknown: {name: new, event: XidUnknown}\n", ""),
       "rules[0].unknown: expected what a code means that is not in the table"},
      {changed("event: XidUnknown", "event: XidUnknown, action: reset"),
       "what nobody knows must not set a condition or propose an action"},
      {changed("code: 48", "code: 79"), "the code 79 stands twice"},
      {changed("id: lockup", "id: xid"), "the rule \"xid\" stands twice"},
      {changed("    reason: Lockup\n", ""), "what sets the condition GPUFault needs a reason"},
      {changed("pattern: ^stuck", "join: {patterns: [^stuck]}"), "expected two or more, found 1"},
      {changed("reason: Lockup", "reason: Lockup\n    repeat: {count: 1}"), "expected 2 to 1000, found 1"},
      {changed("reason: Lockup", "reason: Lockup\n    hold: soon"), "\"soon\" is not a duration"},
      {changed("reason: Lockup", "reason: Lockup\n    cancels: []"), "expected the ids of other findings"},
      {changed("action: reset}", "action: reset, cancels: any}"), "\"any\" is of one rule, and this is none"},
      {changed("pattern: ^stuck", "about: x"), "rules[1].about: unknown field"},
  };
  for (const auto& test : kCases) {
    EXPECT_THAT(packErrorOf(test.text), HasSubstr(test.error));
  }
}

TEST(Pack, AllMistakesAreToldAtOnce) {
  std::string text = changed("severity: fatal", "severity: bad");
  text.replace(text.find("^stuck"), 6, "stuck");
  EXPECT_THAT(packErrorOf(text),
              testing::AllOf(HasSubstr("found \"bad\""), HasSubstr("expected ^ in front")));
}

TEST(CaptureTest, HoldsForWordsNumbersPatternsAndBits) {
  const Captures captures{{"unit", "RLW_CTRL"}, {"status", "0x00000004"}, {"intr", "0x021425c6"}};
  const struct {
    CaptureTest test;
    bool holds;
  } kCases[] = {
      {{"unit", {"TLW", "RLW_CTRL"}, {}, nullptr}, true},
      {{"unit", {"RLW"}, {}, nullptr}, false},
      {{"status", {"4"}, {}, nullptr}, true},  // one number, hexadecimal or decimal
      {{"intr", {}, {"------100001----------0111000110"}, nullptr}, true},
      {{"intr", {}, {"------000010----------0111000110"}, nullptr}, false},
      {{"intr", {}, {"------000010----------0111000110", "--10"}, nullptr}, true},  // one of them
      {{"unit", {}, {"--10"}, nullptr}, false},
      {{"absent", {"x"}, {"--1"}, nullptr}, false},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(test.test.holds(captures), test.holds) << test.test.capture;
  }
}

TEST(Template, PutsCapturesIn) {
  EXPECT_EQ(expandTemplate("Xid{code} on {pci}{gone}!", {{"code", "79"}, {"pci", "0000:5e:00.0"}}),
            "Xid79 on 0000:5e:00.0!");
  EXPECT_EQ(expandTemplate("{open", {}), "{open");
  EXPECT_THAT(templateNames("a {b} {c}"), ElementsAre("b", "c"));
}

TEST(Code, IsLookedUpWithoutLeadingZeros) {
  EXPECT_EQ(normalCode("0079"), "79");
  EXPECT_EQ(normalCode("0"), "0");
  EXPECT_EQ(normalCode("0x79"), "0x79");
  EXPECT_EQ(normalCode("DMA_ERROR"), "DMA_ERROR");
}

}  // namespace
}  // namespace mainstay::fault
