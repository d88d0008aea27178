#include "base/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <condition_variable>
#include <future>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/descriptor.h"

namespace mainstay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// Generous: what a test waits for when the code under test is broken.
constexpr Duration kPatience = seconds(20);

// A client that sends and reads bytes, so that every fault of a client can be played.
class RawClient {
 public:
  explicit RawClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count < 0) {
        return;  // the server has closed: the test looks at what it said
      }
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  // Reads until `end` has come, the server has closed, or patience is over.
  std::string readUntil(std::string_view end) {
    std::string text;
    const Deadline deadline = Deadline::after(kPatience);
    while (text.find(end) == text.npos) {
      pollfd state{socket_.get(), POLLIN, 0};
      char buffer[4096];
      if (::poll(&state, 1, pollTimeout(deadline)) <= 0) {
        return text + "<timeout>";
      }
      const ssize_t count = ::recv(socket_.get(), buffer, sizeof buffer, 0);
      if (count <= 0) {
        return text;
      }
      text.append(buffer, static_cast<std::size_t>(count));
    }
    return text;
  }
  std::string readAll() { return readUntil("\1never\1"); }

  void close() { socket_.reset(); }

 private:
  Descriptor socket_;
};

std::unique_ptr<HttpServer> serverWith(HttpServerOptions options, HttpServer::Handler handler) {
  auto server = HttpServer::listen(std::move(options), std::move(handler));
  EXPECT_TRUE(server) << server.error().toString();
  return *std::move(server);
}

void echo(const HttpRequest& request, HttpReply& reply) {
  HttpResponse response;
  response.headers["X-Method"] = request.method;
  response.body = request.target + "|" + request.body;
  reply.send(response);
}

std::string converse(const HttpServer& server, std::string_view bytes) {
  RawClient client(server.port());
  client.send(bytes);
  return client.readAll();
}

