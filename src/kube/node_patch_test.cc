#include "kube/node_patch.h"

#include <gtest/gtest.h>

#include "kube/scripted_api.h"

namespace mainstay::kube {
namespace {

const api::Taint kOurTaint{.key = "health", .value = "bad", .effect = "NoSchedule"};

Json nodeWith(const char* spec, const char* version = "5") {
  Json node = parseJson(spec).value();
  mergePatch(
      node, JsonObject{{"metadata", JsonObject{{"name", "a"}, {"uid", "u1"}, {"resourceVersion", version}}}});
  return node;
}

DecideNodeChange always(NodeChange change) {
  return [change](const Json&) -> Result<NodeChange> { return change; };
}

TEST(NodePatchTest, KeepsForeignTaintsByteForByte) {
  const Json node = nodeWith(R"({"spec":{"taints":[
      {"key":"foreign","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z"}]}})");
  const auto patch = nodePatch(node, {.addTaints = {kOurTaint}});
  ASSERT_TRUE(patch.has_value());
  EXPECT_EQ(*patch, parseJson(R"({"metadata":{"resourceVersion":"5"},"spec":{"taints":[
      {"key":"foreign","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z"},
      {"key":"health","effect":"NoSchedule","value":"bad"}]}})")
                        .value());
}

TEST(NodePatchTest, ReplacesATaintOfTheSameKeyAndEffect) {
  const Json node = nodeWith(R"({"spec":{"taints":[{"key":"health","value":"old","effect":"NoSchedule"},
      {"key":"health","value":"old","effect":"NoExecute"}]}})");
  const auto patch = nodePatch(node, {.addTaints = {kOurTaint}});
  ASSERT_TRUE(patch.has_value());
  EXPECT_EQ(patch->at("spec").at("taints").as_array().size(), 2u);
  EXPECT_EQ(findString(patch->at("spec").at("taints").at(0), "value"), "bad");
  EXPECT_EQ(findString(patch->at("spec").at("taints").at(1), "value"), "old");
}

TEST(NodePatchTest, RemovesOnlyTheTaintThatIsExactlyOurs) {
  const char* const spec = R"({"spec":{"taints":[{"key":"health","value":"VALUE","effect":"NoSchedule"}]}})";
  std::string ours = spec;
  ours.replace(ours.find("VALUE"), 5, "bad");
  const auto patch = nodePatch(nodeWith(ours.c_str()), {.removeTaints = {kOurTaint}});
  ASSERT_TRUE(patch.has_value());
  EXPECT_TRUE(patch->at("spec").at("taints").is_null());
  EXPECT_FALSE(nodePatch(nodeWith(spec), {.removeTaints = {kOurTaint}}).has_value());
}

TEST(NodePatchTest, ChangesLabelsAnnotationsAndCordonInOneGuardedPatch) {
  const Json node = nodeWith(R"({"metadata":{"labels":{"keep":"1","drop":"2","same":"3"}},"spec":{}})");
  const auto patch = nodePatch(node, {.labels = {{"drop", std::nullopt}, {"same", "3"}, {"new", "4"}},
                                      .annotations = {{"note", "x"}, {"absent", std::nullopt}},
                                      .unschedulable = true});
  ASSERT_TRUE(patch.has_value());
  EXPECT_EQ(*patch, parseJson(R"({"metadata":{"labels":{"drop":null,"new":"4"},"annotations":{"note":"x"},
      "resourceVersion":"5"},"spec":{"unschedulable":true}})")
                        .value());
}

TEST(NodePatchTest, IsNothingWhenTheNodeIsSoAlready) {
  const Json node = nodeWith(R"({"metadata":{"labels":{"l":"1"}},"spec":{"unschedulable":true,
      "taints":[{"key":"health","value":"bad","effect":"NoSchedule"}]}})");
  EXPECT_FALSE(
      nodePatch(node, {.labels = {{"l", "1"}}, .addTaints = {kOurTaint}, .unschedulable = true}).has_value());
}

TEST(NodePatchTest, SurvivesNodesOfWrongShape) {
  for (const char* text : {"{}", R"({"spec":null})", R"({"spec":{"taints":"x","unschedulable":"yes"}})",
                           R"({"spec":{"taints":[1,null,{"key":7}]},"metadata":{"labels":[]}})"}) {
    EXPECT_TRUE(nodePatch(nodeWith(text), {.labels = {{"l", "1"}}, .addTaints = {kOurTaint}}).has_value())
        << text;
  }
}

