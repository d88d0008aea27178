// Against OpenSSL's own server: what a client must refuse is not to be judged by our own code.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/descriptor.h"
#include "base/http_client.h"
#include "base/subprocess.h"
#include "base/test_certificates.h"

namespace mainstay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Deadline tlsPatience() {
  return Deadline::after(std::chrono::seconds(30));
}

class HttpClientTlsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!TestCertificates::available()) {
      GTEST_SKIP() << "there is no openssl program here";
    }
    certificates_.make("server", "DNS:server.test,IP:127.0.0.1");
    certificates_.make("client", "DNS:client.test");
  }

  std::string path(const std::string& name) const { return certificates_.path(name); }
  std::string pem(const std::string& name) const { return certificates_.text(name); }

  // Starts a server on a free port; it answers every GET with a status page.
  void serve(std::vector<std::string> more = {}) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    output_ = Descriptor(ends[0]);
    const Descriptor childsEnd(ends[1]);
    Command command{.arguments = {"openssl", "s_server", "-accept", "127.0.0.1:0", "-www", "-cert",
                                  path("server.pem"), "-key", path("server.key")},
                    .environment = safeEnvironment(),
                    .outputDescriptor = childsEnd.get()};
    command.arguments.insert(command.arguments.end(), more.begin(), more.end());
    auto started = Subprocess::start(command);
    ASSERT_TRUE(started) << started.error().toString();
    server_.emplace(*std::move(started));
    readPort();
  }

  // From the line "ACCEPT 127.0.0.1:43211".
  void readPort() {
    static constexpr std::string_view kAnnouncement = "ACCEPT 127.0.0.1:";
    const Deadline deadline = tlsPatience();
    std::string text;
    std::size_t at = text.npos;
    while (at == text.npos || text.find('\n', at) == text.npos) {
      pollfd state{output_.get(), POLLIN, 0};
      ASSERT_GT(::poll(&state, 1, pollTimeout(deadline)), 0) << text;
      char buffer[512];
      const ssize_t count = ::read(output_.get(), buffer, sizeof buffer);
      ASSERT_GT(count, 0) << text;
      text.append(buffer, static_cast<std::size_t>(count));
      at = text.find(kAnnouncement);
    }
    url_ = "https://127.0.0.1:" + std::to_string(std::atoi(text.c_str() + at + kAnnouncement.size())) + "/";
  }

  Result<HttpResponse> get(HttpClientOptions options) {
    HttpClient client(std::move(options));
    return client.send({"GET", url_, {}, ""}, tlsPatience());
  }

  TestCertificates certificates_;
  Descriptor output_;
  std::optional<Subprocess> server_;
  std::string url_;
};

TEST_F(HttpClientTlsTest, RefusesACertificateThatNobodyVouchesFor) {
  serve();
  for (const std::string& ca : {std::string(), pem("client.pem")}) {
    const auto response = get({.caCertificates = ca});
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code(), Code::kUnavailable);
    EXPECT_THAT(response.error().toString(),
                AllOf(HasSubstr("GET https://127.0.0.1:"), HasSubstr("certificate is not trusted"),
                      HasSubstr("check the CA certificates")));
  }
}

TEST_F(HttpClientTlsTest, TrustsTheGivenAuthorityForTheNamesInTheCertificate) {
  serve();
  const auto byAddress = get({.caCertificates = pem("server.pem")});
  ASSERT_TRUE(byAddress) << byAddress.error().toString();
  EXPECT_EQ(byAddress->status, 200);
  const auto byName = get({.caCertificates = pem("server.pem"), .serverName = "server.test"});
  EXPECT_TRUE(byName) << byName.error().toString();
  const auto wrongName = get({.caCertificates = pem("server.pem"), .serverName = "other.test"});
  ASSERT_FALSE(wrongName);
  EXPECT_THAT(wrongName.error().toString(), HasSubstr("certificate is not trusted"));
}

TEST_F(HttpClientTlsTest, TalksToAnyoneOnlyWhenVerificationIsSwitchedOff) {
  serve();
  EXPECT_TRUE(get({.verifyTls = false}));
}

TEST_F(HttpClientTlsTest, ShowsItsClientCertificate) {
  serve({"-Verify", "1", "-verify_return_error", "-CAfile", path("client.pem")});
  const std::string ca = pem("server.pem");
  const auto known =
      get({.caCertificates = ca, .clientCertificate = pem("client.pem"), .clientKey = pem("client.key")});
  ASSERT_TRUE(known) << known.error().toString();
  EXPECT_EQ(known->status, 200);
  EXPECT_FALSE(get({.caCertificates = ca}));
}

TEST_F(HttpClientTlsTest, NamesCertificatesThatCannotBeUsed) {
  serve();
  const std::string ca = pem("server.pem");
  const auto wrongKey =
      get({.caCertificates = ca, .clientCertificate = pem("client.pem"), .clientKey = pem("server.key")});
  ASSERT_FALSE(wrongKey);
  EXPECT_EQ(wrongKey.error().code(), Code::kInvalidArgument);
  EXPECT_THAT(wrongKey.error().toString(), HasSubstr("our client certificate or key cannot be used"));
  EXPECT_FALSE(get({.caCertificates = "not a certificate"}));
}

}  // namespace
}  // namespace mainstay
