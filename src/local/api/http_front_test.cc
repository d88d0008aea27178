#include "local/api/http_front.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/http_client.h"
#include "local/api/direct_api.h"

namespace mainstay::local {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr char kJsonType[] = "application/json";

class GrowingLog final : public LogSource {
 public:
  void add(const std::string& text, bool ended) {
    std::lock_guard lock(mutex_);
    text_ += text;
    ended_ = ended;
  }
  Result<Chunk> read(const Json&, const std::string&, bool previous, std::uint64_t offset) override {
    std::lock_guard lock(mutex_);
    if (previous) {
      return fail(Code::kNotFound, "there is no earlier container");
    }
    return Chunk{offset < text_.size() ? text_.substr(offset) : "", text_.size(), ended_};
  }

 private:
  std::mutex mutex_;
  std::string text_;  // guarded by mutex_
  bool ended_ = false;
};

class HttpFrontTest : public testing::Test {
 protected:
  void SetUp() override {
    server_.serveLogs(logs_);
    auto http = HttpServer::listen(
        {}, [this](const HttpRequest& request, HttpReply& reply) { front_.handle(request, reply); });
    ASSERT_TRUE(http) << http.error().toString();
    http_ = *std::move(http);
  }

  std::string url(const std::string& target) {
    return "http://127.0.0.1:" + std::to_string(http_->port()) + target;
  }
  HttpResponse send(const std::string& method, const std::string& target, const std::string& body = "",
                    const HttpHeaders& headers = {{"Content-Type", kJsonType}}) {
    auto response =
        client_.send({method, url(target), headers, body}, Deadline::after(std::chrono::seconds(30)));
    EXPECT_TRUE(response) << response.error().toString();
    return response ? *std::move(response) : HttpResponse();
  }
  // Reads a stream until `done` is content with what has come.
  std::string streamUntil(const std::string& target, const HttpHeaders& headers,
                          const std::function<bool(const std::string&)>& done) {
    std::string text;
    const auto ended = client_.stream(
        {"GET", url(target), headers, ""}, [](const HttpResponse&) { return true; },
        [&](std::string_view data) {
          text += data;
          return !done(text);
        },
        std::chrono::seconds(30), {});
    ignore(ended, "we ended it ourselves, or the server did");
    return text;
  }
  void createNode(const std::string& name) {
    EXPECT_EQ(send("POST", "/api/v1/nodes", R"({"metadata":{"name":")" + name + "\"}}").status, 201);
  }
  void createPod() {
    EXPECT_EQ(
        send("POST", "/api/v1/namespaces/default/pods",
             R"({"metadata":{"name":"p"},"spec":{"nodeName":"a","containers":[{"name":"c","image":"i"}]}})")
            .status,
        201);
  }

  SteadyWallClock clock_;
  ApiServer server_{clock_, {}};
  HttpFront front_{server_, clock_};
  GrowingLog logs_;
  HttpClient client_{{}};
  std::unique_ptr<HttpServer> http_;
};

TEST_F(HttpFrontTest, ServesObjectsAndStatusesAsJson) {
  createNode("a");
  const HttpResponse found = send("GET", "/api/v1/nodes/a");
  EXPECT_EQ(found.status, 200);
  EXPECT_EQ(found.headers.at("Content-Type"), kJsonType);
  const HttpResponse missing = send("GET", "/api/v1/nodes/b");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(findString(*parseJson(missing.body), "reason"), "NotFound");
  EXPECT_EQ(send("GET", "/livez/ping").body, "ok");
  EXPECT_EQ(send("GET", "/").status, 404);
  EXPECT_EQ(send("OPTIONS", "/api/v1/nodes").status, 405);
}

TEST_F(HttpFrontTest, TakesTheFieldManagerFromTheUserAgent) {
  send("POST", "/api/v1/nodes", R"({"metadata":{"name":"a","labels":{"x":"y"}}})",
       {{"Content-Type", kJsonType}, {"User-Agent", "probe/1.0 (linux)"}});
  EXPECT_THAT(send("GET", "/api/v1/nodes/a").body, HasSubstr(R"("manager":"probe")"));
}