TEST(ChangeNodeTest, ReadsAgainWhenSomebodyWroteInBetween) {
  ScriptedApi api;
  api.answer(nodeWith(R"({"spec":{}})", "5"));
  api.answer(fail(Code::kConflict, "the object has been modified"));
  api.answer(nodeWith(R"({"spec":{"taints":[{"key":"foreign","effect":"NoSchedule"}]}})", "6"));
  api.answer(nodeWith("{}", "7"));
  const auto node = changeNode(api, "a", "u1", always({.addTaints = {kOurTaint}}), "me");
  ASSERT_TRUE(node.has_value()) << node.error().toString();
  EXPECT_EQ(findString(*node, "metadata", "resourceVersion"), "7");
  const Json& second = api.calls[3].body;
  EXPECT_EQ(findString(second, "metadata", "resourceVersion"), "6");
  EXPECT_EQ(second.at("spec").at("taints").as_array().size(), 2u);
  EXPECT_EQ(api.calls[3].kind, Body::kMergePatch);
}

api::Node cachedNode(std::vector<api::Taint> taints = {}) {
  api::Node node;
  node.meta.name = "a";
  node.meta.uid = "u1";
  node.meta.resourceVersion = "5";
  node.taints = std::move(taints);
  return node;
}

TEST(ChangeNodeTest, ACachedNodeSavesTheFirstRead) {
  ScriptedApi api;
  api.answer(nodeWith("{}", "6"));
  const auto known = asRead(cachedNode({{"foreign", "", "NoSchedule"}}));
  ASSERT_TRUE(changeNode(api, "a", "u1", always({.addTaints = {kOurTaint}}), "me", known));
  ASSERT_EQ(api.calls.size(), 1u);
  EXPECT_EQ(findString(api.calls[0].body, "metadata", "resourceVersion"), "5");
  EXPECT_EQ(api.calls[0].body.at("spec").at("taints").as_array().size(), 2u);
}

TEST(ChangeNodeTest, AnOutdatedCacheIsFollowedByARead) {
  ScriptedApi api;
  api.answer(fail(Code::kConflict, "the object has been modified"));
  api.answer(nodeWith(R"({"spec":{}})", "6"));
  api.answer(nodeWith("{}", "7"));
  ASSERT_TRUE(changeNode(api, "a", "u1", always({.addTaints = {kOurTaint}}), "me", asRead(cachedNode())));
  EXPECT_EQ(api.calls.size(), 3u);
}

TEST(ChangeNodeTest, TheCacheDoesNotTellThatNothingIsToBeDone) {
  ScriptedApi api;
  api.answer(nodeWith(R"({"spec":{}})", "6"));
  api.answer(nodeWith("{}", "7"));
  api::Node node = cachedNode();
  node.unschedulable = true;
  ASSERT_TRUE(changeNode(api, "a", "u1", always({.unschedulable = true}), "me", asRead(node)));
  EXPECT_EQ(api.calls.size(), 2u) << "read, and then written after all";
}

TEST(AsReadTest, ATimeThatTheCacheDoesNotHoldIsNotLost) {
  EXPECT_FALSE(asRead(cachedNode({{"foreign", "", "NoExecute"}})));
}

TEST(ChangeNodeTest, GivesUpAfterFiveConflicts) {
  ScriptedApi api;
  for (int i = 0; i < 5; ++i) {
    api.answer(nodeWith("{}"));
    api.answer(fail(Code::kConflict, "the object has been modified"));
  }
  const auto node = changeNode(api, "a", "u1", always({.unschedulable = true}), "me");
  ASSERT_FALSE(node.has_value());
  EXPECT_EQ(node.error().code(), Code::kConflict);
  EXPECT_EQ(api.calls.size(), 10u);
}

TEST(ChangeNodeTest, LeavesANodeAloneThatOnlyHasTheName) {
  ScriptedApi api;
  api.answer(nodeWith("{}"));
  const auto node = changeNode(api, "a", "u0", always({.unschedulable = true}), "me");
  ASSERT_FALSE(node.has_value());
  EXPECT_EQ(node.error().code(), Code::kFailedPrecondition);
  EXPECT_EQ(api.calls.size(), 1u);
}

TEST(ChangeNodeTest, WritesNothingWhenThereIsNothingToChange) {
  ScriptedApi api;
  api.answer(nodeWith(R"({"spec":{"unschedulable":true}})"));
  const auto node = changeNode(api, "a", "", always({.unschedulable = true}), "me");
  ASSERT_TRUE(node.has_value());
  EXPECT_EQ(api.calls.size(), 1u);
}

TEST(ChangeNodeTest, EndsWithTheDecisionsError) {
  ScriptedApi api;
  api.answer(nodeWith("{}"));
  const auto refuse = [](const Json&) -> Result<NodeChange> {
    return fail(Code::kFailedPrecondition, "the incident is closed");
  };
  EXPECT_EQ(changeNode(api, "a", "u1", refuse, "me").error().code(), Code::kFailedPrecondition);
  EXPECT_EQ(api.calls.size(), 1u);
}

}  // namespace
}  // namespace mainstay::kube
