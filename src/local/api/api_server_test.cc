#include "local/api/api_server.h"

#include "local/api/api_server_testing.h"

namespace mainstay::local {
namespace {

constexpr char kNodesPath[] = "/api/v1/nodes";
constexpr char kPodsPath[] = "/api/v1/namespaces/default/pods";

TEST_F(ApiServerTest, FillsInTheMetadataOfANewObject) {
  const Answer answer = create(kNodesPath, R"({"metadata":{"name":"a","labels":{"x":"y"}},"spec":{}})");

  ASSERT_EQ(answer.status, 201);
  EXPECT_EQ(findString(answer.body, "kind"), "Node");
  EXPECT_EQ(findString(answer.body, "apiVersion"), "v1");
  EXPECT_EQ(findString(answer.body, "metadata", "uid").size(), 36u);
  EXPECT_EQ(findString(answer.body, "metadata", "creationTimestamp"), formatTime(time_.now()));
  EXPECT_FALSE(findString(answer.body, "metadata", "resourceVersion").empty());
  EXPECT_EQ(get("/api/v1/nodes/a").body, answer.body);
}

TEST_F(ApiServerTest, AnswersInTheWordsOfKubernetesWhenSomethingIsMissingOrThere) {
  createNode("a");

  const Answer missing = get("/api/v1/nodes/b");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.body, json(R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",
      "message":"nodes \"b\" not found","reason":"NotFound","details":{"name":"b","kind":"nodes"},"code":404})"));
  const Answer twice = create(kNodesPath, R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(twice.status, 409);
  EXPECT_EQ(findString(twice.body, "reason"), "AlreadyExists");
  EXPECT_EQ(findString(twice.body, "message"), "nodes \"a\" already exists");
  EXPECT_EQ(get("/api/v1/unheardof").status, 404);
  EXPECT_EQ(create("/api/v1/namespaces/nowhere/pods", "{}").status, 404);
}

TEST_F(ApiServerTest, MakesUpANameThatBeginsAsAsked) {
  const Answer first =
      create("/api/v1/namespaces/default/configmaps", R"({"metadata":{"generateName":"c-"}})");
  const Answer second =
      create("/api/v1/namespaces/default/configmaps", R"({"metadata":{"generateName":"c-"}})");

  const std::string name = findString(first.body, "metadata", "name");
  EXPECT_TRUE(name.starts_with("c-"));
  EXPECT_EQ(name.size(), 7u);
  EXPECT_NE(name, findString(second.body, "metadata", "name"));
}

TEST_F(ApiServerTest, RefusesAWriteOnAnOldResourceVersion) {
  createNode("a");
  const Json old = get("/api/v1/nodes/a").body;
  ASSERT_EQ(patch("/api/v1/nodes/a", R"({"metadata":{"labels":{"x":"1"}}})").status, 200);

  const Answer conflict = put("/api/v1/nodes/a", old);

  EXPECT_EQ(conflict.status, 409);
  EXPECT_EQ(findString(conflict.body, "reason"), "Conflict");
  EXPECT_EQ(findString(conflict.body, "message"),
            "Operation cannot be fulfilled on nodes \"a\": the object has been modified; please apply your "
            "changes to "
            "the latest version and try again");
  EXPECT_EQ(patch("/api/v1/nodes/a", R"({"metadata":{"resourceVersion":"1"}})").status, 409);
  EXPECT_EQ(put("/api/v1/nodes/a", get("/api/v1/nodes/a").body).status, 200);
}

TEST_F(ApiServerTest, WritesNothingWhenNothingChanges) {
  createNode("a");
  const Json before = get("/api/v1/nodes/a").body;

  EXPECT_EQ(patch("/api/v1/nodes/a", R"({"spec":{}})", kube::Body::kMergePatch, "somebody").body, before);
}

TEST_F(ApiServerTest, KeepsSpecAndStatusApart) {
  createNode("a");

  const Answer status = patch("/api/v1/nodes/a/status",
                              R"({"metadata":{"annotations":{"f":"1"}},"spec":{"unschedulable":true},
                                  "status":{"phase":"x"}})");
  const Answer main = patch("/api/v1/nodes/a", R"({"spec":{"unschedulable":true},"status":{"phase":"y"}})");

