#include "kube/http_api.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <set>

#include "api/core.h"
#include "base/http_server.h"
#include "base/test_certificates.h"
#include "kube/scripted_api.h"
#include "kube/watch_cache.h"

namespace mainstay::kube {
namespace {

using std::chrono::seconds;

// An API server in the hands of the test: a real HTTP server on a free port, whose answers the test gives one
// by one.
class HttpApiTest : public testing::Test {
 protected:
  using Handler = HttpServer::Handler;

  void serve(Handler handler, const TlsFiles& tls = {}) {
    scheme_ = tls.certificate.empty() ? "http" : "https";
    server_ = HttpServer::listen({.tls = tls}, [this, handler = std::move(handler)](
                                                   const HttpRequest& request, HttpReply& reply) {
                {
                  std::lock_guard lock(mutex_);
                  requests_.push_back(request);
                }
                handler(request, reply);
              }).value();
  }
  static Handler always(int status, std::string body, HttpHeaders headers = {}) {
    return [=](const HttpRequest&, HttpReply& reply) {
      HttpHeaders all = headers;
      all.emplace("Content-Type", "application/json");
      reply.send({.status = status, .headers = all, .body = body});
    };
  }
  // Answers a watch with these lines; then keeps it open until the client or the server stops.
  static Handler stream(std::vector<std::string> lines, bool keepOpen = true) {
    return [=](const HttpRequest&, HttpReply& reply) {
      ASSERT_TRUE(reply.startStream(200, {{"Content-Type", "application/json"}}).has_value());
      for (const std::string& line : lines) {
        if (!reply.write(line + "\n")) {
          return;
        }
      }
      if (keepOpen) {
        waitForStop(reply.stopToken());
      }
    };
  }
  static void waitForStop(std::stop_token stop) {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    changed.wait(lock, stop, [] { return false; });
  }
  HttpApi& api(HttpApiOptions options = {}) {
    if (!api_) {
      config_.server = scheme_ + "://127.0.0.1:" + std::to_string(server_->port());
      api_ = std::make_unique<HttpApi>(config_, files_, clock_, options);
    }
    return *api_;
  }
  Result<Json> call(const ApiRequest& request) { return api().call(request, Deadline::after(seconds(30))); }
  // What comes next on the stream: events, or its end.
  Result<std::vector<WatchEvent>> next(WatchStream& stream) {
    const Deadline deadline = Deadline::after(seconds(30));
    while (!deadline.expired()) {
      auto events = stream.poll();
      if (!events || !events->empty()) {
        return events;
      }
      signal_.waitUntil(wall_, wall_.now() + seconds(5), {});
    }
    return fail(Code::kInternal, "nothing came");
  }
  Code endOf(std::vector<std::string> lines) {
    serve(stream(std::move(lines), false));
    auto watch = api().watch("/api/v1/nodes", {}, signal_);
    if (!watch) {
      return watch.error().code();
    }
    for (;;) {
      if (const auto events = next(**watch); !events) {
        return events.error().code();
      }
    }
  }
  std::vector<HttpRequest> requests() {
    std::lock_guard lock(mutex_);
    return requests_;
  }

  Config config_;
  FakeFileSystem files_{std::map<std::string, std::string>{{"/run/token", "old"}}};
  ManualClock clock_;
  SteadyWallClock wall_;
  Signal signal_;

 private:
  std::mutex mutex_;
  std::vector<HttpRequest> requests_;  // guarded by mutex_
  std::string scheme_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<HttpApi> api_;
};

std::string eventLine(const std::string& type, const std::string& name, int version) {
  return R"({"type":")" + type + R"(","object":{"metadata":{"name":")" + name + R"(","resourceVersion":")" +
         std::to_string(version) + R"("}}})";
}

