#include "api/core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainstay::api {
namespace {

using testing::HasSubstr;

Json node(std::string_view text) {
  return parseJson(text).value();
}

TEST(QuantityTest, ReadsDecimalAndBinarySuffixesExactly) {
  EXPECT_EQ(parseQuantity("500m"), 500);
  EXPECT_EQ(parseQuantity("2"), 2000);
  EXPECT_EQ(parseQuantity("1Ki"), 1024000);
  EXPECT_EQ(parseQuantity("1.5Gi"), 1610612736000);
  EXPECT_EQ(parseQuantity("1e3"), 1000000);
  EXPECT_EQ(parseQuantity("1u"), 1) << "rounds up";
  for (const char* bad : {"", "x", "1Q", "1 Gi", "99999999E"}) {
    EXPECT_FALSE(parseQuantity(bad)) << bad;
  }
}

TEST(ResourcesTest, AMissingResourceIsZero) {
  EXPECT_TRUE(fits({{"cpu", 1000}}, {{"cpu", 1000}}));
  EXPECT_FALSE(fits({{"cpu", 1001}}, {{"cpu", 1000}}));
  EXPECT_FALSE(fits({{"aws.amazon.com/neuron", 1000}}, {{"cpu", 1000}}));
  EXPECT_TRUE(fits({{"aws.amazon.com/neuron", 0}}, {}));
}

TEST(LabelSelectorTest, ReadsEveryForm) {
  const auto selector = parseLabelSelector("a=b, c!=d,e in (f, g),!h,i").value();

  EXPECT_TRUE(selector.matches({{"a", "b"}, {"e", "g"}, {"i", ""}}));
  EXPECT_FALSE(selector.matches({{"a", "b"}, {"e", "x"}, {"i", ""}}));
  EXPECT_FALSE(selector.matches({{"a", "b"}, {"e", "f"}, {"i", ""}, {"c", "d"}}));
  EXPECT_FALSE(selector.matches({{"a", "b"}, {"e", "f"}, {"i", ""}, {"h", "1"}}));
  EXPECT_FALSE(selector.matches({{"a", "b"}, {"e", "f"}}));
  EXPECT_EQ(selector.toString(), "a=b,c!=d,e in (f,g),!h,i");
}

TEST(LabelSelectorTest, RefusesNonsense) {
  for (const char* text : {"=b", ",", "a in b", "a=b,,c", "(a)"}) {
    EXPECT_FALSE(parseLabelSelector(text)) << text;
  }
  EXPECT_TRUE(parseLabelSelector(" ").value().requirements.empty());
}

TEST(ResourceTest, KnowsItsPaths) {
  EXPECT_EQ(kNodes.path("", "a", "status"), "/api/v1/nodes/a/status");
  EXPECT_EQ(kPods.path("x"), "/api/v1/namespaces/x/pods");
  EXPECT_EQ(kPods.path(), "/api/v1/pods");
  EXPECT_EQ(kPyTorchJobs.path("x", "j"), "/apis/kubeflow.org/v1/namespaces/x/pytorchjobs/j");
}

TEST(DecodeNodeTest, ReadsWhatWeUse) {
  const Json object = node(R"({"metadata":{"name":"a","uid":"u","labels":{"l":"1"}},
    "spec":{"providerID":"aws:///z/i-1","unschedulable":true,"taints":[{"key":"k","effect":"NoSchedule"}]},
    "status":{"conditions":[{"type":"Ready","status":"True"}],"allocatable":{"cpu":"2","pods":110},
    "nodeInfo":{"bootID":"b"}}})");

  const Node decoded = decodeNode(object).value();

  EXPECT_TRUE(decoded.ready());
  EXPECT_TRUE(decoded.unschedulable);
  EXPECT_EQ(identityOf(decoded), (NodeIdentity{"a", "u", "aws:///z/i-1", "b"}));
  EXPECT_EQ(decoded.taints, (std::vector<Taint>{{"k", "", "NoSchedule"}}));
  EXPECT_EQ(decoded.allocatable.at("pods"), 110000);
}

TEST(DecodeNodeTest, NamesEveryWrongField) {
  const auto result = decodeNode(node(
      R"({"metadata":{"name":"a"},"spec":{"unschedulable":"yes"},"status":{"allocatable":{"cpu":"x"}}})"));

  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().toString(),
              HasSubstr("node a: spec.unschedulable: expected true or false, found a string"));
  EXPECT_THAT(result.error().toString(), HasSubstr("status.allocatable.cpu: \"x\" is not a quantity"));
}

TEST(DecodePodTest, SumsContainersAndTakesTheLargestInitContainer) {
  const Pod pod = decodePod(node(R"({"metadata":{"name":"p","namespace":"n"},"spec":{
    "initContainers":[{"resources":{"requests":{"cpu":"4"}}}],
    "containers":[{"resources":{"requests":{"cpu":"1"}}},{"resources":{"limits":{"cpu":"2","aws.amazon.com/neuron":16}}}]}})"))
                      .value();

  EXPECT_EQ(pod.requests, (Resources{{"cpu", 4000}, {"aws.amazon.com/neuron", 16000}, {"pods", 1000}}));
  EXPECT_EQ(pod.phase, "Pending");
}

TEST(MatchesNodeTest, HonoursTaintsSelectorsAffinityAndCordon) {
  Node n;
  n.meta.labels = {{"pool", "a"}};
  Pod pod;
  EXPECT_TRUE(matchesNode(pod, n));

  pod.nodeAffinity.nodeSelector = {{"pool", "b"}};
  EXPECT_FALSE(matchesNode(pod, n));
  pod.nodeAffinity.nodeSelector = {{"pool", "a"}};
  pod.nodeAffinity.required = {{.labels = {{"pool", NodeRequirement::Op::kDoesNotExist, {}}}}};
  EXPECT_FALSE(matchesNode(pod, n));
  pod.nodeAffinity.required->push_back({.labels = {{"pool", NodeRequirement::Op::kExists, {}}}});
  EXPECT_TRUE(matchesNode(pod, n)) << "one term is enough";

  n.taints = {{"k", "v", "NoSchedule"}};
  EXPECT_FALSE(matchesNode(pod, n));
  pod.tolerations = {{"k", "Equal", "v", "NoSchedule", {}}};
  EXPECT_TRUE(matchesNode(pod, n));

  n.unschedulable = true;
  EXPECT_FALSE(matchesNode(pod, n));
  pod.tolerations = {{"", "Exists", "", "", {}}};
  EXPECT_TRUE(matchesNode(pod, n));
}

}  // namespace
}  // namespace mainstay::api
