#include "kube/api.h"

#include <gtest/gtest.h>

#include "kube/scripted_api.h"

namespace mainstay::kube {
namespace {

Json status(const char* reason, const char* message = "told so") {
  return JsonObject{{"kind", "Status"}, {"reason", reason}, {"message", message}};
}

Json nodePage(std::vector<std::string> names, const std::string& next, const std::string& version = "7") {
  JsonArray items;
  for (const std::string& name : names) {
    items.push_back(JsonObject{{"metadata", JsonObject{{"name", name}}}});
  }
  return JsonObject{{"metadata", JsonObject{{"resourceVersion", version}, {"continue", next}}},
                    {"items", std::move(items)}};
}

TEST(StatusErrorTest, TellsReasonsApartThatShareAStatus) {
  EXPECT_EQ(statusError(409, status("AlreadyExists"), {}).code(), Code::kAlreadyExists);
  EXPECT_EQ(statusError(409, status("Conflict"), {}).code(), Code::kConflict);
  EXPECT_EQ(statusError(410, status("Expired"), {}).code(), Code::kGone);
  EXPECT_EQ(statusError(410, status("Gone"), {}).code(), Code::kGone);
  EXPECT_EQ(statusError(500, status("ServerTimeout"), {}).code(), Code::kUnavailable);
  EXPECT_EQ(statusError(500, status("InternalError"), {}).code(), Code::kInternal);
  EXPECT_EQ(statusError(504, status("Timeout"), {}).code(), Code::kDeadlineExceeded);
  EXPECT_EQ(statusError(422, status("Invalid"), {}).code(), Code::kInvalidArgument);
}

TEST(StatusErrorTest, GoesByTheHttpStatusWithoutAReason) {
  const std::pair<int, Code> rows[] = {
      {400, Code::kInvalidArgument},   {401, Code::kUnauthenticated}, {403, Code::kPermissionDenied},
      {404, Code::kNotFound},          {409, Code::kConflict},        {410, Code::kGone},
      {429, Code::kResourceExhausted}, {500, Code::kInternal},        {502, Code::kUnavailable},
      {503, Code::kUnavailable},       {504, Code::kDeadlineExceeded}};
  for (const auto& [http, code] : rows) {
    EXPECT_EQ(statusError(http, Json(), {}).code(), code) << http;
  }
}

TEST(StatusErrorTest, QuotesTheMessageOrSomeOfWhatAProxySaid) {
  EXPECT_EQ(statusError(404, status("NotFound", "nodes \"a\" not found"), {}).toString(),
            "nodes \"a\" not found (HTTP 404)");
  const std::string page(100'000, 'x');
  EXPECT_LT(statusError(502, Json(page), {}).toString().size(), 400u);
  EXPECT_EQ(statusError(502, Json(), {}).toString(), "HTTP 502");
}

TEST(StatusErrorTest, KeepsRetryAfterOfTheHeaderElseOfTheBody) {
  Json body = status("TooManyRequests");
  body.get_object()["details"] = JsonObject{{"retryAfterSeconds", 10}};
  EXPECT_EQ(statusError(429, body, std::chrono::seconds(3)).retryAfter(), Duration(std::chrono::seconds(3)));
  EXPECT_EQ(statusError(429, body, {}).retryAfter(), Duration(std::chrono::seconds(10)));
  EXPECT_EQ(statusError(429, status("TooManyRequests"), {}).retryAfter(), std::nullopt);
}

TEST(ApiCallTest, SaysWhatWasBeingDone) {
  ScriptedApi api;
  api.answer(fail(Code::kNotFound, "no"));
  EXPECT_EQ(get(api, api::kPods, "ml", "p-0").error().toString(), "reading Pod ml/p-0: no");
  api.answer(fail(Code::kConflict, "no"));
  EXPECT_EQ(patch(api, api::kNodes, "", "a", Body::kMergePatch, Json(), "me", "status").error().toString(),
            "patching Node a (status): no");
}

TEST(ApiCallTest, WritesNameTheirManagerAndGuard) {
  ScriptedApi api;
  for (int i = 0; i < 3; ++i) {
    api.answer(Json(JsonObject()));
  }
  const Json object =
      JsonObject{{"metadata", JsonObject{{"name", "p-0"}, {"namespace", "ml"}, {"resourceVersion", "5"}}}};
  ASSERT_TRUE(create(api, api::kPods, "ml", object, "me").has_value());
  ASSERT_TRUE(update(api, api::kPods, object, "me", "status").has_value());
  ASSERT_TRUE(patch(api, api::kPods, "ml", "p-0", Body::kJsonPatch, JsonArray(), "me").has_value());
  EXPECT_EQ(api.calls[0].method + " " + api.calls[0].path, "POST /api/v1/namespaces/ml/pods");
  EXPECT_EQ(api.calls[1].method + " " + api.calls[1].path, "PUT /api/v1/namespaces/ml/pods/p-0/status");
  EXPECT_EQ(api.calls[2].method + " " + api.calls[2].path, "PATCH /api/v1/namespaces/ml/pods/p-0");
  EXPECT_EQ(contentType(api.calls[2].kind), "application/json-patch+json");
  for (const ApiRequest& call : api.calls) {
    EXPECT_EQ(queryValue(call.query, "fieldManager"), "me");
    EXPECT_TRUE(call.isWrite());
  }
}

TEST(ApiCallTest, RemovesOnlyTheObjectOfThisUid) {
  ScriptedApi api;
  api.answer(Json(JsonObject()));
  ASSERT_TRUE(remove(api, api::kPods, "ml", "p-0", "uid-1", 0).has_value());
  EXPECT_EQ(api.calls[0].method, "DELETE");
  EXPECT_EQ(findString(api.calls[0].body, "preconditions", "uid"), "uid-1");
  EXPECT_EQ(api.calls[0].body.at("gracePeriodSeconds"), 0);
  api.answer(Json(JsonObject()));
  ASSERT_TRUE(remove(api, api::kPods, "ml", "p-0", "").has_value());
  EXPECT_EQ(find(api.calls[1].body, "preconditions"), nullptr);
  EXPECT_EQ(find(api.calls[1].body, "gracePeriodSeconds"), nullptr);
}

TEST(ApiCallTest, EvictsThroughTheSubresourceAndKeepsTheBudgetsRefusal) {
  ScriptedApi api;
  api.answer(fail(statusError(
      429, status("TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget."),
      std::chrono::seconds(10))));
  const auto evicted = evict(api, "ml", "p-0", "uid-1");
  ASSERT_FALSE(evicted.has_value());
  EXPECT_EQ(evicted.error().code(), Code::kResourceExhausted);
  EXPECT_EQ(evicted.error().retryAfter(), Duration(std::chrono::seconds(10)));
  EXPECT_EQ(api.calls[0].path, "/api/v1/namespaces/ml/pods/p-0/eviction");
  EXPECT_EQ(findString(api.calls[0].body, "apiVersion"), "policy/v1");
  EXPECT_EQ(findString(api.calls[0].body, "deleteOptions", "preconditions", "uid"), "uid-1");
}

TEST(ListTest, ReadsPageAfterPageOfOneSnapshot) {
  ScriptedApi api;
  api.answer(nodePage({"a", "b"}, "token-1"));
  api.answer(nodePage({"c"}, ""));
  const auto all = list(api, api::kNodes, "", {{"labelSelector", "x=y"}});
  ASSERT_TRUE(all.has_value()) << all.error().toString();
  EXPECT_EQ(all->items.size(), 3u);
  EXPECT_EQ(all->resourceVersion, "7");
  EXPECT_EQ(queryValue(api.calls[0].query, "limit"), "500");
  EXPECT_EQ(queryValue(api.calls[0].query, "continue"), "");
  EXPECT_EQ(queryValue(api.calls[1].query, "continue"), "token-1");
  EXPECT_EQ(queryValue(api.calls[1].query, "labelSelector"), "x=y");
}

TEST(ListTest, BeginsAgainUnpagedWhenTheContinueTokenExpired) {
  ScriptedApi api;
  api.answer(nodePage({"a", "b"}, "token-1"));
  api.answer(fail(Code::kGone, "The provided continue parameter is too old"));
  api.answer(nodePage({"b", "c", "d"}, "", "9"));
  const auto all = list(api, api::kNodes);
  ASSERT_TRUE(all.has_value()) << all.error().toString();
  EXPECT_EQ(all->items.size(), 3u);
  EXPECT_EQ(findString(all->items[0], "metadata", "name"), "b");
  EXPECT_EQ(all->resourceVersion, "9");
  EXPECT_EQ(queryValue(api.calls[2].query, "limit"), "");
  EXPECT_EQ(queryValue(api.calls[2].query, "continue"), "");
}

TEST(ListTest, GivesUpOnAListWithoutAnEnd) {
  ScriptedApi api;
  for (int i = 0; i < 2000; ++i) {
    api.answer(nodePage({}, "again"));
  }
  const auto all = list(api, api::kNodes);
  ASSERT_FALSE(all.has_value());
  EXPECT_EQ(all.error().code(), Code::kResourceExhausted);
}

TEST(ListTest, RefusesAnAnswerThatIsNoList) {
  ScriptedApi api;
  for (const Json& body :
       {Json(JsonObject()), Json("ok"), Json(JsonArray()), Json(),
        Json(JsonObject{{"items", 3}, {"metadata", JsonObject{{"resourceVersion", "1"}}}})}) {
    api.answer(body);
    const auto all = list(api, api::kNodes);
    ASSERT_FALSE(all.has_value());
    EXPECT_NE(all.error().toString().find("not a list"), std::string::npos);
  }
  api.answer(Json(JsonObject{{"items", nullptr}, {"metadata", JsonObject{{"resourceVersion", "1"}}}}));
  EXPECT_TRUE(list(api, api::kNodes).has_value()) << "Go writes an empty list as null";
}

}  // namespace
}  // namespace mainstay::kube