TEST_F(HttpApiTest, SendsMethodPathQueryBodyAndWhoWeAre) {
  config_.token = "t0ken";
  serve(always(200, R"({"kind":"Node"})"));
  const auto node =
      patch(api(), api::kNodes, "", "a", Body::kMergePatch, JsonObject{{"x", 1}}, "mainstay-agent");
  ASSERT_TRUE(node.has_value()) << node.error().toString();
  EXPECT_EQ(findString(*node, "kind"), "Node");
  const HttpRequest seen = requests().at(0);
  EXPECT_EQ(seen.method, "PATCH");
  EXPECT_EQ(seen.target, "/api/v1/nodes/a?fieldManager=mainstay-agent");
  EXPECT_EQ(seen.body, R"({"x":1})");
  EXPECT_EQ(seen.headers.at("Content-Type"), "application/merge-patch+json");
  EXPECT_EQ(seen.headers.at("Authorization"), "Bearer t0ken");
  EXPECT_TRUE(seen.headers.at("User-Agent").starts_with("mainstay/"));
}

TEST_F(HttpApiTest, TurnsStatusBodiesIntoTypedErrors) {
  serve(always(409, R"({"kind":"Status","reason":"AlreadyExists","message":"leases \"l\" already exists"})"));
  const auto answer = call({.method = "POST", .path = "/x", .kind = Body::kJson, .body = JsonObject()});
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), Code::kAlreadyExists);
  EXPECT_NE(answer.error().toString().find("leases \"l\" already exists"), std::string::npos);
}

TEST_F(HttpApiTest, KeepsRetryAfterOfTooManyRequests) {
  serve(always(429, R"({"reason":"TooManyRequests","message":"busy"})", {{"Retry-After", "7"}}));
  const auto answer = call({.path = "/x"});
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), Code::kResourceExhausted);
  EXPECT_EQ(answer.error().retryAfter(), Duration(seconds(7)));
}

TEST_F(HttpApiTest, GivesTextAsItIs) {
  serve(always(200, "step 1\nstep 2\n", {{"Content-Type", "text/plain"}}));
  EXPECT_EQ(call({.path = "/log"}).value(), Json("step 1\nstep 2\n"));
}

TEST_F(HttpApiTest, SurvivesAnswersThatAreNotJson) {
  serve(always(200, "{\"cut off"));
  EXPECT_FALSE(call({.path = "/x"}).has_value());
}

TEST_F(HttpApiTest, SaysWhichServerDoesNotAnswer) {
  serve(always(200, "{}"));
  config_.server = "http://127.0.0.1:1";
  HttpApi nobody(config_, files_, clock_);
  const auto answer = nobody.call({.path = "/x"}, Deadline::after(seconds(30)));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), Code::kUnavailable);
  EXPECT_NE(answer.error().toString().find("http://127.0.0.1:1"), std::string::npos);
}

TEST_F(HttpApiTest, GivesUpOnASlowAnswerAtTheDeadline) {
  serve([](const HttpRequest&, HttpReply& reply) { waitForStop(reply.stopToken()); });
  const auto answer = api().call({.path = "/x"}, Deadline::after(std::chrono::milliseconds(50)));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), Code::kDeadlineExceeded);
}

TEST_F(HttpApiTest, ReadsTheTokenFileAgainAfterARefusal) {
  config_.tokenFile = "/run/token";
  serve([this](const HttpRequest& request, HttpReply& reply) {
    if (request.headers.at("Authorization") == "Bearer new") {
      reply.send({.status = 200, .headers = {{"Content-Type", "application/json"}}, .body = "{}"});
      return;
    }
    ASSERT_TRUE(files_.write("/run/token", "new").has_value());
    reply.send(
        {.status = 401, .headers = {}, .body = R"({"reason":"Unauthorized","message":"Unauthorized"})"});
  });
  EXPECT_TRUE(call({.path = "/x"}).has_value());
  EXPECT_EQ(requests().size(), 2u);
}

