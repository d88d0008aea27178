#include "local/api/patch.h"

#include <gtest/gtest.h>

namespace mainstay::local {
namespace {

Json parsed(std::string_view text) {
  auto value = parseJson(text);
  EXPECT_TRUE(value) << text;
  return value ? *std::move(value) : Json();
}

// What is left of `target` after the patch, or the code of the refusal.
Json strategic(std::string_view target, std::string_view patch) {
  Json value = parsed(target);
  const auto applied = applyStrategicMerge(value, parsed(patch));
  return applied ? value : Json(applied.error().code);
}

Json jsonPatched(std::string_view target, std::string_view patch) {
  Json value = parsed(target);
  const auto applied = applyJsonPatch(value, parsed(patch));
  return applied ? value : Json(applied.error().code);
}

TEST(StrategicMergeTest, MergesConditionsByTheirType) {
  EXPECT_EQ(
      strategic(
          R"({"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"X","status":"True","reason":"r"}]}})",
          R"({"status":{"conditions":[{"type":"X","status":"False"},{"type":"Y","status":"True"}]}})"),
      parsed(
          R"({"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"X","status":"False","reason":"r"},
                                               {"type":"Y","status":"True"}]}})"));
}

TEST(StrategicMergeTest, ReplacesTaintsAndTolerationsAsAWhole) {
  EXPECT_EQ(strategic(R"({"spec":{"taints":[{"key":"foreign","effect":"NoSchedule"}]}})",
                      R"({"spec":{"taints":[{"key":"ours","effect":"NoSchedule"}]}})"),
            parsed(R"({"spec":{"taints":[{"key":"ours","effect":"NoSchedule"}]}})"));
  EXPECT_EQ(strategic(R"({"spec":{"tolerations":[{"key":"a"}]}})", R"({"spec":{"tolerations":[]}})"),
            parsed(R"({"spec":{"tolerations":[]}})"));
}

TEST(StrategicMergeTest, MergesContainersAndWhatIsInsideThem) {
  EXPECT_EQ(
      strategic(
          R"({"containers":[{"name":"a","image":"i","env":[{"name":"X","value":"1"}],"ports":[{"containerPort":1}]},
                                  {"name":"b","image":"j"}]})",
          R"({"containers":[{"name":"a","env":[{"name":"X","value":"2"},{"name":"Y","value":"3"}],
                                   "ports":[{"containerPort":2}]}]})"),
      parsed(
          R"({"containers":[{"name":"a","image":"i","env":[{"name":"X","value":"2"},{"name":"Y","value":"3"}],
                                "ports":[{"containerPort":1},{"containerPort":2}]},{"name":"b","image":"j"}]})"));
}

TEST(StrategicMergeTest, TreatsFinalizersAsASetAndOwnersByUid) {
  EXPECT_EQ(strategic(R"({"metadata":{"finalizers":["a"],"ownerReferences":[{"uid":"1","name":"x"}]}})",
                      R"({"metadata":{"finalizers":["a","b"],"ownerReferences":[{"uid":"1","name":"y"}]}})"),
            parsed(R"({"metadata":{"finalizers":["a","b"],"ownerReferences":[{"uid":"1","name":"y"}]}})"));
  EXPECT_EQ(strategic(R"({"metadata":{"finalizers":["a","b"]}})",
                      R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a"]}})"),
            parsed(R"({"metadata":{"finalizers":["b"]}})"));
}

