// HttpClient: all HTTP that leaves Mainstay (libcurl). Keep-alive pool, TLS verified, proxies by environment
// unless told otherwise, streaming bodies that stop at once when asked. Errors name method, host and what to
// check, and never the path, the query or a header. The first client of a process makes it ignore SIGPIPE.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/http.h"
#include "base/result.h"

namespace mainstay {

struct HttpClientOptions {
  std::string userAgent = "mainstay/" MAINSTAY_VERSION;
  std::string caCertificates = {};     // PEM; "" = the system's
  std::string clientCertificate = {};  // PEM; "" = none
  std::string clientKey = {};          // PEM
  std::string serverName = {};         // TLS name to verify instead of the URL's host; "" = the host
  bool verifyTls = true;
  bool useProxyEnvironment = true;  // never for loopback addresses
  Duration connectTimeout = std::chrono::seconds(10);
  std::size_t maxBody = 512u << 20;  // a larger answer is an error
};

// When and how often a failed call is tried again. Data, so that each caller states its own.
struct RetryPolicy {
  int attempts = 1;  // in all
  Duration firstWait = std::chrono::milliseconds(100);
  Duration maxWait = std::chrono::seconds(10);
  double factor = 2;
  double jitter = 0.2;  // share of the wait that is random
  // Wait before attempt `next` (2, 3, ...); `random` in [0, 1). A server's Retry-After is honoured as the
  // least wait.
  Duration waitBefore(int next, double random, std::optional<Duration> retryAfter) const;
};

// Thread-safe: a connection is used by one call at a time and returned to the pool.
class HttpClient {
 public:
  explicit HttpClient(HttpClientOptions options);
  ~HttpClient();

  // Any status that arrives is a response, redirects too; only transport troubles are errors: kUnavailable,
  // kDeadlineExceeded, kCancelled, kResourceExhausted (an answer above maxBody), and kInvalidArgument for a
  // URL, method, header or certificate that can never work.
  Result<HttpResponse> send(const HttpRequest& request, Deadline deadline, std::stop_token stop = {});

  // `onHead` once with status and headers (body empty); then `onData` per chunk; returning false from either
  // ends the call with kCancelled. No deadline on the whole; `idleLimit` without a byte ends it with
  // kDeadlineExceeded. A request to stop is obeyed within milliseconds, also while nothing arrives.
  // Both functions run on the caller's thread and must not throw.
  Result<> stream(const HttpRequest& request, std::function<bool(const HttpResponse&)> onHead,
                  std::function<bool(std::string_view)> onData, Duration idleLimit, std::stop_token stop);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mainstay