TEST_F(HttpApiTest, AsksTheCredentialPluginAgainAfterARefusal) {
  const TemporaryFolder folder("mainstay-plugin-");
  config_.exec = ExecPlugin{.apiVersion = "client.authentication.k8s.io/v1",
                            .command = "/bin/sh",
                            .arguments = {"-c", R"(n=$(cat "$COUNT" || echo 0); echo $((n + 1)) > "$COUNT"
                               echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",'
                               echo "\"status\":{\"token\":\"token-$n\"}}")"},
                            .environment = {{"COUNT", folder.path() + "/count"}}};
  std::atomic<const char*> valid = "Bearer token-0";
  serve([&valid](const HttpRequest& request, HttpReply& reply) {
    const bool good = request.headers.at("Authorization") == valid.load();
    reply.send({.status = good ? 200 : 401, .headers = {}, .body = R"({"reason":"Unauthorized"})"});
  });
  EXPECT_TRUE(call({.path = "/x"}).has_value());
  valid = "Bearer token-1";
  clock_.advance(std::chrono::minutes(1));
  const auto answer = call({.path = "/x"});
  EXPECT_TRUE(answer.has_value()) << answer.error().toString();
  EXPECT_EQ(requests().size(), 3u);
}

TEST_F(HttpApiTest, ShowsTheClientCertificateThatThePluginGaveLast) {
  if (!TestCertificates::available()) {
    GTEST_SKIP() << "there is no openssl program here";
  }
  TestCertificates certificates;
  certificates.make("server", "IP:127.0.0.1");
  certificates.make("known", "DNS:known.test");
  certificates.make("unknown", "DNS:unknown.test");
  serve(always(200, "{}"),
        {certificates.path("server.pem"), certificates.path("server.key"), certificates.path("known.pem")});
  const auto give = [&](const std::string& name) {
    const JsonObject status{{"clientCertificateData", certificates.text(name + ".pem")},
                            {"clientKeyData", certificates.text(name + ".key")},
                            {"expirationTimestamp", formatTime(clock_.now() + std::chrono::minutes(10))}};
    certificates.write("answer", toText(JsonObject{{"kind", "ExecCredential"},
                                                   {"apiVersion", "client.authentication.k8s.io/v1"},
                                                   {"status", status}}));
  };
  config_.caCertificates = certificates.text("server.pem");
  config_.exec = ExecPlugin{.apiVersion = "client.authentication.k8s.io/v1",
                            .command = "/bin/cat",
                            .arguments = {certificates.path("answer")}};
  give("unknown");
  EXPECT_FALSE(call({.path = "/x"}).has_value());
  give("known");
  clock_.advance(std::chrono::minutes(10));
  const auto answer = call({.path = "/x"});
  EXPECT_TRUE(answer.has_value()) << answer.error().toString();
}

TEST_F(HttpApiTest, TellsARefusalWithoutAnotherTokenOnce) {
  config_.token = "s3cret";
  serve(always(401, R"({"reason":"Unauthorized","message":"Unauthorized"})"));
  const auto answer = call({.path = "/x"});
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), Code::kUnauthenticated);
  EXPECT_EQ(answer.error().toString().find("s3cret"), std::string::npos);
  EXPECT_EQ(requests().size(), 1u);
}

TEST_F(HttpApiTest, RefusesBeyondItsOwnRateWhenItMayNotWait) {
  serve(always(200, "{}"));
  HttpApiOptions slow;
  slow.qps = 0.001;
  slow.burst = 2;
  api(slow);
  EXPECT_TRUE(call({.path = "/x"}).has_value());
  EXPECT_TRUE(call({.path = "/x"}).has_value());
  const auto answer = call({.path = "/x"});
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), Code::kResourceExhausted);
  EXPECT_GT(answer.error().retryAfter().value_or(Duration(0)), seconds(100));
  EXPECT_EQ(requests().size(), 2u);
}

