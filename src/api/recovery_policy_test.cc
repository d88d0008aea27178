#include "api/recovery_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/yaml.h"

namespace mainstay::api {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

Json policyYaml(const std::string& spec) {
  const auto documents = parseYaml("metadata: {name: p}\nspec:\n" + spec, "p.yaml");
  return documents.value().at(0).value;
}

std::string refusal(const std::string& spec) {
  const auto policy = decodeRecoveryPolicy(policyYaml(spec));
  return policy ? "" : policy.error().toString();
}

// Every field that this release has.
constexpr char kFullSpec[] = R"(
  nodes: {matchLabels: {pool: trn}, matchExpressions: [{key: zone, operator: In, values: [a]}]}
  mode: Enforce
  provider: local
  limits:
    isolated: {max: 30%, atLeast: 2}
    inRecovery: {max: 3, atLeast: 1}
    perHour: 4
  faults:
    - {match: {type: NeuronHealth, reason: NeuronHasError_*}, confirm: 5s, ladder: [{action: replace}]}
    - {match: {type: NodeLost}, ladder: [{action: replace}]}
  drain: {deadline: 3m}
  resume: {enabled: false, maxRetries: 3}
)";

TEST(RecoveryPolicyTest, ReadsEveryField) {
  const RecoveryPolicy policy = decodeRecoveryPolicy(policyYaml(kFullSpec)).value();

  EXPECT_TRUE(policy.nodes.matches({{"pool", "trn"}, {"zone", "a"}}));
  EXPECT_FALSE(policy.nodes.matches({{"pool", "trn"}}));
  EXPECT_EQ(policy.mode, Mode::kEnforce);
  EXPECT_EQ(policy.isolated.of(10), 3);
  EXPECT_EQ(policy.inRecovery.of(1), 3);
  EXPECT_EQ(policy.perHour, 4);
  EXPECT_EQ(policy.drainDeadline, minutes(3));
  EXPECT_FALSE(policy.resume);
  EXPECT_EQ(policy.maxRetries, 3);
  ASSERT_EQ(policy.faults.size(), 2u);
  EXPECT_EQ(policy.faults[0].confirm, seconds(5));
  EXPECT_EQ(policy.faults[1].confirm, minutes(2)) << "the default of NodeLost";
}

TEST(RecoveryPolicyTest, ObservesUnlessTold) {
  const RecoveryPolicy policy = decodeRecoveryPolicy(policyYaml("  nodes: {}\n")).value();

  EXPECT_EQ(policy.mode, Mode::kObserve);
  EXPECT_TRUE(policy.nodes.matches({}));
  EXPECT_EQ(policy.isolated.of(3), 1) << "20 % of 3, but at least one";
  EXPECT_EQ(policy.isolated.of(100), 20);
  EXPECT_EQ(policy.inRecovery.of(100), 5);
  EXPECT_TRUE(policy.faults[0].matches("NeuronHealth", "NeuronHasError_DMA_ERROR"));
  EXPECT_FALSE(policy.faults[0].matches("NeuronHealth", "Other"));
}

TEST(RecoveryPolicyTest, RefusesWhatThisReleaseDoesNotImplement) {
  EXPECT_THAT(refusal("  nodes: {}\n  breaker: {window: 10m}\n"), HasSubstr("spec.breaker"));
  EXPECT_THAT(refusal("  nodes: {}\n  provider: gce\n"), HasSubstr("spec.provider"));
  EXPECT_THAT(refusal("  nodes: {}\n  limits: {perDomain: {max: 2}}\n"), HasSubstr("spec.limits.perDomain"));
  EXPECT_THAT(refusal("  nodes: {}\n  faults: [{match: {type: X}, ladder: [{action: reboot}]}]\n"),
              HasSubstr("spec.faults[0].ladder[0].action"));
  EXPECT_THAT(refusal("  nodes: {}\n  faults: [{match: {type: X}}]\n"), HasSubstr("spec.faults[0].ladder"));
}

TEST(RecoveryPolicyTest, NamesEveryMistakeAtOnce) {
  const std::string text = refusal("  mode: Enforced\n  limits: {isolated: {max: lots}}\n");

  EXPECT_THAT(text, HasSubstr("spec.nodes: expected a label selector"));
  EXPECT_THAT(text, HasSubstr("neither Observe nor Enforce"));
  EXPECT_THAT(text, HasSubstr("spec.limits.isolated.max"));
}

