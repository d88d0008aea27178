#include "local/api/api_server.h"

#include "local/api/eviction.h"
#include "local/api/garbage.h"
#include "local/api/json_access.h"
#include "local/api/validation.h"

namespace mainstay::local {
namespace {

constexpr const char* kFirstNamespaces[] = {"default", "kube-node-lease", "kube-public", "kube-system"};

Answer toAnswer(const Refusal& refusal) {
  return {refusal.code, refusal.toStatus(), ""};
}

bool isWatch(const Query& query) {
  const std::string text = queryValue(query, "watch");
  return text == "true" || text == "1";
}

WriteOptions writeOptions(const Query& query) {
  WriteOptions options;
  options.manager = queryValue(query, "fieldManager");
  if (options.manager.empty()) {
    options.manager = "unknown";
  }
  options.dryRun = !queryValue(query, "dryRun").empty();
  options.strict = queryValue(query, "fieldValidation") == "Strict";
  options.force = queryValue(query, "force") == "true";
  return options;
}

// What an apply must say, and nobody else may.
Outcome<> checkPatchOptions(const kube::ApiRequest& request) {
  static const api::Resource kOptions{"meta.k8s.io", "v1", "patchoptions", "PatchOptions", false};
  const bool applies = request.kind == kube::Body::kApplyPatch;
  if (applies && queryValue(request.query, "fieldManager").empty()) {
    return refuse(invalid(kOptions, "", {requiredValue("fieldManager", "is required for apply patch")}));
  }
  if (!applies && !queryValue(request.query, "force").empty()) {
    return refuse(
        invalid(kOptions, "", {forbiddenValue("force", "may not be specified for non-apply patch")}));
  }
  return {};
}

Refusal refusalOf(const Fault& fault) {
  return {fault.status, fault.reason, fault.message, {}, fault.retryAfterSeconds};
}

bool isShortNumber(const std::string& text) {
  return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
}

// A watch's "resourceVersion": absent and 0 begin with everything that is there.
Outcome<std::optional<std::uint64_t>> watchStart(const Query& query) {
  const std::string text = queryValue(query, "resourceVersion");
  if (text.empty() || text == "0" || queryValue(query, "sendInitialEvents") == "true") {
    return std::nullopt;
  }
  const bool digits = text.size() < 20 && text.find_first_not_of("0123456789") == std::string::npos;
  if (!digits) {
    return refuse(badRequest("resourceVersion: Invalid value: \"" + text + "\""));
  }
  return std::stoull(text);
}

std::vector<std::string> containerNames(const Json& pod) {
  std::vector<std::string> names;
  for (const char* list : {"containers", "initContainers"}) {
    for (const Json& container : arrayAt(pod, "spec", list)) {
      names.push_back(findString(container, "name"));
    }
  }
  return names;
}

Outcome<std::string> chooseContainer(const Json& pod, const std::string& wanted) {
  const std::string podName = findString(pod, "metadata", "name");
  const std::vector<std::string> names = containerNames(pod);
  if (wanted.empty() && names.size() == 1) {
    return names.front();
  }
  for (const std::string& name : names) {
    if (name == wanted) {
      return name;
    }
  }
  if (!wanted.empty()) {
    return refuse(badRequest("container " + wanted + " is not valid for pod " + podName));
  }
  std::string choices;
  for (const std::string& name : names) {
    choices += (choices.empty() ? "" : " ") + name;
  }
  return refuse(badRequest("a container name must be specified for pod " + podName + ", choose one of: [" +
                           choices + "]"));
}

}  // namespace

std::string verbOf(const std::string& method, const Query& query, bool hasName) {
  if (method == "GET") {
    return isWatch(query) ? "watch" : hasName ? "get" : "list";
  }
  if (method == "DELETE") {
    return hasName ? "delete" : "deletecollection";
  }
  return method == "POST" ? "create" : method == "PUT" ? "update" : method == "PATCH" ? "patch" : method;
}

ApiServer::ApiServer(const Clock& clock, Options options)
    : clock_(clock), store_(options.history), registry_(clock, store_, kinds_, options.seed) {
  createNamespaces();
}

void ApiServer::createNamespaces() {
  const Target namespaces{kinds_.find("", "v1", "namespaces"), "", "", ""};
  for (const char* name : kFirstNamespaces) {
    const Json body = JsonObject{{"metadata", JsonObject{{"name", name}}}};
    // A new store refuses none of these.
    static_cast<void>(registry_.create(namespaces, body, {"kube-apiserver", false, false}));
  }
}

Outcome<Target> ApiServer::resolve(const std::string& path) const {
  std::lock_guard lock(mutex_);
  return kinds_.resolve(path);
}

std::optional<Json> ApiServer::aggregatedDiscovery(const std::string& path) const {
  std::lock_guard lock(mutex_);
  return kinds_.aggregated(path);
}

Answer ApiServer::call(const kube::ApiRequest& request) {
  Outcome<Answer> answer = dispatch(request);
  return answer ? *std::move(answer) : toAnswer(answer.error());
}

Outcome<Answer> ApiServer::dispatch(const kube::ApiRequest& request) {
  std::unique_lock lock(mutex_);
  if (request.method == "GET") {
    if (auto document = kinds_.document(request.path)) {
      return Answer{200, *std::move(document), ""};
    }
  }
  MAINSTAY_ASSIGN(const Target target, kinds_.resolve(request.path));
  const auto fault =
      faults_.takeError(verbOf(request.method, request.query, !target.name.empty()), request.path);
  if (fault) {
    return refuse(refusalOf(*fault));
  }
  if (target.subresource == "log") {
    lock.unlock();
    MAINSTAY_ASSIGN(const LogRequest wanted, logRequest(request.path, request.query));
    MAINSTAY_ASSIGN(const LogSource::Chunk chunk, readLog(wanted, 0));
    return Answer{200, Json(), chunk.text};
  }
  return request.method == "GET" ? read(target, request) : write(target, request);
}

Outcome<Answer> ApiServer::read(const Target& target, const kube::ApiRequest& request) {
  MAINSTAY_ASSIGN(Json found,
                  target.name.empty() ? registry_.list(target, request.query) : registry_.get(target));
  return Answer{200, std::move(found), ""};
}

Outcome<Answer> ApiServer::write(const Target& target, const kube::ApiRequest& request) {
  const WriteOptions options = writeOptions(request.query);
  if (request.method == "POST") {
    return post(target, request, options);
  }
  if (request.method == "DELETE") {
    MAINSTAY_ASSIGN(const DeleteOptions how, parseDeleteOptions(request.body, request.query));
    MAINSTAY_ASSIGN(Json gone, target.name.empty() ? registry_.removeAll(target, how, request.query)
                                                   : registry_.remove(target, how));
    return Answer{200, std::move(gone), ""};
  }
  const bool scalable = target.subresource.empty() || target.subresource == "status";
  if (target.name.empty() || !scalable) {
    return refuse(methodNotAllowed());
  }
  if (request.method == "PUT") {
    MAINSTAY_ASSIGN(Json stored, registry_.update(target, request.body, options));
    return Answer{200, std::move(stored), ""};
  }
  return request.method == "PATCH" ? patch(target, request, options) : refuse(methodNotAllowed());
}

Outcome<Answer> ApiServer::patch(const Target& target, const kube::ApiRequest& request,
                                 const WriteOptions& options) {
  MAINSTAY_TRY(checkPatchOptions(request));
  if (request.kind != kube::Body::kApplyPatch) {
    MAINSTAY_ASSIGN(Json stored, registry_.patch(target, request.kind, request.body, options));
    return Answer{200, std::move(stored), ""};
  }
  const bool created = !registry_.get(target);
  MAINSTAY_ASSIGN(Json stored, registry_.apply(target, request.body, options));
  return Answer{created ? 201 : 200, std::move(stored), ""};
}

Outcome<Answer> ApiServer::post(const Target& target, const kube::ApiRequest& request,
                                const WriteOptions& options) {
  if (target.subresource == "eviction") {
    MAINSTAY_ASSIGN(Json status, evictPod(registry_, target, request.body, options.dryRun));
    return Answer{201, std::move(status), ""};
  }
  if (target.subresource == "binding") {
    MAINSTAY_ASSIGN(Json status, bindPod(registry_, target, request.body));
    return Answer{201, std::move(status), ""};
  }
  const bool missesNamespace = target.kind->resource.namespaced && target.ns.empty();
  if (!target.name.empty() || missesNamespace) {
    return refuse(methodNotAllowed());
  }
  MAINSTAY_ASSIGN(Json created, registry_.create(target, request.body, options));
  return Answer{201, std::move(created), ""};
}

Outcome<std::unique_ptr<Watch>> ApiServer::watch(const std::string& path, const Query& query,
                                                 Signal& signal) {
  std::lock_guard lock(mutex_);
  MAINSTAY_ASSIGN(const Target target, kinds_.resolve(path));
  const auto fault = faults_.takeError("watch", path);
  if (fault) {
    return refuse(refusalOf(*fault));
  }
  if (!target.subresource.empty()) {
    return refuse(methodNotAllowed());
  }
  WatchOptions options;
  options.ns = target.ns;
  MAINSTAY_ASSIGN(options.filter, parseFilter(target.kind->resource, query));
  if (!target.name.empty()) {
    options.filter.fields.push_back({"metadata.name", target.name, true});
  }
  MAINSTAY_ASSIGN(options.from, watchStart(query));
  if (const std::string seconds = queryValue(query, "timeoutSeconds"); isShortNumber(seconds)) {
    options.end = clock_.now() + std::chrono::seconds(std::stol(seconds));
  }
  options.bookmarks = queryValue(query, "allowWatchBookmarks") == "true";
  options.initialEnd = options.bookmarks && queryValue(query, "sendInitialEvents") == "true";
  return std::make_unique<Watch>(mutex_, store_, clock_, drops_, target.kind, std::move(options), signal);
}

void ApiServer::serveLogs(LogSource& logs) {
  logs_ = &logs;
}

Outcome<ApiServer::LogRequest> ApiServer::logRequest(const std::string& path, const Query& query) const {
  std::lock_guard lock(mutex_);
  MAINSTAY_ASSIGN(const Target target, kinds_.resolve(path));
  MAINSTAY_ASSIGN(Json pod, registry_.get(target));
  MAINSTAY_ASSIGN(std::string container, chooseContainer(pod, queryValue(query, "container")));
  if (findString(pod, "spec", "nodeName").empty()) {
    return refuse(badRequest("pod " + target.name + " does not have a host assigned"));
  }
  return LogRequest{std::move(pod), std::move(container), queryValue(query, "previous") == "true"};
}

Outcome<LogSource::Chunk> ApiServer::readLog(const LogRequest& request, std::uint64_t offset) const {
  LogSource* logs = logs_;
  if (!logs) {
    return refuse({503, "ServiceUnavailable", "no kubelet serves logs here", {}, std::nullopt});
  }
  auto chunk = logs->read(request.pod, request.container, request.previous, offset);
  if (!chunk) {
    const bool missing = chunk.error().code() == Code::kNotFound;
    return refuse({missing ? 400 : 500,
                   missing ? "BadRequest" : "InternalError",
                   chunk.error().toString(),
                   {},
                   std::nullopt});
  }
  return *std::move(chunk);
}

void ApiServer::dropWatches() {
  std::lock_guard lock(mutex_);
  ++drops_;
  store_.wakeListeners();
}

void ApiServer::compact() {
  std::lock_guard lock(mutex_);
  store_.compact();
}

std::shared_ptr<Loop> ApiServer::housekeeper() {
  return std::make_shared<Housekeeper>(mutex_, store_, registry_);
}

}  // namespace mainstay::local
