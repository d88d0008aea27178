#include "base/http_client.h"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/http_server.h"

namespace mainstay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Deadline clientPatience() {
  return Deadline::after(seconds(20));
}

std::unique_ptr<HttpServer> startServer(HttpServer::Handler handler, HttpServerOptions options = {}) {
  auto server = HttpServer::listen(std::move(options), std::move(handler));
  EXPECT_TRUE(server) << server.error().toString();
  return *std::move(server);
}

std::string urlOf(const HttpServer& server, const std::string& path = "/") {
  return "http://127.0.0.1:" + std::to_string(server.port()) + path;
}

// Answers with what it saw.
void mirror(const HttpRequest& request, HttpReply& reply) {
  HttpResponse response{.status = 201, .headers = {{"X-Method", request.method}}};
  for (const auto& [name, value] : request.headers) {
    response.headers["Seen-" + name] = value;
  }
  response.body = request.target + "|" + request.body;
  reply.send(response);
}

// Says nothing until the server stops.
void stayStill(HttpReply& reply) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait(lock, reply.stopToken(), [] { return false; });
}

TEST(HttpClientTest, SignsForAwsWithoutShowingTheSecret) {
  const auto server = startServer(mirror);
  HttpClient client({});
  HttpRequest request{.method = "POST", .target = urlOf(*server), .body = "a=1"};
  request.headers["Content-Type"] = "application/x-www-form-urlencoded";
  request.awsSignature = {"us-west-2", "autoscaling", "AKIATEST", "a-secret"};
  const auto response = client.send(request, clientPatience());
  ASSERT_TRUE(response) << response.error().toString();
  EXPECT_THAT(response->headers.at("Seen-Authorization"),
              AllOf(HasSubstr("AWS4-HMAC-SHA256 Credential=AKIATEST/"),
                    HasSubstr("/us-west-2/autoscaling/aws4_request"), Not(HasSubstr("a-secret"))));
  EXPECT_EQ(response->headers.count("Seen-Expect"), 0u);

  request.awsSignature->region = "us-west-2:x";
  EXPECT_EQ(client.send(request, clientPatience()).error().code(), Code::kInvalidArgument);
  request.awsSignature.reset();
  EXPECT_EQ(client.send(request, clientPatience())->headers.count("Seen-Authorization"), 0u) << "not kept";
}

TEST(HttpClientTest, SendsMethodHeadersAndBodyAndReadsTheAnswer) {
  const auto server = startServer(mirror);
  HttpClient client({});
  const auto response = client.send({"PATCH",
                                     urlOf(*server, "/api/v1/nodes/a?x=%20"),
                                     {{"Content-Type", "application/merge-patch+json"}, {"X-Empty", ""}},
                                     "{}"},
                                    clientPatience());
  ASSERT_TRUE(response) << response.error().toString();
  EXPECT_EQ(response->status, 201);
  EXPECT_EQ(response->body, "/api/v1/nodes/a?x=%20|{}");
  EXPECT_EQ(response->headers.at("x-method"), "PATCH");
  EXPECT_EQ(response->headers.at("seen-content-type"), "application/merge-patch+json");
  EXPECT_EQ(response->headers.at("seen-content-length"), "2");
  EXPECT_EQ(response->headers.count("seen-x-empty"), 1u);
  EXPECT_EQ(response->headers.count("seen-expect"), 0u);
  EXPECT_THAT(response->headers.at("seen-user-agent"), HasSubstr("mainstay/"));
}

TEST(HttpClientTest, SendsAnEmptyBodyAsOne) {
  const auto server = startServer(mirror);
  HttpClient client({});
  const auto post = client.send({"POST", urlOf(*server), {}, ""}, clientPatience());
  ASSERT_TRUE(post) << post.error().toString();
  EXPECT_EQ(post->headers.at("seen-content-length"), "0");
  EXPECT_EQ(post->headers.count("seen-content-type"), 0u);
  const auto removal = client.send({"DELETE", urlOf(*server), {}, ""}, clientPatience());
  ASSERT_TRUE(removal) << removal.error().toString();
  EXPECT_EQ(removal->headers.at("x-method"), "DELETE");
}

TEST(HttpClientTest, ReadsHeadAndNoContentWithoutWaitingForABody) {
  const auto server = startServer([](const HttpRequest& request, HttpReply& reply) {
    reply.send({request.method == "HEAD" ? 200 : 204, {}, "body"});
  });
  HttpClient client({});
  EXPECT_EQ(client.send({"HEAD", urlOf(*server), {}, ""}, clientPatience())->body, "");
  EXPECT_EQ(client.send({"GET", urlOf(*server), {}, ""}, clientPatience())->status, 204);
}

TEST(HttpClientTest, KeepsItsConnectionBetweenCalls) {
  const auto server =
      startServer(mirror, {.maxConnections = 1});  // a second connection would be answered 503
  HttpClient client({});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(client.send({"GET", urlOf(*server), {}, ""}, clientPatience())->status, 201);
  }
}

