// HttpApi: Api over HTTP(S): one keep-alive pool, one token, one rate limit, shared by everything in the
// program that talks to this API server.
#pragma once

#include <memory>
#include <string>

#include "base/http_client.h"
#include "kube/api.h"
#include "kube/config.h"
#include "kube/token_bucket.h"
#include "kube/token_source.h"

namespace mainstay::kube {

struct HttpApiOptions {
  std::string userAgent = "mainstay/" MAINSTAY_VERSION;
  // Client-side limit on requests; 0 = none. Isolating 100 nodes a second takes a read and a write each.
  double qps = 300;
  int burst = 600;
  // A watch that brings nothing for so long is taken for dead. API servers send a bookmark every 60 to 75 s.
  Duration watchIdleLimit = std::chrono::seconds(150);
};

// Thread-safe. Streams must be gone before their HttpApi is.
class HttpApi final : public Api {
 public:
  // `files` (for the token) and `clock` must outlive it.
  HttpApi(Config config, const FileSystem& files, const Clock& clock, HttpApiOptions options = {});

  // Waits for its turn under the rate limit when that comes before the deadline, else kResourceExhausted and
  // nothing is sent. A 401 is tried once more when the token file holds another token by now.
  Result<Json> call(const ApiRequest& request, Deadline deadline) override;
  // Waits for the answer's head, at most kCallTimeout, so that a refusal is this call's error. After it a
  // named thread reads the stream into a bounded channel: a slow reader slows the server down. The stream's
  // destructor stops it at once.
  Result<std::unique_ptr<WatchStream>> watch(const std::string& path, Query query, Signal& signal) override;

  const Config& config() const { return config_; }

 private:
  Result<HttpRequest> build(const ApiRequest& request);
  Result<HttpResponse> send(const ApiRequest& request, Deadline deadline);
  Result<std::unique_ptr<WatchStream>> open(const ApiRequest& request, Signal& signal);
  Result<> awaitTurn(Deadline deadline);

  const Config config_;
  const Clock& clock_;
  const HttpApiOptions options_;
  TokenSource token_;
  TokenBucket bucket_;
  HttpClient client_;
};

}  // namespace mainstay::kube