TEST_F(HttpFrontTest, RefusesBodiesThatItCannotRead) {
  EXPECT_EQ(send("POST", "/api/v1/nodes", "{").status, 400);
  EXPECT_EQ(
      send("POST", "/api/v1/nodes", "x", {{"Content-Type", "application/vnd.kubernetes.protobuf"}}).status,
      415);
  EXPECT_EQ(send("PATCH", "/api/v1/nodes/a", "{}").status, 415);
}

TEST_F(HttpFrontTest, AppliesYaml) {
  const HttpHeaders yaml{{"Content-Type", "application/apply-patch+yaml"}};
  const std::string path = "/api/v1/namespaces/default/configmaps/a";
  const std::string map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: 'yes'}  # text\n";
  EXPECT_EQ(send("PATCH", path + "?fieldManager=me", map, yaml).status, 201);
  EXPECT_EQ(send("PATCH", path + "?fieldManager=me", map, yaml).status, 200);
  EXPECT_EQ(send("PATCH", path, map, yaml).status, 422) << "without a manager";
  EXPECT_EQ(send("PATCH", path + "?fieldManager=me", map + "---\n" + map, yaml).status, 400);
}

TEST_F(HttpFrontTest, TellsAllOfDiscoveryAtOnceWhenAsked) {
  const std::string type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const HttpResponse core = send("GET", "/api", "", {{"Accept", type + ",application/json"}});
  EXPECT_EQ(core.headers.at("Content-Type"), type);
  const Json document = *parseJson(core.body);
  EXPECT_EQ(findString(document, "kind"), "APIGroupDiscoveryList");
  EXPECT_EQ(document.at("items").as_array().size(), 1u);
  EXPECT_EQ(findString(*parseJson(send("GET", "/apis", "", {{"Accept", type}}).body), "kind"),
            "APIGroupDiscoveryList");
  EXPECT_EQ(findString(*parseJson(send("GET", "/apis").body), "kind"), "APIGroupList");
}

TEST_F(HttpFrontTest, RefusesWhatAWebPageCouldSend) {
  EXPECT_EQ(send("GET", "/api/v1/nodes", "", {{"Origin", "http://evil.example"}}).status, 403);
  for (const char* host :
       {"evil.example", "127.0.0.1.evil.example", "evil.example:80", "localhost.evil.example"}) {
    EXPECT_EQ(send("GET", "/api/v1/nodes", "", {{"Host", host}}).status, 403) << host;
  }
  for (const char* host : {"127.0.0.1", "localhost:8001", "[::1]:8001", "[::1]"}) {
    EXPECT_EQ(send("GET", "/api/v1/nodes", "", {{"Host", host}}).status, 200) << host;
  }
}

TEST_F(HttpFrontTest, StreamsAWatchAsLines) {
  createNode("a");
  const std::string text = streamUntil("/api/v1/nodes?watch=1", {}, [&](const std::string& soFar) {
    if (soFar.find("MODIFIED") == std::string::npos && soFar.find("\n") != std::string::npos) {
      send("PATCH", "/api/v1/nodes/a", R"({"metadata":{"labels":{"x":"y"}}})",
           {{"Content-Type", "application/merge-patch+json"}});
    }
    return soFar.find("MODIFIED") != std::string::npos;
  });
  EXPECT_THAT(text, StartsWith(R"({"type":"ADDED","object":{)"));
  EXPECT_THAT(text, HasSubstr(R"({"type":"MODIFIED","object":{)"));
}

TEST_F(HttpFrontTest, StreamsTablesWithOneHeader) {
  createNode("a");
  createNode("b");
  const std::string text =
      streamUntil("/api/v1/nodes?watch=true", {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}},
                  [](const std::string& soFar) { return std::count(soFar.begin(), soFar.end(), '\n') >= 2; });
  const std::size_t second = text.find('\n') + 1;
  EXPECT_THAT(text.substr(0, second), HasSubstr(R"("columnDefinitions":[{"name":"Name")"));
  EXPECT_THAT(text.substr(second), HasSubstr(R"("columnDefinitions":[])"));
}

