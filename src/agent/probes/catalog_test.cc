#include "agent/probes/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "agent/probes/probe_monitor.h"

namespace mainstay::agent::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(CatalogTest, EveryCheckIsWhole) {
  std::set<std::string> reasons;
  for (const ProbeKind* kind : allProbes()) {
    for (const Check& check : kind->checks) {
      EXPECT_TRUE(reasons.insert(check.reason).second) << check.reason << " stands twice";
      EXPECT_NE(neutralCondition(check.condition).type, "") << check.reason;
      EXPECT_STRNE(check.meaning, "") << check.reason;
      EXPECT_STRNE(check.source, "") << check.reason;
      EXPECT_STRNE(check.date, "") << check.reason;
      EXPECT_GE(check.patience.looks, 1) << check.reason;
      EXPECT_TRUE(check.severity == Severity::kFatal || check.action == RepairAction::kNone)
          << check.reason << " warns and proposes an action";
    }
    EXPECT_LE(kind->interval, kind->deadline * 4) << kind->name;
  }
}

TEST(CatalogTest, TheDocumentationHasEveryCheck) {
  const RealFileSystem files;
  const auto page = files.read(MAINSTAY_SOURCE_DIR "/docs/probes.md", 1 << 20);
  ASSERT_TRUE(page);
  EXPECT_THAT(*page, HasSubstr(describeProbes())) << "put in what mainstay-agent --probes=help prints";
  const std::size_t example = page->find("```yaml\n") + 8;
  const auto config =
      parseProbesConfig(page->substr(example, page->find("```\n", example) - example), "example");
  ASSERT_TRUE(config) << config.error().toString();
  EXPECT_FALSE(config->probes.at("gaudi").on);
}

TEST(CatalogTest, ChoosesByName) {
  EXPECT_EQ(chooseProbes({})->size(), 0u);
  EXPECT_EQ(chooseProbes({"all"})->size(), allProbes().size());
  const auto chosen = chooseProbes({"network", "pcie", "network"});
  ASSERT_EQ(chosen->size(), 2u);
  EXPECT_STREQ(chosen->front()->name, "pcie");
  EXPECT_THAT(chooseProbes({"pci"}).error().toString(), HasSubstr("no probe \"pci\", did you mean pcie?"));
}

TEST(ProbesConfigTest, StandsOverTheDefaults) {
  const auto config = parseProbesConfig(R"(
instanceType: p5.48xlarge
probes:
  network: {off: true}
  neuron: {program: /opt/nm}
  memory:
    interval: 10s
    deadline: 1m
    checks:
      MemoryCorrectableErrors: {limit: 7, per: 2h, confirm: 3, confirmFor: 5m, clear: 4h}
      MemoryOomKills: {off: true}
)",
                                        "probes.yaml");
  ASSERT_TRUE(config) << config.error().toString();
  EXPECT_EQ(config->instanceType, "p5.48xlarge");
  EXPECT_FALSE(config->probes.at("network").on);
  EXPECT_EQ(config->probes.at("neuron").program, "/opt/nm");
  const ProbeSettings& memory = config->probes.at("memory");
  EXPECT_EQ(memory.interval, 10s);
  EXPECT_EQ(memory.deadline, 1min);
  const CheckSettings& errors = memory.checks.find("MemoryCorrectableErrors")->second;
  EXPECT_EQ(errors.limit.count, 7);
  EXPECT_EQ(errors.limit.per, 2h);
  EXPECT_EQ(errors.patience.looks, 3);
  EXPECT_EQ(errors.patience.span, 5min);
  EXPECT_EQ(errors.patience.quiet, 4h);
  EXPECT_FALSE(memory.checks.find("MemoryOomKills")->second.on);
  EXPECT_EQ(memory.limit("MemoryPressureHigh").count, 20);
  EXPECT_TRUE(config->probes.at("pcie").on);
}

TEST(ProbesConfigTest, NamesThePlaceOfEveryMistake) {
  struct Case {
    const char* text;
    const char* complaint;
  };
  for (const Case& c :
       {Case{"probes: {memory: {program: x}}", "probes.memory.program: the probe \"memory\" runs no program"},
        Case{"probe: {}", "p.yaml:1:1: probe: unknown field, did you mean probes?"},
        Case{"probes: {pcei: {}}", "probes.pcei: there is no such probe, did you mean pcie?"},
        Case{"probes: {pcie: {interval: 100ms}}", "probes.pcie.interval: expected 1s to 1h0m0s, found 100ms"},
        Case{"probes: {pcie: {checks: {PcieLinkNarow: {}}}}", "did you mean PcieLinkNarrow?"},
        Case{"probes: {pcie: {checks: {PcieLinkNarrow: {limit: -1}}}}", "limit: expected a number from 0"},
        Case{"probes: {pcie: {checks: {PcieLinkNarrow: {confirm: 0}}}}", "confirm: expected 1 to 100 looks"},
        Case{"probes: {pcie: {checks: {PcieLinkNarrow: {clear: 8000h}}}}", "clear: expected 0s to 168h0m0s"},
        Case{"{}\n---\n{}", "expected one document, found 2"}}) {
    const auto config = parseProbesConfig(c.text, "p.yaml");
    ASSERT_FALSE(config) << c.text;
    EXPECT_THAT(config.error().toString(), HasSubstr(c.complaint));
  }
  EXPECT_TRUE(parseProbesConfig("", "p.yaml"));
}

}  // namespace
}  // namespace mainstay::agent::probes