TEST(RecoveryPolicyTest, NeedsAProviderToEnforce) {
  EXPECT_THAT(refusal("  nodes: {}\n  mode: Enforce\n"), HasSubstr("spec.provider"));
}

TEST(RecoveryPolicyTest, KeepsItsPlacesThroughEncodeAndDecode) {
  const std::vector<TakenSlot> slots = {{Slot::kIsolated, "b-1", "b", TimePoint(seconds(1))},
                                        {Slot::kInRecovery, "b-1", "b", TimePoint(seconds(2))}};
  Json object = policyYaml("  nodes: {}\n");
  object.as_object()["status"] = JsonObject{{"active", encodeSlots(slots)}};

  EXPECT_EQ(decodeRecoveryPolicy(object).value().active, slots);
}

TEST(FaultRuleTest, MatchesReasonsByGlob) {
  const FaultRule rule{.type = "T", .reason = "A*_?x*"};
  EXPECT_TRUE(rule.matches("T", "A_1x"));
  EXPECT_TRUE(rule.matches("T", "Abc_d_1xyz"));
  EXPECT_FALSE(rule.matches("T", "A_x"));
  EXPECT_FALSE(rule.matches("U", "A_1x"));
  EXPECT_TRUE((FaultRule{.type = "T"}.matches("T", "")));
  EXPECT_FALSE((FaultRule{.type = "T", .reason = ""}.matches("T", "x")));
}

Json policySchema() {
  const std::string path = std::string(MAINSTAY_SOURCE_DIR) + "/deploy/crds/recoverypolicies.yaml";
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  const auto documents = parseYaml(text.str(), path);
  const Json& version =
      findMember(*find(documents.value().at(0).value, "spec"), "versions")->as_array().at(0);
  return *find(version, "schema", "openAPIV3Schema");
}

// Walks the schema beside a document that has every field. A property that the document lacks must be one
// that a validation rule refuses.
void compareWithPolicySchema(const Json& schema, const Json& value, const std::string& path) {
  if (const Json* items = find(schema, "items"); items && value.is_array()) {
    for (const Json& element : value.get_array()) {
      compareWithPolicySchema(*items, element, path + "[]");
    }
    return;
  }
  const Json* properties = find(schema, "properties");
  if (!properties || !value.is_object()) {
    return;
  }
  for (const auto& [name, member] : value.get_object()) {
    const Json* property = findMember(*properties, name);
    ASSERT_TRUE(property) << path << "." << name << " is not in the schema";
    compareWithPolicySchema(*property, member, path + "." + std::string(name));
  }
  const Json* rules = find(schema, "x-kubernetes-validations");
  const std::string refused = rules ? toText(*rules) : "";
  for (const auto& [name, property] : properties->as_object()) {
    const bool isRefused = refused.find("\"!has(self." + std::string(name) + ")\"") != std::string::npos;
    EXPECT_NE(isRefused, value.get_object().contains(name))
        << path << "." << std::string(name) << " is in the schema, and the code neither reads nor refuses it";
  }
}

TEST(RecoveryPolicySchemaTest, HasExactlyTheFieldsThatTheCodeReads) {
  Json spec = *find(policyYaml(kFullSpec), "spec");
  spec.as_object()["faults"].as_array().pop_back();  // the second fault leaves out what has a default
  compareWithPolicySchema(*find(policySchema(), "properties", "spec"), spec, "spec");
}

TEST(RecoveryPolicySchemaTest, DescribesThePlacesAsTheyAreWritten) {
  const Json schema = policySchema();
  const Json* slot = find(schema, "properties", "status", "properties", "active", "items", "properties");
  ASSERT_TRUE(slot);
  const Json written = encodeSlots({{Slot::kIsolated, "r", "n", TimePoint(seconds(1))}});
  EXPECT_EQ(slot->as_object().size(), written.as_array().at(0).as_object().size());
  for (const auto& [name, value] : written.as_array().at(0).as_object()) {
    EXPECT_TRUE(slot->as_object().contains(name)) << name;
  }
}

}  // namespace
}  // namespace mainstay::api