  EXPECT_EQ(find(status.body, "spec", "unschedulable"), nullptr);
  EXPECT_EQ(findString(status.body, "metadata", "annotations", "f"),
            "1");  // of built-in kinds the status writes these too
  EXPECT_EQ(findString(main.body, "status", "phase"), "x");
  EXPECT_TRUE(find(main.body, "spec", "unschedulable")->as_bool());
}

TEST_F(ApiServerTest, KeepsTheProviderIdOfANode) {
  createNode("a");
  ASSERT_EQ(patch("/api/v1/nodes/a", R"({"spec":{"providerID":"aws:///z/i-1"}})").status, 200);

  const Answer changed = patch("/api/v1/nodes/a", R"({"spec":{"providerID":"aws:///z/i-2"}})");

  EXPECT_EQ(changed.status, 422);
  EXPECT_EQ(findString(changed.body, "message"),
            "Node \"a\" is invalid: spec.providerID: Forbidden: node updates may not change providerID "
            "except from \"\" "
            "to valid");
}

TEST_F(ApiServerTest, RefusesNamesAndLabelsThatKubernetesRefuses) {
  EXPECT_EQ(create(kNodesPath, R"({"metadata":{"name":"A_b"}})").status, 422);
  EXPECT_EQ(create(kNodesPath, R"({"metadata":{}})").status, 422);
  EXPECT_EQ(create(kNodesPath, R"({"metadata":{"name":"a","labels":{"x":"not good"}}})").status, 422);
  EXPECT_EQ(create(kNodesPath, R"({"metadata":{"name":"a","labels":{"-x":"y"}}})").status, 422);
  EXPECT_EQ(
      create(kNodesPath, R"({"metadata":{"name":"a"},"spec":{"taints":[{"key":"k","effect":"Never"}]}})")
          .status,
      422);
  EXPECT_EQ(create(kPodsPath, R"({"metadata":{"name":"p"},"spec":{}})").status, 422);
  EXPECT_EQ(create(kNodesPath, R"([1])").status, 400);
  EXPECT_EQ(create(kNodesPath, R"({"kind":"Pod","metadata":{"name":"a"}})").status, 400);
}

TEST_F(ApiServerTest, SelectsByLabelsAndFields) {
  createPod("p1", "n1", R"(,"labels":{"app":"x"})");
  createPod("p2", "n2", R"(,"labels":{"app":"y"})");
  createPod("p3");
  const auto names = [&](const std::string& query) {
    std::string all;
    const Answer answer = get("/api/v1/pods", query);
    if (answer.status != 200) {
      return std::to_string(answer.status);
    }
    for (const Json& item : answer.body.as_object().at("items").as_array()) {
      all += findString(item, "metadata", "name") + " ";
    }
    return all;
  };

  EXPECT_EQ(names(""), "p1 p2 p3 ");
  EXPECT_EQ(names("labelSelector=app%3Dx"), "p1 ");
  EXPECT_EQ(names("labelSelector=app+in+(x,y)"), "p1 p2 ");
  EXPECT_EQ(names("fieldSelector=spec.nodeName%3Dn2"), "p2 ");
  EXPECT_EQ(names("fieldSelector=spec.nodeName!%3Dn2,status.phase!%3DFailed"), "p1 p3 ");
  EXPECT_EQ(names("fieldSelector=metadata.name%3Dp3"), "p3 ");
  EXPECT_EQ(names("fieldSelector=spec.color%3Dred"), "400");
}

TEST_F(ApiServerTest, PagesThroughTheWorldAsItStoodAtTheFirstPage) {
  for (const char* name : {"a", "b", "c", "d"}) {
    createNode(name);
  }
  const Answer first = get(kNodesPath, "limit=2");
  ASSERT_EQ(remove("/api/v1/nodes/c").status, 200);
  createNode("e");

  const std::string token = findString(first.body, "metadata", "continue");
  const Answer second = get(kNodesPath, "limit=2&continue=" + percentEncode(token));

  EXPECT_EQ(find(first.body, "metadata", "remainingItemCount")->as_int64(), 2);
  EXPECT_EQ(findString(first.body, "metadata", "resourceVersion"),
            findString(second.body, "metadata", "resourceVersion"));
  const JsonArray& rest = second.body.as_object().at("items").as_array();
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(findString(rest[0], "metadata", "name"), "c");
  EXPECT_EQ(findString(rest[1], "metadata", "name"), "d");
  EXPECT_EQ(findString(second.body, "metadata", "continue"), "");
  server_.compact();
  EXPECT_EQ(get(kNodesPath, "limit=2&continue=" + percentEncode(token)).status, 410);
  EXPECT_EQ(get(kNodesPath, "continue=nonsense").status, 400);
  EXPECT_EQ(get(kPodsPath, "continue=7:kube-system/p").status, 400);
}

TEST_F(ApiServerTest, AsksAPodToStopAndDeletesItWhenTheKubeletConfirms) {
  createPod("p", "n1");
  const std::string uid = findString(get(podPath("p")).body, "metadata", "uid");

  const Answer asked = remove(podPath("p"), R"({"gracePeriodSeconds":5})");
  EXPECT_EQ(findString(asked.body, "metadata", "deletionTimestamp"),
            formatTime(time_.now() + std::chrono::seconds(5)));
  EXPECT_EQ(get(podPath("p")).status, 200);
  EXPECT_EQ(remove(podPath("p"), R"({"gracePeriodSeconds":0,"preconditions":{"uid":"other"}})").status, 409);
  EXPECT_EQ(remove(podPath("p"), R"({"gracePeriodSeconds":0,"preconditions":{"uid":")" + uid + "\"}}").status,
            200);
  EXPECT_EQ(get(podPath("p")).status, 404);
}

TEST_F(ApiServerTest, WaitsForNobodyWhenAPodHasNoNode) {
  createPod("p");
  EXPECT_EQ(remove(podPath("p")).status, 200);
  EXPECT_EQ(get(podPath("p")).status, 404);
}

TEST_F(ApiServerTest, KeepsAnObjectUntilItsLastFinalizerGoes) {
  ASSERT_EQ(create(kNodesPath, R"({"metadata":{"name":"a","finalizers":["x.io/hold"]}})").status, 201);

  EXPECT_EQ(remove("/api/v1/nodes/a").status, 200);
  EXPECT_FALSE(findString(get("/api/v1/nodes/a").body, "metadata", "deletionTimestamp").empty());
  EXPECT_EQ(patch("/api/v1/nodes/a", R"({"metadata":{"finalizers":null}})").status, 200);
  EXPECT_EQ(get("/api/v1/nodes/a").status, 404);
}

TEST_F(ApiServerTest, StoresNothingInADryRun) {
  EXPECT_EQ(create(kNodesPath, R"({"metadata":{"name":"a"}})", "dryRun=All").status, 201);
  EXPECT_EQ(get("/api/v1/nodes/a").status, 404);
}

TEST_F(ApiServerTest, FailsOnPurposeJustAsOftenAsAsked) {
  server_.faults().arm({.verb = "get", .path = "/api/v1/nodes", .count = 2, .status = 503});

  EXPECT_EQ(get(kNodesPath).status, 200);  // that is a list
  EXPECT_EQ(get("/api/v1/nodes/a").status, 503);
  EXPECT_EQ(get("/api/v1/nodes/a").status, 503);
  EXPECT_EQ(get("/api/v1/nodes/a").status, 404);
}

TEST_F(ApiServerTest, GivesTypedErrorsToDirectCallers) {
  const auto missing = kube::get(api_, api::kNodes, "", "a");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), Code::kNotFound);
  server_.faults().arm({.status = 429, .reason = "TooManyRequests", .retryAfterSeconds = 7});
  const auto busy = kube::get(api_, api::kNodes, "", "a");
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code(), Code::kResourceExhausted);
  EXPECT_EQ(busy.error().retryAfter(), Duration(std::chrono::seconds(7)));
}

}  // namespace
}  // namespace mainstay::local