TEST(HttpServerTest, AnswersRequestsOneAfterAnotherOnOneConnection) {
  const auto server = serverWith({}, echo);
  RawClient client(server->port());
  client.send("GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.readUntil("/a?b=c|"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("X-Method: GET\r\n")));
  client.send("POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_THAT(client.readUntil("/p|hello"), HasSubstr("Content-Length: 8\r\n"));
}

TEST(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  const auto server = serverWith({}, echo);
  const std::string text =
      converse(*server, "GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_LT(text.find("/1|"), text.find("/2|"));
  EXPECT_THAT(text, AllOf(HasSubstr("Connection: close\r\n"), EndsWith("/2|")));
}

TEST(HttpServerTest, ReadsChunkedBodies) {
  const auto server = serverWith({}, echo);
  const std::string text =
      converse(*server,
               "PUT / HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
               "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  EXPECT_THAT(text, EndsWith("/|abcde"));
}

TEST(HttpServerTest, TellsAClientThatAsksFirstToContinue) {
  const auto server = serverWith({}, echo);
  RawClient client(server->port());
  client.send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.readUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ok");
  EXPECT_THAT(client.readUntil("|ok"), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServerTest, SendsOnlyTheHeadForHead) {
  const auto server = serverWith({}, echo);
  const std::string text = converse(*server, "HEAD /x HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(text, AllOf(HasSubstr("Content-Length: 3\r\n"), EndsWith("\r\n\r\n")));
}

TEST(HttpServerTest, ClosesAfterHttp10UnlessAskedToKeepTheConnection) {
  const auto server = serverWith({}, echo);
  EXPECT_THAT(converse(*server, "GET /old HTTP/1.0\r\n\r\n"), EndsWith("/old|"));
  RawClient client(server->port());
  client.send("GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_THAT(client.readUntil("/old|"), HasSubstr("Connection: keep-alive\r\n"));
  client.send("GET /again HTTP/1.0\r\n\r\n");
  EXPECT_THAT(client.readAll(), EndsWith("/again|"));
}

TEST(HttpServerTest, JoinsRepeatedHeadersAndKeepsLineBreaksOutOfItsOwn) {
  const auto server = serverWith({}, [](const HttpRequest& request, HttpReply& reply) {
    reply.send({200, {{"X-Seen", request.headers.at("accept") + "\r\nX-Evil: 1"}}, ""});
  });
  const std::string text =
      converse(*server, "GET / HTTP/1.1\r\nAccept: a\r\nAccept: b\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(text, HasSubstr("X-Seen: a, b  X-Evil: 1\r\n"));
}

TEST(HttpServerTest, RefusesWhatIsNotHttpAndCloses) {
  const auto server = serverWith({}, echo);
  EXPECT_THAT(converse(*server, "hello there\r\n\r\n"), StartsWith("HTTP/1.1 400 Bad Request\r\n"));
}

TEST(HttpServerTest, RefusesAHeaderAboveTheLimit) {
  const auto server = serverWith({.maxHeader = 1024}, echo);
  EXPECT_THAT(converse(*server, "GET / HTTP/1.1\r\nX: " + std::string(2000, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431"));
}

TEST(HttpServerTest, RefusesABodyAboveTheLimitAndTheAnswerArrives) {
  const auto server = serverWith({.maxBody = 1000}, echo);
  const std::string body(300000, 'x');
  const std::string text = converse(*server, "POST / HTTP/1.1\r\nContent-Length: 300000\r\n\r\n" + body);
  EXPECT_THAT(text, AllOf(StartsWith("HTTP/1.1 413"), HasSubstr("larger than this server accepts")));
}

TEST(HttpServerTest, EndsARequestThatArrivesTooSlowly) {
  const auto server = serverWith({.readTimeout = milliseconds(50)}, echo);
  EXPECT_THAT(converse(*server, "GET / HTTP/1.1\r\nHos"), StartsWith("HTTP/1.1 408"));
}

TEST(HttpServerTest, ClosesAnIdleConnectionWithoutAWord) {
  const auto server = serverWith({.idleTimeout = milliseconds(50)}, echo);
  EXPECT_EQ(converse(*server, ""), "");
}

TEST(HttpServerTest, AnswersOneConnectionTooManyWith503) {
  const auto server = serverWith({.maxConnections = 1}, echo);
  RawClient first(server->port());
  first.send("GET /first HTTP/1.1\r\n\r\n");
  EXPECT_THAT(first.readUntil("/first|"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(converse(*server, "GET /second HTTP/1.1\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After: 1\r\n")));
}

TEST(HttpServerTest, TakesConnectionsAgainWhenOneHasEnded) {
  const auto server = serverWith({.maxConnections = 1}, echo);
  const std::string close = "GET / HTTP/1.1\r\nConnection: close\r\n\r\n";
  EXPECT_THAT(converse(*server, close), StartsWith("HTTP/1.1 200"));
  // The thread of the first may need a moment more than its client to see the end.
  const Deadline deadline = Deadline::after(kPatience);
  std::string text;
  while (!text.starts_with("HTTP/1.1 200") && !deadline.expired()) {
    text = converse(*server, close);
  }
  EXPECT_THAT(text, StartsWith("HTTP/1.1 200"));
}

TEST(HttpServerTest, StreamsChunksAsTheyAreWritten) {
  std::promise<void> seen;
  const auto server = serverWith({}, [&](const HttpRequest&, HttpReply& reply) {
    EXPECT_TRUE(reply.startStream(200, {{"Content-Type", "application/json"}}));
    EXPECT_TRUE(reply.write("first\n"));
    seen.get_future().wait();
    EXPECT_TRUE(reply.write("second\n"));
  });
  RawClient client(server->port());
  client.send("GET /watch HTTP/1.1\r\n\r\n");
  EXPECT_THAT(client.readUntil("6\r\nfirst\n\r\n"), HasSubstr("Transfer-Encoding: chunked\r\n"));
  seen.set_value();
  EXPECT_EQ(client.readUntil("0\r\n\r\n"), "7\r\nsecond\n\r\n0\r\n\r\n");
}

TEST(HttpServerTest, StreamsToHttp10ByClosingAtTheEnd) {
  const auto server = serverWith({}, [](const HttpRequest&, HttpReply& reply) {
    EXPECT_TRUE(reply.startStream(200, {}));
    EXPECT_TRUE(reply.write("plain"));
  });
  EXPECT_THAT(converse(*server, "GET / HTTP/1.0\r\n\r\n"), EndsWith("\r\n\r\nplain"));
}

TEST(HttpServerTest, NoticesAClientThatWentAwayAtTheNextWrite) {
  std::promise<void> gone;
  std::promise<Result<>> outcome;
  const auto server = serverWith({}, [&](const HttpRequest&, HttpReply& reply) {
    EXPECT_TRUE(reply.startStream(200, {}));
    gone.get_future().wait();
    outcome.set_value(reply.write("anyone?"));
  });
  RawClient client(server->port());
  client.send("GET / HTTP/1.1\r\n\r\n");
  client.readUntil("\r\n\r\n");
  client.close();
  gone.set_value();
  const Result<> written = outcome.get_future().get();
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), Code::kUnavailable);
}

TEST(HttpServerTest, EndsAStreamWhoseClientDoesNotRead) {
  std::promise<Code> outcome;
  const auto server =
      serverWith({.writeTimeout = milliseconds(50)}, [&](const HttpRequest&, HttpReply& reply) {
        Result<> written = reply.startStream(200, {});
        const std::string chunk(1 << 20, 'x');
        while (written) {
          written = reply.write(chunk);
        }
        outcome.set_value(written.error().code());
      });
  RawClient client(server->port());
  client.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(outcome.get_future().get(), Code::kDeadlineExceeded);
}

TEST(HttpServerTest, StopEndsStreamsThatWaitAndConnectionsThatAreIdle) {
  std::promise<void> streaming;
  auto server = serverWith({}, [&](const HttpRequest&, HttpReply& reply) {
    EXPECT_TRUE(reply.startStream(200, {}));
    streaming.set_value();
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait(lock, reply.stopToken(), [] { return false; });
    EXPECT_EQ(reply.write("late").error().code(), Code::kCancelled);
  });
  RawClient idle(server->port());
  RawClient client(server->port());
  client.send("GET / HTTP/1.1\r\n\r\n");
  streaming.get_future().wait();
  const auto start = std::chrono::steady_clock::now();
  server.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(5)) << "far below every timeout of the server";
  EXPECT_THAT(client.readAll(), EndsWith("0\r\n\r\n"));
  EXPECT_EQ(idle.readAll(), "");
}

TEST(HttpServerTest, AnswersForAHandlerThatThrowsOrSaysNothing) {
  const auto server = serverWith({}, [](const HttpRequest& request, HttpReply&) {
    if (request.target == "/throw") {
      throw std::runtime_error("boom");
    }
  });
  RawClient client(server->port());
  client.send("GET /throw HTTP/1.1\r\n\r\n");
  EXPECT_THAT(client.readUntil("boom\n"), StartsWith("HTTP/1.1 500 Internal Server Error\r\n"));
  client.send("GET /silent HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.readAll(), StartsWith("HTTP/1.1 500 Internal Server Error\r\n"));
}

TEST(HttpServerTest, CutsTheStreamOfAHandlerThatThrows) {
  const auto server = serverWith({}, [](const HttpRequest&, HttpReply& reply) {
    EXPECT_TRUE(reply.startStream(200, {}));
    EXPECT_TRUE(reply.write("half"));
    throw std::runtime_error("boom");
  });
  EXPECT_THAT(converse(*server, "GET / HTTP/1.1\r\n\r\n"), EndsWith("4\r\nhalf\r\n"));
}

TEST(HttpServerTest, NamesAddressAndPortWhenItCannotListen) {
  const auto first = serverWith({}, echo);
  const auto second = HttpServer::listen({.port = first->port()}, echo);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().toString(), AllOf(HasSubstr("127.0.0.1 port " + std::to_string(first->port())),
                                               HasSubstr("Address already in use")));
  const auto nonsense = HttpServer::listen({.address = "300.1.1.1"}, echo);
  ASSERT_FALSE(nonsense);
  EXPECT_EQ(nonsense.error().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace mainstay
