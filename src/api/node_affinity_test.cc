#include "api/node_affinity.h"

#include <gtest/gtest.h>

namespace mainstay::api {
namespace {

const Labels kZoneOne{{"zone", "1"}, {"gpus", "8"}, {"pool", "a"}};

NodeAffinity affinityOf(const std::string& text) {
  DecodeErrors errors;
  const Json spec = parseJson(text).value();
  NodeAffinity affinity = decodeNodeAffinity(Cursor(spec, errors));
  EXPECT_TRUE(errors.empty()) << errors.lines().front();
  return affinity;
}

// Whether a node with these labels, named "n1", is allowed by one term.
bool allowed(const std::string& term) {
  return affinityOf(R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
                    R"({"nodeSelectorTerms":[)" +
                    term + "]}}}}")
      .allows("n1", kZoneOne);
}

bool allowedBy(const std::string& key, const std::string& op, const std::string& values) {
  return allowed(R"({"matchExpressions":[{"key":")" + key + R"(","operator":")" + op + R"(","values":)" + values + "}]}");
}

TEST(NodeAffinityTest, ReadsEveryOperatorAsKubeScheduler) {
  EXPECT_TRUE(allowedBy("zone", "In", R"(["0","1"])"));
  EXPECT_FALSE(allowedBy("zone", "In", R"(["2"])"));
  EXPECT_FALSE(allowedBy("none", "In", R"([""])"));
  EXPECT_FALSE(allowedBy("zone", "NotIn", R"(["1"])"));
  EXPECT_TRUE(allowedBy("none", "NotIn", R"(["1"])")) << "a label that is not there is not among them";
  EXPECT_TRUE(allowedBy("pool", "Exists", "[]"));
  EXPECT_FALSE(allowedBy("none", "Exists", "[]"));
  EXPECT_TRUE(allowedBy("none", "DoesNotExist", "[]"));
  EXPECT_FALSE(allowedBy("pool", "DoesNotExist", "[]"));
  EXPECT_TRUE(allowedBy("gpus", "Gt", R"(["7"])"));
  EXPECT_FALSE(allowedBy("gpus", "Gt", R"(["8"])"));
  EXPECT_TRUE(allowedBy("gpus", "Lt", R"(["10"])")) << "numbers, not texts";
  EXPECT_FALSE(allowedBy("pool", "Lt", R"(["10"])")) << "the label is no number";
  EXPECT_FALSE(allowedBy("none", "Lt", R"(["10"])"));
  EXPECT_FALSE(allowedBy("gpus", "Gt", R"(["1","2"])"));
}

TEST(NodeAffinityTest, FieldsKnowTheNodesName) {
  EXPECT_TRUE(allowed(R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]})"));
  EXPECT_FALSE(allowed(R"({"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["n1"]}]})"));
  EXPECT_FALSE(allowed(R"({"matchFields":[{"key":"spec.other","operator":"NotIn","values":["x"]}]})"));
}

TEST(NodeAffinityTest, AllOfATermAndOneOfTheTerms) {
  const std::string zoneOne = R"({"key":"zone","operator":"In","values":["1"]})";
  const std::string poolB = R"({"key":"pool","operator":"In","values":["b"]})";
  EXPECT_FALSE(allowed("{\"matchExpressions\":[" + zoneOne + "," + poolB + "]}"));
  EXPECT_TRUE(allowed("{\"matchExpressions\":[" + poolB + "]},{\"matchExpressions\":[" + zoneOne + "]}"));
}

TEST(NodeAffinityTest, NoTermsOrEmptyTermsMatchNothingAndNoDemandEverything) {
  EXPECT_FALSE(allowed(""));
  EXPECT_FALSE(allowed("{}"));
  EXPECT_TRUE(affinityOf("{}").allows("n1", {}));
}

TEST(NodeAffinityTest, ANodeSelectorHoldsBesideIt) {
  const NodeAffinity affinity = affinityOf(R"({"nodeSelector":{"zone":"1","empty":""}})");
  EXPECT_FALSE(affinity.allows("n1", kZoneOne)) << "an empty value is not a missing label";
  EXPECT_TRUE(affinity.allows("n1", {{"zone", "1"}, {"empty", ""}}));
}

TEST(NodeAffinityTest, AddsTheWeightsOfPreferences) {
  const NodeAffinity affinity = affinityOf(
      R"({"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
         {"weight":10,"preference":{"matchExpressions":[{"key":"zone","operator":"Exists"}]}},
         {"weight":5,"preference":{"matchExpressions":[{"key":"gpus","operator":"Gt","values":["4"]}]}},
         {"weight":100,"preference":{"matchExpressions":[{"key":"pool","operator":"In","values":["b"]}]}}]}}})");
  EXPECT_EQ(affinity.preference("n1", kZoneOne), 15);
  EXPECT_EQ(affinity.preference("n1", {}), 0);
}

TEST(NodeAffinityTest, NamesAnOperatorThatThereIsNot) {
  DecodeErrors errors("pod p");
  const Json spec = parseJson(R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
      {"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Like"}]}]}}}})")
                        .value();
  decodeNodeAffinity(Cursor(spec, errors));
  ASSERT_EQ(errors.lines().size(), 1u);
  EXPECT_NE(errors.lines()[0].find("Like"), std::string::npos);
}

}  // namespace
}  // namespace mainstay::api
