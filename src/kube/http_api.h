// HttpApi: Api over HTTP(S): one keep-alive pool, one identity, one rate limit, shared by everything in the
// program that talks to this API server.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/http_client.h"
#include "kube/api.h"
#include "kube/config.h"
#include "kube/credentials.h"
#include "kube/token_bucket.h"

namespace mainstay::kube {

struct HttpApiOptions {
  std::string userAgent = "mainstay/" MAINSTAY_VERSION;
  // Client-side limit on requests; 0 = none. Isolating 100 nodes a second takes four writes each (incident, node,
  // status, Event); the API server's own priority and fairness guards it.
  double qps = 600;
  int burst = 1200;
  // A watch that brings nothing for so long is taken for dead. API servers send a bookmark every 60 to 75 s.
  Duration watchIdleLimit = std::chrono::seconds(150);
};

// Thread-safe. Streams must be gone before their HttpApi is.
class HttpApi final : public Api {
 public:
  // `files` (for a token file) and `clock` must outlive it.
  HttpApi(Config config, const FileSystem& files, const Clock& clock, HttpApiOptions options = {});

  // Waits for its turn under the rate limit when that comes before the deadline, else kResourceExhausted and
  // nothing is sent. A 401 is tried once more when there is another credential by now.
  Result<Json> call(const ApiRequest& request, Deadline deadline) override;
  // Waits for the answer's head, at most kCallTimeout, so that a refusal is this call's error. After it a
  // named thread reads the stream into a bounded channel: a slow reader slows the server down. The stream's
  // destructor stops it at once.
  Result<std::unique_ptr<WatchStream>> watch(const std::string& path, Query query, Signal& signal) override;

  const Config& config() const { return config_; }

 private:
  HttpRequest build(const ApiRequest& request, const Credential& credential) const;
  Result<HttpResponse> send(const ApiRequest& request, const Credential& credential, Deadline deadline);
  Result<std::unique_ptr<WatchStream>> open(const ApiRequest& request, const Credential& credential,
                                            Signal& signal);
  std::shared_ptr<HttpClient> clientFor(const Credential& credential);
  Result<> awaitTurn(Deadline deadline);

  const Config config_;
  const Clock& clock_;
  const HttpApiOptions options_;
  const std::unique_ptr<CredentialSource> credentials_;
  TokenBucket bucket_;
  std::mutex mutex_;
  std::string certificate_;             // guarded by mutex_: the credential's that client_ shows
  std::shared_ptr<HttpClient> client_;  // guarded by mutex_; an old one lives as long as its streams
};

}  // namespace mainstay::kube