TEST(StrategicMergeTest, ObeysPatchDirectives) {
  EXPECT_EQ(
      strategic(
          R"({"containers":[{"name":"a"},{"name":"b"}]})",
          R"({"containers":[{"name":"a","$patch":"delete"}],"$setElementOrder/containers":[{"name":"b"}]})"),
      parsed(R"({"containers":[{"name":"b"}]})"));
  EXPECT_EQ(
      strategic(
          R"({"conditions":[{"type":"A"},{"type":"B"}]})",
          R"({"conditions":[{"type":"C"},{"type":"A","$patch":"delete"},{"$patch":"delete","type":"D"}]})"),
      parsed(R"({"conditions":[{"type":"B"},{"type":"C"}]})"));
  EXPECT_EQ(strategic(R"({"containers":[{"name":"a"},{"name":"b"}]})",
                      R"({"containers":[{"$patch":"replace"},{"name":"c"}]})"),
            parsed(R"({"containers":[{"name":"c"}]})"));
  EXPECT_EQ(strategic(R"({"m":{"a":1,"b":2}})", R"({"m":{"$patch":"replace","c":3}})"),
            parsed(R"({"m":{"c":3}})"));
  EXPECT_EQ(strategic(R"({"m":{"a":1,"b":2}})", R"({"m":{"$retainKeys":["b","c"],"c":3}})"),
            parsed(R"({"m":{"b":2,"c":3}})"));
  EXPECT_EQ(strategic(R"({"m":{"a":1}})", R"({"m":{"$patch":"explode"}})"), Json(400));
}

TEST(StrategicMergeTest, RemovesWhatIsNull) {
  EXPECT_EQ(strategic(R"({"a":1,"m":{"b":2,"c":3}})", R"({"a":null,"m":{"b":null}})"),
            parsed(R"({"m":{"c":3}})"));
}

TEST(StrategicMergeTest, RefusesAnElementWithoutItsKey) {
  EXPECT_EQ(strategic(R"({"containers":[{"name":"a"}]})", R"({"containers":[{"image":"x"}]})"), Json(400));
  EXPECT_EQ(strategic("{}", "[]"), Json(400));
}

TEST(JsonPatchTest, AppliesEveryOperation) {
  EXPECT_EQ(jsonPatched(R"({"a":{"b":[1,2]},"x/y":1,"t~":2})",
                        R"([{"op":"test","path":"/a/b/1","value":2},
                            {"op":"add","path":"/a/b/-","value":3},
                            {"op":"add","path":"/a/b/0","value":0},
                            {"op":"remove","path":"/x~1y"},
                            {"op":"replace","path":"/t~0","value":9},
                            {"op":"copy","from":"/a/b","path":"/c"},
                            {"op":"move","from":"/c/0","path":"/d"}])"),
            parsed(R"({"a":{"b":[0,1,2,3]},"t~":9,"c":[1,2,3],"d":0})"));
}

TEST(JsonPatchTest, RefusesWhatDoesNotApply) {
  for (const char* patch :
       {R"([{"op":"test","path":"/a","value":2}])", R"([{"op":"remove","path":"/b"}])",
        R"([{"op":"replace","path":"/b/c","value":1}])", R"([{"op":"add","path":"/b/c","value":1}])",
        R"([{"op":"move","from":"/b","path":"/c"}])", R"([{"op":"jump","path":"/a"}])",
        R"([{"op":"add","path":"a"}])", R"([{"op":"remove","path":""}])"}) {
    EXPECT_EQ(jsonPatched(R"({"a":1})", patch), Json(422)) << patch;
  }
  EXPECT_EQ(jsonPatched("{}", "{}"), Json(400));
}

TEST(JsonPatchTest, ReplacesAMemberThatIsNotThere) {
  EXPECT_EQ(jsonPatched(R"({"a":1})", R"([{"op":"replace","path":"/b","value":2}])"),
            parsed(R"({"a":1,"b":2})"));
  EXPECT_EQ(jsonPatched(R"({"a":[]})", R"([{"op":"replace","path":"/a/0","value":2}])"), Json(422));
}

TEST(JsonPatchTest, StopsAPatchThatBlowsTheDocumentUp) {
  std::string patch = "[";
  for (int i = 0; i < 40; ++i) {
    patch +=
        std::string(i > 0 ? "," : "") + R"({"op":"copy","from":"","path":"/x)" + std::to_string(i) + "\"}";
  }
  EXPECT_EQ(jsonPatched(R"({"a":"some text"})", patch + "]"), Json(422));

  std::string nesting = "[";
  for (int i = 0; i < 100; ++i) {
    nesting += std::string(i > 0 ? "," : "") + R"({"op":"copy","from":"","path":"/x"})";
  }
  EXPECT_EQ(jsonPatched("{}", nesting + "]"), Json(422));
}

}  // namespace
}  // namespace mainstay::local
