#include "kube/http_api.h"

#include "kube/http_watch.h"

namespace mainstay::kube {
namespace {

HttpClientOptions clientOptions(const Config& config, const HttpApiOptions& options,
                                const Credential& credential) {
  const bool own = credential.clientCertificate.empty();
  HttpClientOptions client;
  client.userAgent = options.userAgent;
  client.caCertificates = config.caCertificates;
  client.clientCertificate = own ? config.clientCertificate : credential.clientCertificate;
  client.clientKey = own ? config.clientKey : credential.clientKey;
  client.serverName = config.serverName;
  client.verifyTls = config.verifyTls;
  return client;
}

// JSON as it is; other text (a pod's log, "ok" of /livez) as a JSON string.
Result<Json> readBody(HttpResponse response) {
  const auto type = response.headers.find("Content-Type");
  if (response.body.empty()) {
    return Json(JsonObject());
  }
  if (type != response.headers.end() && !type->second.starts_with("application/json")) {
    return Json(response.body);
  }
  return parseJson(response.body);
}

// "/api/v1/nodes" -> "watch:nodes", which `top -H` shows.
std::string threadName(const std::string& path) {
  return "watch:" + path.substr(path.rfind('/') + 1);
}

}  // namespace

HttpApi::HttpApi(Config config, const FileSystem& files, const Clock& clock, HttpApiOptions options)
    : config_(std::move(config)),
      clock_(clock),
      options_(std::move(options)),
      credentials_(makeCredentialSource(config_, files)),
      bucket_(options_.qps, options_.burst),
      client_(std::make_shared<HttpClient>(clientOptions(config_, options_, {}))) {}

Result<Json> HttpApi::call(const ApiRequest& request, Deadline deadline) {
  MAINSTAY_TRY(awaitTurn(deadline));
  MAINSTAY_ASSIGN(Credential credential, credentials_->current(clock_.now()));
  Result<HttpResponse> response = send(request, credential, deadline);
  if (response && response->status == 401 && credentials_->refresh(credential, clock_.now())) {
    MAINSTAY_ASSIGN(credential, credentials_->current(clock_.now()));
    response = send(request, credential, deadline);
  }
  if (!response) {
    return fail(std::move(response).error().with("API server " + config_.server));
  }
  if (response->status == 401) {
    return fail(responseError(*response).with("with the credentials of " + config_.origin));
  }
  if (response->status < 200 || response->status > 299) {
    return fail(responseError(*response));
  }
  return readBody(*std::move(response));
}

Result<std::unique_ptr<WatchStream>> HttpApi::watch(const std::string& path, Query query, Signal& signal) {
  query.emplace_back("watch", "true");
  query.emplace_back("allowWatchBookmarks", "true");
  const ApiRequest request{.path = path, .query = std::move(query)};
  MAINSTAY_TRY(awaitTurn(Deadline::after(kCallTimeout)));
  MAINSTAY_ASSIGN(Credential credential, credentials_->current(clock_.now()));
  Result<std::unique_ptr<WatchStream>> stream = open(request, credential, signal);
  if (!stream && stream.error().code() == Code::kUnauthenticated &&
      credentials_->refresh(credential, clock_.now())) {
    MAINSTAY_ASSIGN(credential, credentials_->current(clock_.now()));
    stream = open(request, credential, signal);
  }
  if (!stream) {
    stream.error().with("watching " + path);
  }
  return stream;
}

Result<std::unique_ptr<WatchStream>> HttpApi::open(const ApiRequest& request, const Credential& credential,
                                                   Signal& signal) {
  auto stream = std::make_unique<HttpWatch>(clientFor(credential), build(request, credential),
                                            options_.watchIdleLimit, threadName(request.path), signal);
  MAINSTAY_TRY(stream->awaitHead(Deadline::after(kCallTimeout)));
  return stream;
}

Result<HttpResponse> HttpApi::send(const ApiRequest& request, const Credential& credential,
                                   Deadline deadline) {
  return clientFor(credential)->send(build(request, credential), deadline);
}

std::shared_ptr<HttpClient> HttpApi::clientFor(const Credential& credential) {
  const std::lock_guard lock(mutex_);
  if (certificate_ != credential.clientCertificate) {
    client_ = std::make_shared<HttpClient>(clientOptions(config_, options_, credential));
    certificate_ = credential.clientCertificate;
  }
  return client_;
}

HttpRequest HttpApi::build(const ApiRequest& request, const Credential& credential) const {
  HttpRequest http;
  http.method = request.method;
  http.target = config_.server + request.path;
  if (!request.query.empty()) {
    http.target += "?" + formatQuery(request.query);
  }
  http.headers["Accept"] = "application/json";
  if (request.kind != Body::kNone) {
    http.headers["Content-Type"] = contentType(request.kind);
    http.body = toText(request.body);
  }
  if (!credential.token.empty()) {
    http.headers["Authorization"] = "Bearer " + credential.token;
  }
  return http;
}

Result<> HttpApi::awaitTurn(Deadline deadline) {
  const TimePoint now = clock_.now();
  const Duration patience = deadline.left();
  const Duration wait = bucket_.take(now, patience);
  if (wait > patience) {
    Error error(Code::kResourceExhausted, "our own limit of requests to the API server is reached");
    return fail(error.setRetryAfter(wait));
  }
  if (wait > Duration(0)) {
    Signal nobody;
    nobody.waitUntil(clock_, now + wait, {});
  }
  return {};
}

}  // namespace mainstay::kube