TEST_F(HttpApiTest, WatchBringsEventsInOrderAndRaisesTheSignal) {
  serve(stream({eventLine("ADDED", "a", 1), eventLine("MODIFIED", "a", 2), eventLine("DELETED", "a", 3),
                eventLine("BOOKMARK", "", 9)}));
  auto watch = api().watch("/api/v1/nodes", {{"resourceVersion", "5"}}, signal_);
  ASSERT_TRUE(watch.has_value()) << watch.error().toString();
  std::vector<WatchEvent> all;
  while (all.size() < 4) {
    auto events = next(**watch);
    ASSERT_TRUE(events.has_value()) << events.error().toString();
    std::move(events->begin(), events->end(), std::back_inserter(all));
  }
  EXPECT_EQ(all[0].type, WatchEvent::Type::kAdded);
  EXPECT_EQ(all[1].type, WatchEvent::Type::kModified);
  EXPECT_EQ(all[2].type, WatchEvent::Type::kDeleted);
  EXPECT_EQ(all[3].type, WatchEvent::Type::kBookmark);
  EXPECT_EQ(findString(all[3].object, "metadata", "resourceVersion"), "9");
  EXPECT_EQ(requests().at(0).target, "/api/v1/nodes?resourceVersion=5&watch=true&allowWatchBookmarks=true");
}

TEST_F(HttpApiTest, PollOfAQuietWatchIsEmptyAndClosingItStopsTheReader) {
  serve(stream({}));
  auto watch = api().watch("/api/v1/nodes", {}, signal_);
  ASSERT_TRUE(watch.has_value()) << watch.error().toString();
  EXPECT_TRUE((*watch)->poll().value().empty());
  watch->reset();  // joins the reader: the test would hang if a quiet stream did not stop
}

TEST_F(HttpApiTest, OpeningAWatchTellsARefusalWithItsKind) {
  serve(always(410, R"({"kind":"Status","reason":"Expired","message":"too old resource version: 5"})"));
  const auto watch = api().watch("/api/v1/nodes", {}, signal_);
  ASSERT_FALSE(watch.has_value());
  EXPECT_EQ(watch.error().code(), Code::kGone);
  EXPECT_NE(watch.error().toString().find("too old"), std::string::npos);
}

TEST_F(HttpApiTest, OpeningAWatchKeepsRetryAfter) {
  serve(always(429, "busy", {{"Retry-After", "2"}}));
  const auto watch = api().watch("/api/v1/nodes", {}, signal_);
  ASSERT_FALSE(watch.has_value());
  EXPECT_EQ(watch.error().retryAfter(), Duration(seconds(2)));
}

TEST_F(HttpApiTest, AnErrorEventEndsTheWatchWithItsKind) {
  EXPECT_EQ(endOf({eventLine("ADDED", "a", 1), R"({"type":"ERROR","object":{"kind":"Status","code":410,)"
                                               R"("reason":"Expired","message":"too old"}})"}),
            Code::kGone);
}

TEST_F(HttpApiTest, TheServersEndIsARequestToResume) {
  EXPECT_EQ(endOf({eventLine("ADDED", "a", 1)}), Code::kUnavailable);
}

TEST_F(HttpApiTest, LinesThatAreNoEventsEndTheWatch) {
  EXPECT_NE(endOf({"{\"type\":"}), Code::kGone);
}

TEST_F(HttpApiTest, UnknownEventsEndTheWatch) {
  EXPECT_EQ(endOf({R"({"type":"NOVEL","object":{}})"}), Code::kUnavailable);
}

TEST_F(HttpApiTest, ALineWithoutAnEndIsCutAtItsBound) {
  serve([](const HttpRequest&, HttpReply& reply) {
    ASSERT_TRUE(reply.startStream(200, {}).has_value());
    const std::string piece(1 << 20, 'x');
    while (reply.write(piece)) {
    }
  });
  auto watch = api().watch("/api/v1/nodes", {}, signal_);
  ASSERT_TRUE(watch.has_value());
  const auto end = next(**watch);
  ASSERT_FALSE(end.has_value());
  EXPECT_EQ(end.error().code(), Code::kResourceExhausted);
}

