#include "kube/http_api.h"

#include "kube/http_watch.h"

namespace mainstay::kube {
namespace {

HttpClientOptions clientOptions(const Config& config, const HttpApiOptions& options) {
  HttpClientOptions client;
  client.userAgent = options.userAgent;
  client.caCertificates = config.caCertificates;
  client.clientCertificate = config.clientCertificate;
  client.clientKey = config.clientKey;
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
      token_(files, config_.token, config_.tokenFile),
      bucket_(options_.qps, options_.burst),
      client_(clientOptions(config_, options_)) {}

Result<Json> HttpApi::call(const ApiRequest& request, Deadline deadline) {
  MAINSTAY_TRY(awaitTurn(deadline));
  Result<HttpResponse> response = send(request, deadline);
  if (response && response->status == 401 && token_.refresh(clock_.now())) {
    response = send(request, deadline);
  }
  if (!response) {
    return fail(std::move(response).error().with("API server " + config_.server));
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
  Result<std::unique_ptr<WatchStream>> stream = open(request, signal);
  if (!stream && stream.error().code() == Code::kUnauthenticated && token_.refresh(clock_.now())) {
    stream = open(request, signal);
  }
  if (!stream) {
    stream.error().with("watching " + path);
  }
  return stream;
}

Result<std::unique_ptr<WatchStream>> HttpApi::open(const ApiRequest& request, Signal& signal) {
  MAINSTAY_ASSIGN(HttpRequest http, build(request));
  auto stream = std::make_unique<HttpWatch>(client_, std::move(http), options_.watchIdleLimit,
                                            threadName(request.path), signal);
  MAINSTAY_TRY(stream->awaitHead(Deadline::after(kCallTimeout)));
  return stream;
}

Result<HttpResponse> HttpApi::send(const ApiRequest& request, Deadline deadline) {
  MAINSTAY_ASSIGN(const HttpRequest http, build(request));
  return client_.send(http, deadline);
}

Result<HttpRequest> HttpApi::build(const ApiRequest& request) {
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
  MAINSTAY_ASSIGN(const std::string token, token_.current(clock_.now()));
  if (!token.empty()) {
    http.headers["Authorization"] = "Bearer " + token;
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