TEST_F(HttpFrontTest, TellsAWatchThatCameTooLate) {
  const std::string old =
      findString(*parseJson(send("GET", "/api/v1/nodes").body), "metadata", "resourceVersion");
  createNode("a");
  EXPECT_EQ(send("POST", "/local/v1/compact").status, 200);
  const std::string text = streamUntil("/api/v1/nodes?watch=1&resourceVersion=" + old, {},
                                       [](const std::string&) { return false; });
  EXPECT_NE(text.find(R"("type":"ERROR")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("code":410)"), std::string::npos) << text;
}

TEST_F(HttpFrontTest, EndsAWatchAfterItsTime) {
  EXPECT_EQ(
      streamUntil("/api/v1/nodes?watch=1&timeoutSeconds=0", {}, [](const std::string&) { return false; }),
      "");
}

TEST_F(HttpFrontTest, BreaksWatchesWhenTold) {
  createNode("a");
  const std::string text = streamUntil("/api/v1/nodes?watch=1", {}, [&](const std::string&) {
    EXPECT_EQ(send("POST", "/local/v1/watches/drop").status, 200);
    return false;
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);  // the stream ended without a word
}

TEST_F(HttpFrontTest, ServesLogsWholeInPartAndAsTheyGrow) {
  createPod();
  const std::string path = "/api/v1/namespaces/default/pods/p/log";
  logs_.add("one\ntwo\nthree\n", false);
  EXPECT_EQ(send("GET", path).body, "one\ntwo\nthree\n");
  EXPECT_EQ(send("GET", path + "?tailLines=2").body, "two\nthree\n");
  EXPECT_EQ(send("GET", path + "?tailLines=0").body, "");
  EXPECT_EQ(send("GET", path + "?limitBytes=3").body, "one");
  EXPECT_EQ(send("GET", path + "?previous=true").status, 400);
  EXPECT_EQ(send("GET", "/api/v1/namespaces/default/pods/q/log").status, 404);
  const std::string followed = streamUntil(path + "?follow=true&tailLines=1", {}, [&](const std::string&) {
    logs_.add("four\n", true);
    return false;
  });
  EXPECT_THAT(followed, StartsWith("three\nfour\n"));
}

TEST_F(HttpFrontTest, FailsOnPurposeWhenArmed) {
  EXPECT_EQ(send("POST", "/local/v1/faults", R"({"verb":"list","path":"/api/v1/nodes","status":429,
      "reason":"TooManyRequests","retryAfterSeconds":3})")
                .status,
            200);
  EXPECT_THAT(send("GET", "/local/v1/faults").body, HasSubstr(R"("status":429)"));
  const HttpResponse busy = send("GET", "/api/v1/nodes");
  EXPECT_EQ(busy.status, 429);
  EXPECT_EQ(busy.headers.at("Retry-After"), "3");
  EXPECT_EQ(send("GET", "/api/v1/nodes").status, 200);

  EXPECT_EQ(send("POST", "/local/v1/faults", R"({"status":12})").status, 400);
  EXPECT_EQ(send("POST", "/local/v1/faults", R"({"color":"red"})").status, 400);
  EXPECT_EQ(send("POST", "/local/v1/faults", R"({"status":500,"count":9})").status, 200);
  EXPECT_EQ(send("DELETE", "/local/v1/faults").status, 200);
  EXPECT_EQ(send("GET", "/api/v1/nodes").status, 200);
}

TEST_F(HttpFrontTest, AnswersSlowlyWhenArmed) {
  EXPECT_EQ(send("POST", "/local/v1/faults", R"({"verb":"list","delay":"30ms","status":503})").status, 200);
  const TimePoint begin = clock_.now();
  EXPECT_EQ(send("GET", "/api/v1/nodes").status, 503);
  EXPECT_GE(clock_.now() - begin, std::chrono::milliseconds(30));
}

}  // namespace
}  // namespace mainstay::local
