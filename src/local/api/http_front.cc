#include "local/api/http_front.h"

#include <algorithm>

#include "base/yaml.h"
#include "local/api/table.h"

namespace mainstay::local {
namespace {

// Of a log that is read at once: the newest part.
constexpr std::size_t kMaxLog = 8u << 20;
// How often a followed log is looked at: it has no signal.
constexpr Duration kLogPoll = std::chrono::milliseconds(100);
// The longest that a watch may last; kube-apiserver takes 30 to 60 minutes.
constexpr Duration kWatchLife = std::chrono::minutes(30);

HttpResponse jsonResponse(int status, const Json& body) {
  HttpResponse response{status, {{"Content-Type", "application/json"}}, toText(body)};
  const Json* wait = find(body, "details", "retryAfterSeconds");
  if (status >= 400 && wait && wait->is_int64()) {
    response.headers["Retry-After"] = std::to_string(wait->get_int64());
  }
  return response;
}

HttpResponse refusalResponse(const Refusal& refusal) {
  return jsonResponse(refusal.code, refusal.toStatus());
}

HttpResponse textResponse(std::string text) {
  return {200, {{"Content-Type", "text/plain"}}, std::move(text)};
}

std::string headerOf(const HttpRequest& request, std::string_view name) {
  const auto at = request.headers.find(name);
  return at == request.headers.end() ? "" : at->second;
}

bool wantsTable(const HttpRequest& request) {
  return headerOf(request, "Accept").find("as=Table") != std::string::npos;
}

// The media type by which a client asks for all of discovery in one document.
constexpr char kAggregated[] = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

bool wantsAggregated(const HttpRequest& request) {
  return headerOf(request, "Accept").find(kAggregated) != std::string::npos;
}

Outcome<kube::Body> bodyKind(const HttpRequest& request) {
  const std::string header = headerOf(request, "Content-Type");
  const std::string type = header.substr(0, header.find(';'));
  for (const kube::Body kind : {kube::Body::kJson, kube::Body::kMergePatch, kube::Body::kStrategicMergePatch,
                                kube::Body::kJsonPatch, kube::Body::kApplyPatch}) {
    const bool isPatch = kind != kube::Body::kJson;
    if (type == contentType(kind) && isPatch == (request.method == "PATCH")) {
      return kind;
    }
  }
  return refuse(unsupportedMediaType(
      request.method == "PATCH" ? "application/json-patch+json, application/merge-patch+json, "
                                  "application/strategic-merge-patch+json, application/apply-patch+yaml"
                                : "application/json"));
}

// What is applied is YAML, of which JSON is a part.
Result<Json> parseBody(kube::Body kind, const std::string& text) {
  if (kind != kube::Body::kApplyPatch || text.starts_with("{")) {
    return parseJson(text);
  }
  MAINSTAY_ASSIGN(auto documents, parseYaml(text, "body"));
  if (documents.size() != 1) {
    return fail(Code::kInvalidArgument,
                "one document is expected, and there are " + std::to_string(documents.size()));
  }
  return std::move(documents.front().value);
}

std::optional<std::size_t> sizeParameter(const Query& query, std::string_view key) {
  const std::string text = queryValue(query, key);
  const bool digits =
      !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
  return digits ? std::optional<std::size_t>(std::stoul(text)) : std::nullopt;
}

std::string lastLines(const std::string& text, std::size_t lines) {
  std::size_t begin = text.size();
  // The newline that ends the text ends its last line.
  for (std::size_t i = 0; i < lines && begin > 0; ++i) {
    const std::size_t newline = begin < 2 ? std::string::npos : text.rfind('\n', begin - 2);
    begin = newline == std::string::npos ? 0 : newline + 1;
  }
  return text.substr(begin);
}

// Watch events as the lines of a stream.
class EventWriter {
 public:
  EventWriter(const Kind& kind, bool tables, bool wholeObjects) : kind_(kind), tables_(tables) {
    options_.wholeObjects = wholeObjects;
  }

  std::string lines(std::vector<kube::WatchEvent> events, TimePoint now) {
    std::string text;
    for (kube::WatchEvent& event : events) {
      if (tables_ && event.type != kube::WatchEvent::Type::kBookmark) {
        options_.now = now;
        event.object = toTable(kind_, event.object, options_);
        options_.header = false;
      }
      text += line(typeName(event.type), std::move(event.object));
    }
    return text;
  }

  static std::string errorLine(const Refusal& refusal) { return line("ERROR", refusal.toStatus()); }

