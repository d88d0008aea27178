#include "api/node_recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/yaml.h"

namespace mainstay::api {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr TimePoint kAt(seconds(1700000000) + microseconds(123456));

// Every field has a value.
NodeRecoveryStatus fullStatus() {
  NodeRecoveryStatus status;
  status.phase = Phase::kReplacing;
  status.message = "waits for i-1";
  status.outcome = "Replaced";
  status.mode = Mode::kEnforce;
  status.action = "replace";
  status.fault = "NeuronHasError_DMA_ERROR";
  status.evidence = {{.id = "r@3",
                      .type = "NeuronHealth",
                      .reason = "NeuronHasError_DMA_ERROR",
                      .faultClass = "neuron",
                      .device = "3",
                      .action = fault::RepairAction::kReplace,
                      .rule = "neuron.json#rules[3]",
                      .seq = 7,
                      .bootId = "boot",
                      .instance = "local:///i-1",
                      .first = kAt,
                      .last = kAt,
                      .count = 2,
                      .line = "NEURON_HW_ERR=DMA_ERROR"}};
  status.transitions = {{Phase::kHeld, kAt, "seen"}, {Phase::kReplacing, kAt, "drained"}};
  status.since = status.isolated = status.started = status.deadline = status.closed = kAt;
  status.provider = {"local", "i-1", "g", "token", kAt, kAt, kAt, "no capacity"};
  status.replacement = {"d", "uid-d", "local:///i-2", kAt};
  status.phaseSeconds = {{"Held", 0.5}};
  status.jobs = {{"ns", "j", "PyTorchJob", "uid-j", 1, "Stopped", "why", {"w-0 (rank 1)"}, kAt, kAt}};
  return status;
}

Json fullObject() {
  Json object = encodeNodeRecovery("b-1", {"b", "uid-b", "local:///i-1", "boot"},
                                   {{"aws.amazon.com/neuron", 16000}, {"cpu", 500}}, "p");
  JsonObject status = encodeStatus(fullStatus());
  status["jobs"] = encodeTouchedJobs(fullStatus().jobs);
  object.as_object()["status"] = std::move(status);
  return object;
}

TEST(NodeRecoveryTest, SurvivesEncodeAndDecode) {
  const NodeRecovery recovery = decodeNodeRecovery(fullObject()).value();

  EXPECT_EQ(recovery.node, (NodeIdentity{"b", "uid-b", "local:///i-1", "boot"}));
  EXPECT_EQ(recovery.allocatable, (Resources{{"aws.amazon.com/neuron", 16000}, {"cpu", 500}}));
  EXPECT_EQ(recovery.policy, "p");
  EXPECT_TRUE(recovery.open());
  EXPECT_EQ(toText(encodeStatus(recovery.status)), toText(encodeStatus(fullStatus())));
  EXPECT_EQ(toText(encodeTouchedJobs(recovery.status.jobs)), toText(encodeTouchedJobs(fullStatus().jobs)));
}

TEST(NodeRecoveryTest, AnAbsentStatusIsNew) {
  const NodeRecovery recovery =
      decodeNodeRecovery(encodeNodeRecovery("b-1", {"b", "u", "", ""}, {}, "p")).value();
  EXPECT_EQ(recovery.status.phase, Phase::kNew);
  EXPECT_TRUE(recovery.open());
}

TEST(NodeRecoveryTest, NamesWhatItCannotRead) {
  Json object = fullObject();
  object.as_object()["status"].as_object()["phase"] = "Rebooting";
  object.as_object()["status"].as_object()["evidence"] = "much";
  const auto recovery = decodeNodeRecovery(object);

  ASSERT_FALSE(recovery);
  EXPECT_THAT(recovery.error().toString(), HasSubstr("status.phase: \"Rebooting\""));
  EXPECT_THAT(recovery.error().toString(), HasSubstr("status.evidence"));
}

TEST(NodeRecoveryTest, ClearsWhatIsAbsentWhenMergedOverThePresent) {
  Json object = fullObject();
  NodeRecoveryStatus held;
  held.phase = Phase::kHeld;
  mergePatch(object, JsonObject{{"status", encodeStatus(held)}});
  const NodeRecovery recovery = decodeNodeRecovery(object).value();

  EXPECT_EQ(recovery.status.replacement.name, "");
  EXPECT_FALSE(recovery.status.closed);
  EXPECT_EQ(recovery.status.jobs.size(), 1u) << "the jobs side's field is left alone";
}

TEST(NodeRecoveryTest, KeepsTheNewestTransitions) {
  NodeRecoveryStatus status;
  for (int i = 0; i < 100; ++i) {
    status.transitions.push_back({Phase::kHeld, kAt, std::to_string(i)});
  }
  const Json encoded = encodeStatus(status);
  const JsonArray& kept = findMember(encoded, "transitions")->as_array();
  EXPECT_EQ(kept.size(), kMaxTransitions);
  EXPECT_EQ(findString(kept.back(), "reason"), "99");
}

TEST(PhaseTest, NamesGoBothWays) {
  for (int i = 0; i <= static_cast<int>(Phase::kStale); ++i) {
    EXPECT_EQ(parsePhase(phaseName(static_cast<Phase>(i))), static_cast<Phase>(i));
  }
  EXPECT_FALSE(parsePhase("Gone"));
}

// Both ways: what is written is in the schema, and what the schema has is written.
void compareWithRecoverySchema(const Json& schema, const Json& value, const std::string& path) {
  if (const Json* items = find(schema, "items"); items && value.is_array()) {
    ASSERT_FALSE(value.get_array().empty()) << path;
    return compareWithRecoverySchema(*items, value.get_array().at(0), path + "[]");
  }
  const Json* properties = find(schema, "properties");
  if (!properties) {
    return;
  }
  ASSERT_TRUE(value.is_object()) << path;
  for (const auto& [name, property] : properties->as_object()) {
    const std::string at = path + "." + std::string(name);
    const Json* member = findMember(value, name);
    ASSERT_TRUE(member) << at << " is in the schema, and the code does not write it";
    compareWithRecoverySchema(property, *member, at);
  }
  for (const auto& [name, member] : value.get_object()) {
    EXPECT_TRUE(properties->as_object().contains(name)) << path << "." << std::string(name);
  }
}

TEST(NodeRecoverySchemaTest, HasExactlyTheFieldsOfTheStruct) {
  const std::string path = std::string(MAINSTAY_SOURCE_DIR) + "/deploy/crds/noderecoveries.yaml";
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  const auto documents = parseYaml(text.str(), path);
  const Json& version = find(documents.value().at(0).value, "spec", "versions")->as_array().at(0);

  compareWithRecoverySchema(*find(version, "schema", "openAPIV3Schema"), fullObject(), "");
}

}  // namespace
}  // namespace mainstay::api
