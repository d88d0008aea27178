// For tests of the API server: a server in virtual time, and short calls to it.
#pragma once

#include <gtest/gtest.h>

#include "local/api/api_server.h"
#include "local/api/direct_api.h"

namespace mainstay::local {

class ApiServerTest : public testing::Test {
 protected:
  void TearDown() override {
    if (housekeeper_) {
      time_.stop(*housekeeper_);
    }
  }
  void startHousekeeper() {
    housekeeper_ = server_.housekeeper();
    time_.start(housekeeper_);
  }

  static Json json(std::string_view text) {
    auto parsed = parseJson(text);
    EXPECT_TRUE(parsed) << text;
    return parsed ? *std::move(parsed) : Json();
  }

  Answer get(const std::string& path, const std::string& query = "") {
    return server_.call({.method = "GET", .path = path, .query = parseQuery(query)});
  }
  Answer create(const std::string& path, std::string_view body,
                const std::string& query = "fieldManager=test") {
    return server_.call({.method = "POST",
                         .path = path,
                         .query = parseQuery(query),
                         .kind = kube::Body::kJson,
                         .body = json(body)});
  }
  Answer put(const std::string& path, const Json& body) {
    return server_.call(
        {.method = "PUT", .path = path, .query = {}, .kind = kube::Body::kJson, .body = body});
  }
  Answer patch(const std::string& path, std::string_view body, kube::Body type = kube::Body::kMergePatch,
               const std::string& manager = "test") {
    return server_.call({.method = "PATCH",
                         .path = path,
                         .query = {{"fieldManager", manager}},
                         .kind = type,
                         .body = json(body)});
  }
  Answer remove(const std::string& path, std::string_view options = "{}") {
    return server_.call(
        {.method = "DELETE", .path = path, .query = {}, .kind = kube::Body::kJson, .body = json(options)});
  }

  // A minimal node, and a pod that is bound and Running where `node` is given.
  void createNode(const std::string& name) {
    ASSERT_EQ(create("/api/v1/nodes", R"({"metadata":{"name":")" + name + R"("}})").status, 201);
  }
  void createPod(const std::string& name, const std::string& node = "", const std::string& metadata = "") {
    const std::string where = node.empty() ? "" : R"(,"nodeName":")" + node + R"(")";
    const std::string body = R"({"metadata":{"name":")" + name + R"(")" + metadata +
                             R"(},"spec":{"containers":[{"name":"c","image":"i"}])" + where + "}}";
    ASSERT_EQ(create("/api/v1/namespaces/default/pods", body).status, 201);
  }
  static std::string podPath(const std::string& name) { return "/api/v1/namespaces/default/pods/" + name; }

  VirtualDriver time_{TimePoint(std::chrono::hours(24 * 365 * 50)), 1};
  ApiServer server_{time_, {}};
  DirectApi api_{server_};
  std::shared_ptr<Loop> housekeeper_;
};

}  // namespace mainstay::local