TEST(HttpClientTest, ConnectsAgainWhenAKeptConnectionWasClosed) {
  auto server = startServer(mirror);
  const int port = server->port();
  HttpClient client({});
  const std::string url = urlOf(*server);
  ASSERT_TRUE(client.send({"POST", url, {}, "1"}, clientPatience()));
  server.reset();
  server = startServer(mirror, {.port = port});
  const auto second = client.send({"POST", url, {}, "2"}, clientPatience());
  ASSERT_TRUE(second) << second.error().toString();
  EXPECT_EQ(second->body, "/|2");
}

TEST(HttpClientTest, ServesManyThreadsAtOnce) {
  const auto server = startServer(mirror);
  HttpClient client({});
  std::atomic<int> good = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 25; ++i) {
          const std::string path = "/" + std::to_string(t) + "/" + std::to_string(i);
          const auto response = client.send({"GET", urlOf(*server, path), {}, ""}, clientPatience());
          good += response && response->body == path + "|" ? 1 : 0;
        }
      });
    }
  }
  EXPECT_EQ(good, 100);
}

TEST(HttpClientTest, NamesTheHostButNoSecretWhenNobodyListens) {
  auto server = startServer(mirror);
  const std::string url = urlOf(*server, "/path?token=secret");
  const std::string host = "http://127.0.0.1:" + std::to_string(server->port());
  server.reset();
  HttpClient client({});
  const auto response = client.send({"GET", url, {{"Authorization", "Bearer secret"}}, ""}, clientPatience());
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kUnavailable);
  EXPECT_THAT(
      response.error().toString(),
      AllOf(HasSubstr("GET " + host), HasSubstr("check that the server runs"), Not(HasSubstr("secret"))));
}

TEST(HttpClientTest, RefusesRequestsThatCanNeverWork) {
  HttpClient client({});
  const HttpRequest wrong[] = {
      {"GET", "not a url", {}, ""},
      {"GET", "ftp://127.0.0.1/", {}, ""},
      {"GET", "http://127.0.0.1:99999/", {}, ""},
      {"GE T", "http://127.0.0.1/", {}, ""},
      {"GET", "http://127.0.0.1/", {{"X", "a\r\nEvil: 1"}}, ""},
      {"GET", "http://127.0.0.1/", {{"X:", "a"}}, ""},
  };
  for (const HttpRequest& request : wrong) {
    const auto response = client.send(request, clientPatience());
    ASSERT_FALSE(response) << request.target;
    EXPECT_EQ(response.error().code(), Code::kInvalidArgument) << response.error().toString();
  }
}

TEST(HttpClientTest, GivesUpAtTheDeadline) {
  const auto server = startServer([](const HttpRequest&, HttpReply& reply) { stayStill(reply); });
  HttpClient client({});
  const auto response = client.send({"GET", urlOf(*server), {}, ""}, Deadline::after(milliseconds(30)));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kDeadlineExceeded);
}

TEST(HttpClientTest, RefusesAnAnswerAboveTheLimit) {
  const auto server = startServer([](const HttpRequest&, HttpReply& reply) {
    reply.send({200, {}, std::string(2000, 'x')});
  });
  HttpClient client({.maxBody = 1000});
  const auto response = client.send({"GET", urlOf(*server), {}, ""}, clientPatience());
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kResourceExhausted);
  EXPECT_THAT(response.error().toString(), HasSubstr("limit of 1000 bytes"));
}

// How long a call went on after it was asked to stop, at best of a few tries: the machine may be busy.
template <class Call>
Duration timeToStop(std::promise<void>* arrived, Call call) {
  Duration best = Duration::max();
  for (int i = 0; i < 3; ++i) {
    arrived[i] = std::promise<void>();
  }
  for (int i = 0; i < 3; ++i) {
    std::stop_source stop;
    auto outcome = std::async(std::launch::async, [&] { return call(stop.get_token()); });
    arrived[i].get_future().wait();
    const auto asked = std::chrono::steady_clock::now();
    stop.request_stop();
    EXPECT_EQ(outcome.get(), Code::kCancelled);
    best = std::min(best, std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - asked));
  }
  return best;
}

TEST(HttpClientTest, ObeysAStopWithinMillisecondsWhileNothingArrives) {
  std::promise<void> arrived[3];
  std::atomic<int> next = 0;
  const auto server = startServer([&](const HttpRequest& request, HttpReply& reply) {
    if (request.target == "/stream") {
      EXPECT_TRUE(reply.startStream(200, {}));
    }
    arrived[next++].set_value();
    stayStill(reply);
  });
  HttpClient client({});
  EXPECT_LT(timeToStop(
                arrived,
                [&](std::stop_token stop) {
                  return client.send({"GET", urlOf(*server), {}, ""}, Deadline::never(), stop).error().code();
                }),
            milliseconds(200));
  next = 0;
  EXPECT_LT(timeToStop(arrived,
                       [&](std::stop_token stop) {
                         const auto goOn = [](const auto&) { return true; };
                         return client
                             .stream({"GET", urlOf(*server, "/stream"), {}, ""}, goOn, goOn, seconds(60),
                                     stop)
                             .error()
                             .code();
                       }),
            milliseconds(200));
}