TEST_F(HttpApiTest, ASlowLoopSlowsTheServerDownAndLosesNothing) {
  constexpr int kMany = 3000;
  serve([](const HttpRequest&, HttpReply& reply) {
    ASSERT_TRUE(reply.startStream(200, {}).has_value());
    for (int i = 1; i <= kMany && reply.write(eventLine("MODIFIED", "a", i) + "\n"); ++i) {
    }
  });
  auto watch = api().watch("/api/v1/nodes", {}, signal_);
  ASSERT_TRUE(watch.has_value());
  int expected = 1;
  std::size_t largest = 0;
  while (expected <= kMany) {
    auto events = next(**watch);
    ASSERT_TRUE(events.has_value()) << events.error().toString();
    largest = std::max(largest, events->size());
    for (const WatchEvent& event : *events) {
      ASSERT_EQ(findString(event.object, "metadata", "resourceVersion"), std::to_string(expected));
      ++expected;
    }
  }
  EXPECT_LE(largest, 256u);
  EXPECT_EQ(next(**watch).error().code(), Code::kUnavailable);
}

// The whole of it: pages, a watch, a broken stream, a lost version, over a real connection.
TEST_F(HttpApiTest, AWatchCacheStaysTrueThroughPagesBreaksAndLostVersions) {
  std::atomic<int> watches = 0;
  serve([&](const HttpRequest& request, HttpReply& reply) {
    const Query query = parseQuery(request.target.substr(request.target.find('?') + 1));
    if (queryValue(query, "watch") == "true") {
      switch (++watches) {
        case 1:  // from the first list: one event, then the stream breaks
          stream({eventLine("ADDED", "c", 11)}, false)(request, reply);
          return;
        case 2:  // resumed: a bookmark and another end
          EXPECT_EQ(queryValue(query, "resourceVersion"), "11");
          stream({eventLine("BOOKMARK", "", 20)}, false)(request, reply);
          return;
        case 3:
          EXPECT_EQ(queryValue(query, "resourceVersion"), "20");
          always(410, R"({"reason":"Expired","message":"too old"})")(request, reply);
          return;
        default:
          stream({eventLine("MODIFIED", "d", 31)})(request, reply);
          return;
      }
    }
    const bool second = queryValue(query, "continue") == "more";
    const bool relist = watches >= 3;
    const std::string items = relist   ? R"([{"metadata":{"name":"d","resourceVersion":"30"}}])"
                              : second ? R"([{"metadata":{"name":"b","resourceVersion":"2"}}])"
                                       : R"([{"metadata":{"name":"a","resourceVersion":"1"}}])";
    always(200, R"({"items":)" + items + R"(,"metadata":{"resourceVersion":")" + (relist ? "30" : "10") +
                    R"(","continue":")" + (relist || second ? "" : "more") + R"("}})")(request, reply);
  });
  WatchCache<api::Node> cache(api(), api::kNodes, api::decodeNode, signal_);
  TimePoint now = clock_.now();
  std::set<std::string> seen;
  const auto done = [&] {
    const auto found = cache.objects().find("d");
    return found != cache.objects().end() && found->second->meta.resourceVersion == "31";
  };
  for (const Deadline deadline = Deadline::after(seconds(60)); !deadline.expired() && !done();) {
    const TimePoint wake = cache.sync(now);
    for (const auto& [key, node] : cache.objects()) {
      seen.insert(key);
    }
    if (cache.staleSince()) {
      now = std::max(now, wake);  // the back-off passes in the test's own time
    } else if (!done()) {
      signal_.waitUntil(wall_, wall_.now() + seconds(5), {});
    }
  }
  EXPECT_EQ(seen, (std::set<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(cache.objects().size(), 1u);
  EXPECT_EQ(watches, 4);
}

}  // namespace
}  // namespace mainstay::kube
