#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/descriptor.h"
#include "base/http_client.h"
#include "base/http_server.h"
#include "base/test_certificates.h"

namespace mainstay {
namespace {

using testing::HasSubstr;

Deadline tlsServerPatience() {
  return Deadline::after(std::chrono::seconds(30));
}

class HttpServerTlsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!TestCertificates::available()) {
      GTEST_SKIP() << "there is no openssl program here";
    }
    makeServerCertificate("server");
  }

  void makeServerCertificate(const std::string& name) { certificates_.make(name, "IP:127.0.0.1"); }
  std::string pem(const std::string& name) const { return certificates_.text(name); }
  TlsFiles tls(const std::string& clientCa = "") const {
    return {certificates_.path("server.pem"), certificates_.path("server.key"), clientCa};
  }

  void serve(HttpServerOptions options) {
    auto server = HttpServer::listen(std::move(options), [](const HttpRequest& request, HttpReply& reply) {
      reply.send({.body = request.target + "|" + request.body});
    });
    ASSERT_TRUE(server) << server.error().toString();
    server_ = *std::move(server);
  }
  static std::string errorOf(const TlsFiles& files) {
    const auto server = HttpServer::listen({.tls = files}, [](const HttpRequest&, HttpReply&) {});
    return server ? "" : server.error().toString();
  }

  Result<HttpResponse> send(HttpClient& client, const std::string& body = "") const {
    return client.send({"POST", "https://127.0.0.1:" + std::to_string(server_->port()) + "/x", {}, body},
                       tlsServerPatience());
  }
  Result<HttpResponse> get(HttpClientOptions options) const {
    HttpClient client(std::move(options));
    return send(client);
  }

  // All that the server says to a client that sends these bytes and waits.
  std::string say(std::string_view bytes) const {
    const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(server_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    std::string text;
    const Deadline deadline = tlsServerPatience();
    for (;;) {
      pollfd state{socket.get(), POLLIN, 0};
      if (::poll(&state, 1, pollTimeout(deadline)) <= 0) {
        return text + "<timeout>";
      }
      char buffer[4096];
      const ssize_t count = ::recv(socket.get(), buffer, sizeof buffer, 0);
      if (count <= 0) {
        return text;
      }
      text.append(buffer, static_cast<std::size_t>(count));
    }
  }

  TestCertificates certificates_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTlsTest, AnswersAClientThatVerifiesIt) {
  serve({.tls = tls()});
  HttpClient client({.caCertificates = pem("server.pem")});
  const auto small = send(client, "hello");
  ASSERT_TRUE(small) << small.error().toString();
  EXPECT_EQ(small->body, "/x|hello");
  const std::string large(3 << 20, 'x');
  const auto second = send(client, large);
  ASSERT_TRUE(second) << second.error().toString();
  EXPECT_EQ(second->body, "/x|" + large);
}

TEST_F(HttpServerTlsTest, LetsInOnlyClientsOfTheAuthorityWhenThereIsOne) {
  certificates_.make("client", "DNS:client.test");
  serve({.tls = tls(certificates_.path("client.pem"))});
  const std::string ca = pem("server.pem");
  const auto known =
      get({.caCertificates = ca, .clientCertificate = pem("client.pem"), .clientKey = pem("client.key")});
  EXPECT_TRUE(known) << known.error().toString();
  EXPECT_FALSE(get({.caCertificates = ca}));
  EXPECT_FALSE(get({.caCertificates = ca, .clientCertificate = ca, .clientKey = pem("server.key")}));
}

TEST_F(HttpServerTlsTest, ShowsACertificateThatReplacedTheOldOne) {
  serve({.tls = tls()});
  const std::string before = pem("server.pem");
  EXPECT_TRUE(get({.caCertificates = before}));
  makeServerCertificate("server");
  EXPECT_TRUE(get({.caCertificates = pem("server.pem")}));
  EXPECT_FALSE(get({.caCertificates = before}));
}

TEST_F(HttpServerTlsTest, GoesOnWithTheOldCertificateWhileTheNewOneCannotBeUsed) {
  serve({.tls = tls()});
  const std::string before = pem("server.pem");
  certificates_.make("next", "IP:127.0.0.1");
  certificates_.write("server.pem", pem("next.pem"));  // its key has not been written yet
  EXPECT_TRUE(get({.caCertificates = before}));
  certificates_.write("server.key", pem("next.key"));
  EXPECT_TRUE(get({.caCertificates = pem("next.pem")}));
}

TEST_F(HttpServerTlsTest, TellsAPlainClientWhatItIs) {
  serve({.tls = tls()});
  EXPECT_THAT(say("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
              HasSubstr("Client sent an HTTP request to an HTTPS server"));
}

TEST_F(HttpServerTlsTest, DropsAClientThatDoesNotAgreeInTimeOrSendsNonsense) {
  serve({.tls = tls(), .readTimeout = std::chrono::milliseconds(50)});
  EXPECT_EQ(say(""), "");
  EXPECT_EQ(say("\x16\x03\x01"), "") << "the beginning of a hello";
  EXPECT_THAT(say(std::string(300, '\xff')), testing::Not(HasSubstr("<timeout>")));
}

TEST_F(HttpServerTlsTest, RefusesOldVersions) {
  serve({.tls = tls()});
  const auto output =
      run({.arguments = {"openssl", "s_client", "-connect", "127.0.0.1:" + std::to_string(server_->port()),
                         "-tls1_1", "-cipher", "ALL:@SECLEVEL=0"},
           .environment = safeEnvironment()},
          tlsServerPatience());
  ASSERT_TRUE(output) << output.error().toString();
  EXPECT_NE(output->status.code, 0);
  EXPECT_THAT(output->text, HasSubstr("protocol version"));
}

TEST_F(HttpServerTlsTest, StopsWhileAClientIsInTheMiddleOfAgreeing) {
  serve({.tls = tls()});
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(server_->port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  server_.reset();
}

TEST_F(HttpServerTlsTest, NamesTheFileThatCannotBeUsed) {
  certificates_.make("other", "DNS:other.test");
  const std::string certificate = certificates_.path("server.pem");
  EXPECT_THAT(errorOf({.certificate = certificate}), HasSubstr("needs its private key"));
  EXPECT_THAT(errorOf({.certificate = "/no/such.pem", .key = "/no/such.key"}), HasSubstr("/no/such.pem"));
  const std::string wrongKey = errorOf({.certificate = certificate, .key = certificates_.path("other.key")});
  EXPECT_THAT(wrongKey, HasSubstr("other.key"));
  EXPECT_THAT(wrongKey, HasSubstr("mismatch"));
  EXPECT_THAT(errorOf({certificate, certificates_.path("server.key"), "/no/ca.pem"}),
              HasSubstr("/no/ca.pem"));
}

}  // namespace
}  // namespace mainstay