TEST(HttpClientTest, StreamsTheHeadOnceAndDataAsItComes) {
  std::promise<void> firstSeen;
  const auto server = startServer([&](const HttpRequest&, HttpReply& reply) {
    EXPECT_TRUE(reply.startStream(200, {{"Content-Type", "application/json"}}));
    EXPECT_TRUE(reply.write("one\n"));
    firstSeen.get_future().wait();  // only a chunk delivered at once gets us past here
    EXPECT_TRUE(reply.write("two\n"));
  });
  HttpClient client({});
  int heads = 0;
  std::string data;
  const auto result = client.stream(
      {"GET", urlOf(*server), {}, ""},
      [&](const HttpResponse& head) {
        ++heads;
        EXPECT_EQ(head.headers.at("content-type"), "application/json");
        return head.status == 200;
      },
      [&](std::string_view chunk) {
        if (data.empty()) {
          firstSeen.set_value();
        }
        data += chunk;
        return true;
      },
      seconds(20), {});
  EXPECT_TRUE(result) << result.error().toString();
  EXPECT_EQ(heads, 1);
  EXPECT_EQ(data, "one\ntwo\n");
}

TEST(HttpClientTest, EndsAStreamWhenTheCallerHasSeenEnough) {
  const auto server = startServer(mirror);
  HttpClient client({});
  const auto yes = [](const auto&) { return true; };
  const auto no = [](const auto&) { return false; };
  const HttpRequest request{"GET", urlOf(*server), {}, ""};
  EXPECT_EQ(client.stream(request, no, yes, seconds(20), {}).error().code(), Code::kCancelled);
  EXPECT_EQ(client.stream(request, yes, no, seconds(20), {}).error().code(), Code::kCancelled);
}

TEST(HttpClientTest, EndsAStreamThatIsSilentForTooLong) {
  const auto server = startServer([](const HttpRequest&, HttpReply& reply) {
    EXPECT_TRUE(reply.startStream(200, {}));
    EXPECT_TRUE(reply.write("something"));
    stayStill(reply);
  });
  HttpClient client({});
  const auto goOn = [](const auto&) { return true; };
  const auto result = client.stream({"GET", urlOf(*server), {}, ""}, goOn, goOn, milliseconds(50), {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::kDeadlineExceeded);
  EXPECT_THAT(result.error().toString(), HasSubstr("nothing came for 50ms"));
}

TEST(HttpClientTest, ReportsAnAnswerThatIsCutShort) {
  const auto server = startServer([](const HttpRequest&, HttpReply& reply) {
    EXPECT_TRUE(reply.startStream(200, {}));
    EXPECT_TRUE(reply.write("half"));
    throw std::runtime_error("boom");
  });
  HttpClient client({});
  const auto response = client.send({"GET", urlOf(*server), {}, ""}, clientPatience());
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kUnavailable);
}

// Sets a variable for one test.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~ScopedVariable() { ::unsetenv(name_); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
};

TEST(HttpClientTest, UsesTheProxyOfTheEnvironmentButNeverForLoopback) {
  const auto proxy = startServer([](const HttpRequest& request, HttpReply& reply) {
    reply.send({200, {}, "proxied " + request.target});
  });
  const auto server = startServer(mirror);
  const ScopedVariable variable("http_proxy", urlOf(*proxy));
  HttpClient client({});
  const auto far = client.send({"GET", "http://metadata.invalid/x", {}, ""}, clientPatience());
  ASSERT_TRUE(far) << far.error().toString();
  EXPECT_EQ(far->body, "proxied http://metadata.invalid/x");
  EXPECT_EQ(client.send({"GET", urlOf(*server, "/near"), {}, ""}, clientPatience())->body, "/near|");
  const std::string byName = "http://localhost:" + std::to_string(server->port()) + "/near";
  EXPECT_EQ(client.send({"GET", byName, {}, ""}, clientPatience())->body, "/near|");
}

TEST(RetryPolicyTest, GrowsToItsCapAndTakesAwayJitterOnly) {
  const RetryPolicy policy{.attempts = 5,
                           .firstWait = milliseconds(100),
                           .maxWait = milliseconds(350),
                           .factor = 2,
                           .jitter = 0.2};
  EXPECT_EQ(policy.waitBefore(2, 1.0, {}), milliseconds(100));
  EXPECT_EQ(policy.waitBefore(2, 0.0, {}), milliseconds(80));
  EXPECT_EQ(policy.waitBefore(3, 1.0, {}), milliseconds(200));
  EXPECT_EQ(policy.waitBefore(4, 1.0, {}), milliseconds(350));
  EXPECT_EQ(policy.waitBefore(1000, 1.0, {}), milliseconds(350));
}

TEST(RetryPolicyTest, WaitsAtLeastAsLongAsTheServerAsked) {
  const RetryPolicy policy;
  EXPECT_EQ(policy.waitBefore(2, 0.5, seconds(3)), seconds(3));
  EXPECT_GT(policy.waitBefore(2, 0.5, milliseconds(1)), milliseconds(1));
}

}  // namespace
}  // namespace mainstay