 private:
  static std::string line(const char* type, Json object) {
    return toText(JsonObject{{"type", type}, {"object", std::move(object)}}) + "\n";
  }

  static const char* typeName(kube::WatchEvent::Type type) {
    switch (type) {
      case kube::WatchEvent::Type::kAdded:
        return "ADDED";
      case kube::WatchEvent::Type::kModified:
        return "MODIFIED";
      case kube::WatchEvent::Type::kDeleted:
        return "DELETED";
      case kube::WatchEvent::Type::kBookmark:
        break;
    }
    return "BOOKMARK";
  }

  const Kind& kind_;
  const bool tables_;
  TableOptions options_;
};

}  // namespace

struct HttpFront::Call {
  const HttpRequest& http;
  std::string path;
  Query query;
  bool watches = false;
};

bool isForeignRequest(const HttpRequest& request) {
  std::string host = headerOf(request, "Host");
  if (const std::size_t colon = host.rfind(':'); colon != std::string::npos && !host.ends_with("]")) {
    host.resize(colon);
  }
  const bool loopback =
      host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos;
  const bool local = host.empty() || loopback || host == "localhost" || host == "[::1]";
  return !local || !headerOf(request, "Origin").empty();
}

void HttpFront::handle(const HttpRequest& request, HttpReply& reply) {
  if (isForeignRequest(request)) {
    const std::string why = "requests of web pages, or to a host that is not this machine, are not served";
    reply.send(refusalResponse({403, "Forbidden", why, {}, std::nullopt}));
    return;
  }
  const std::size_t question = request.target.find('?');
  Call call{request, request.target.substr(0, question), {}, false};
  if (question != std::string::npos) {
    call.query = parseQuery(std::string_view(request.target).substr(question + 1));
  }
  const std::string watch = queryValue(call.query, "watch");
  call.watches = request.method == "GET" && (watch == "true" || watch == "1");
  delay(call, reply.stopToken());
  answer(call, reply);
}

void HttpFront::delay(const Call& call, std::stop_token stop) {
  const auto target = server_.resolve(call.path);
  const bool hasName = target && !target->name.empty();
  const Duration wait = server_.faults().takeDelay(verbOf(call.http.method, call.query, hasName), call.path);
  if (wait > Duration::zero()) {
    Signal nothing;
    nothing.waitUntil(clock_, clock_.now() + wait, stop);
  }
}

void HttpFront::answer(const Call& call, HttpReply& reply) {
  const std::vector<std::string> parts = splitPath(call.path);
  const std::string first = parts.empty() ? "" : parts[0];
  if (first == "local") {
    reply.send(controlFaults(call));
  } else if (first == "healthz" || first == "livez" || first == "readyz") {
    reply.send(textResponse("ok"));
  } else if (call.watches) {
    streamWatch(call, reply);
  } else if (call.http.method == "GET" && parts.size() > 2 && parts.back() == "log") {
    streamLog(call, reply);
  } else {
    reply.send(answerOnce(call));
  }
}

HttpResponse HttpFront::answerOnce(const Call& call) {
  if (call.http.method == "GET" && wantsAggregated(call.http)) {
    if (const auto document = server_.aggregatedDiscovery(call.path)) {
      return {200, {{"Content-Type", kAggregated}}, toText(*document)};
    }
  }
  kube::ApiRequest request;
  request.method = call.http.method;
  request.path = call.path;
  request.query = call.query;
  const bool applies = headerOf(call.http, "Content-Type").starts_with(contentType(kube::Body::kApplyPatch));
  if (!applies && queryValue(call.query, "fieldManager").empty()) {
    const std::string agent = headerOf(call.http, "User-Agent");
    request.query.emplace_back("fieldManager", agent.substr(0, agent.find('/')));
  }
  if (!call.http.body.empty()) {
    auto kind = bodyKind(call.http);
    if (!kind) {
      return refusalResponse(kind.error());
    }
    auto body = parseBody(*kind, call.http.body);
    if (!body) {
      return refusalResponse(badRequest("the body cannot be read: " + body.error().toString()));
    }
    request.kind = *kind;
    request.body = *std::move(body);
  }
  const Answer answer = server_.call(request);
  const auto target = server_.resolve(call.path);
  if (call.http.method == "GET" && answer.status == 200 && target && wantsTable(call.http)) {
    const bool whole = queryValue(call.query, "includeObject") == "Object";
    return jsonResponse(200, toTable(*target->kind, answer.body, {true, whole, clock_.now()}));
  }
  return jsonResponse(answer.status, answer.body);
}

void HttpFront::streamWatch(const Call& call, HttpReply& reply) {
  Signal signal;
  auto watch = server_.watch(call.path, call.query, signal);
  if (!watch) {
    reply.send(refusalResponse(watch.error()));
    return;
  }
  const TimePoint end = std::min((*watch)->end(), clock_.now() + kWatchLife);
  EventWriter writer(*(*watch)->kind(), wantsTable(call.http),
                     queryValue(call.query, "includeObject") == "Object");
  auto written = reply.startStream(200, {{"Content-Type", "application/json"}});
  while (written && !reply.stopToken().stop_requested() && clock_.now() < end) {
    auto events = (*watch)->poll();
    if (!events) {
      if (events.error().code == 410) {
        ignore(reply.write(EventWriter::errorLine(events.error())), "the stream ends here in any case");
      }
      return;
    }
    if (!events->empty()) {
      written = reply.write(writer.lines(*std::move(events), clock_.now()));
    } else {
      signal.waitUntil(clock_, std::min(end, (*watch)->bookmarkAt()), reply.stopToken());
    }
  }
}

// What there is of a log by now, its newest part; `chunk` is left where it ends.
Outcome<std::string> HttpFront::wholeLog(const ApiServer::LogRequest& wanted, LogSource::Chunk& chunk) {
  std::string text;
  do {
    MAINSTAY_ASSIGN(chunk, server_.readLog(wanted, chunk.next));
    text += chunk.text;
    text.erase(0, text.size() > kMaxLog ? text.size() - kMaxLog : 0);
  } while (!chunk.text.empty());
  return text;
}

void HttpFront::streamLog(const Call& call, HttpReply& reply) {
  const auto wanted = server_.logRequest(call.path, call.query);
  LogSource::Chunk chunk;
  auto whole = wanted ? wholeLog(*wanted, chunk) : refuse(wanted.error());
  if (!whole) {
    reply.send(refusalResponse(whole.error()));
    return;
  }
  std::string text = *std::move(whole);
  if (const auto lines = sizeParameter(call.query, "tailLines")) {
    text = lastLines(text, *lines);
  }
  if (const auto bytes = sizeParameter(call.query, "limitBytes")) {
    text.resize(std::min(text.size(), *bytes));
  }
  if (queryValue(call.query, "follow") != "true") {
    reply.send(textResponse(std::move(text)));
    return;
  }
  if (reply.startStream(200, {{"Content-Type", "text/plain"}})) {
    followLog(*wanted, std::move(text), std::move(chunk), reply);
  }
}

// Until the container has ended, the node has died, or the client has gone.
void HttpFront::followLog(const ApiServer::LogRequest& wanted, std::string text, LogSource::Chunk chunk,
                          HttpReply& reply) {
  Signal nothing;
  while (!reply.stopToken().stop_requested()) {
    if (!text.empty()) {
      if (!reply.write(text)) {
        return;
      }
    } else if (chunk.ended) {
      return;
    } else {
      nothing.waitUntil(clock_, clock_.now() + kLogPoll, reply.stopToken());
    }
    auto next = server_.readLog(wanted, chunk.next);
    if (!next) {
      return;
    }
    chunk = *std::move(next);
    text = chunk.text;
  }
}

HttpResponse HttpFront::controlFaults(const Call& call) {
  const std::string& method = call.http.method;
  if (call.path == "/local/v1/watches/drop" && method == "POST") {
    server_.dropWatches();
  } else if (call.path == "/local/v1/compact" && method == "POST") {
    server_.compact();
  } else if (call.path == "/local/v1/faults" && method == "DELETE") {
    server_.faults().clear();
  } else if (call.path == "/local/v1/faults" && method == "POST") {
    const auto body = parseJson(call.http.body);
    const auto fault = body ? decodeFault(*body) : fail(body.error());
    if (!fault) {
      return refusalResponse(badRequest(fault.error().toString()));
    }
    server_.faults().arm(*fault);
  } else if (call.path != "/local/v1/faults" || method != "GET") {
    return refusalResponse(unknownPath());
  }
  JsonArray armed;
  for (const Fault& fault : server_.faults().armed()) {
    armed.push_back(encodeFault(fault));
  }
  return jsonResponse(200, JsonObject{{"faults", std::move(armed)}});
}

}  // namespace mainstay::local
