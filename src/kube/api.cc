#include "kube/api.h"

namespace mainstay::kube {
namespace {

// kubectl's and client-go's page size; the rest of a large list follows by its continue token.
constexpr int kPageSize = 500;
// A million objects: more than one cluster can hold, and the end of a server that never ends its list.
constexpr int kMaxPages = 2000;
// What a proxy in between has to say is quoted to here.
constexpr std::size_t kMaxQuote = 256;

Code codeOfReason(std::string_view reason, int httpStatus) {
  struct Row {
    std::string_view reason;
    Code code;
  };
  // metav1.StatusReason; where a reason is finer than the HTTP status it decides.
  static constexpr Row kRows[] = {
      {"AlreadyExists", Code::kAlreadyExists},
      {"Conflict", Code::kConflict},
      {"Expired", Code::kGone},
      {"Gone", Code::kGone},
      {"NotFound", Code::kNotFound},
      {"TooManyRequests", Code::kResourceExhausted},
      {"Forbidden", Code::kPermissionDenied},
      {"Unauthorized", Code::kUnauthenticated},
      {"ServerTimeout", Code::kUnavailable},
      {"ServiceUnavailable", Code::kUnavailable},
      {"Timeout", Code::kDeadlineExceeded},
      {"Invalid", Code::kInvalidArgument},
  };
  for (const Row& row : kRows) {
    if (row.reason == reason) {
      return row.code;
    }
  }
  switch (httpStatus) {
    case 401:
      return Code::kUnauthenticated;
    case 403:
      return Code::kPermissionDenied;
    case 404:
      return Code::kNotFound;
    case 409:
      return Code::kConflict;
    case 410:
      return Code::kGone;
    case 429:
      return Code::kResourceExhausted;
    case 502:
    case 503:
      return Code::kUnavailable;
    case 504:
      return Code::kDeadlineExceeded;
    default:
      return httpStatus >= 400 && httpStatus < 500 ? Code::kInvalidArgument : Code::kInternal;
  }
}

std::string statusText(int httpStatus, const Json& body) {
  std::string text = findString(body, "message");
  if (text.empty() && body.is_string()) {
    text = std::string(body.get_string()).substr(0, kMaxQuote);
  }
  const std::string status = "HTTP " + std::to_string(httpStatus);
  return text.empty() ? status : text + " (" + status + ")";
}

std::optional<Duration> retryAfterOf(const Json& body) {
  const Json* seconds = find(body, "details", "retryAfterSeconds");
  if (!seconds || !seconds->is_int64() || seconds->get_int64() <= 0) {
    return std::nullopt;
  }
  return std::chrono::seconds(std::min<std::int64_t>(seconds->get_int64(), 3600));
}

Query managedBy(std::string_view manager) {
  return {{"fieldManager", std::string(manager)}};
}

std::string describe(std::string_view verb, const api::Resource& resource, const std::string& ns,
                     const std::string& name, const std::string& subresource = "") {
  std::string text = std::string(verb) + " " + resource.kind;
  if (!name.empty()) {
    text += " " + (ns.empty() ? name : ns + "/" + name);
  }
  return subresource.empty() ? text : text + " (" + subresource + ")";
}

Result<Json> callNamed(Api& api, const ApiRequest& request, std::string context) {
  Result<Json> answer = api.call(request, Deadline::after(kCallTimeout));
  if (!answer) {
    answer.error().with(std::move(context));
  }
  return answer;
}

// Deletes and evictions name the very object that is meant, and how it may end.
Json deleteOptions(const std::string& uid, std::optional<int> graceSeconds) {
  JsonObject options;
  if (!uid.empty()) {
    options["preconditions"] = JsonObject{{"uid", uid}};
  }
  if (graceSeconds) {
    options["gracePeriodSeconds"] = *graceSeconds;
  }
  return options;
}

struct Page {
  ObjectList content;
  std::string next;  // continue token; "" = this was the last
};

Result<Page> listPage(Api& api, const api::Resource& resource, const std::string& ns, Query query,
                      const std::string& next, bool paged) {
  if (paged) {
    query.emplace_back("limit", std::to_string(kPageSize));
  }
  if (!next.empty()) {
    query.emplace_back("continue", next);
  }
  ApiRequest request{.path = resource.path(ns), .query = std::move(query)};
  MAINSTAY_ASSIGN(Json body, callNamed(api, request, describe("listing", resource, "", "")));
  Json* items = body.is_object() ? body.get_object().if_contains("items") : nullptr;
  const std::string version = findString(body, "metadata", "resourceVersion");
  if (version.empty() || !items || !(items->is_array() || items->is_null())) {
    return fail(Code::kInternal, describe("listing", resource, "", "") +
                                     ": the answer is not a list (no items or no resourceVersion)");
  }
  Page page{.content = {.items = {}, .resourceVersion = version},
            .next = findString(body, "metadata", "continue")};
  if (items->is_array()) {
    for (Json& item : items->get_array()) {
      page.content.items.push_back(std::move(item));
    }
  }
  return page;
}

Result<ObjectList> listInPages(Api& api, const api::Resource& resource, const std::string& ns,
                               const Query& selectors) {
  ObjectList all;
  std::string next;
  for (int page = 0; page < kMaxPages; ++page) {
    Result<Page> part = listPage(api, resource, ns, selectors, next, true);
    if (!part && part.error().code() == Code::kGone && !next.empty()) {
      // The snapshot behind the token was compacted while we read: one unpaged list is consistent again.
      part = listPage(api, resource, ns, selectors, "", false);
      all.items.clear();
    }
    if (!part) {
      return fail(std::move(part).error());
    }
    std::move(part->content.items.begin(), part->content.items.end(), std::back_inserter(all.items));
    all.resourceVersion = std::move(part->content.resourceVersion);
    next = std::move(part->next);
    if (next.empty()) {
      return all;
    }
  }
  return fail(Code::kResourceExhausted, describe("listing", resource, "", "") + ": no end after " +
                                            std::to_string(kMaxPages) + " pages");
}

}  // namespace

std::string_view contentType(Body body) {
  switch (body) {
    case Body::kNone:
      return "";
    case Body::kJson:
      return "application/json";
    case Body::kMergePatch:
      return "application/merge-patch+json";
    case Body::kStrategicMergePatch:
      return "application/strategic-merge-patch+json";
    case Body::kJsonPatch:
      return "application/json-patch+json";
    case Body::kApplyPatch:
      return "application/apply-patch+yaml";
  }
  return "";
}

Error statusError(int httpStatus, const Json& body, std::optional<Duration> retryAfter) {
  Error error(codeOfReason(findString(body, "reason"), httpStatus), statusText(httpStatus, body));
  if (const auto wait = retryAfter ? retryAfter : retryAfterOf(body)) {
    error.setRetryAfter(*wait);
  }
  return error;
}

Result<Json> get(Api& api, const api::Resource& resource, const std::string& ns, const std::string& name) {
  const ApiRequest request{.path = resource.path(ns, name)};
  return callNamed(api, request, describe("reading", resource, ns, name));
}

Result<Json> create(Api& api, const api::Resource& resource, const std::string& ns, const Json& object,
                    std::string_view manager) {
  const ApiRequest request{.method = "POST",
                           .path = resource.path(ns),
                           .query = managedBy(manager),
                           .kind = Body::kJson,
                           .body = object};
  return callNamed(api, request, describe("creating", resource, ns, findString(object, "metadata", "name")));
}

Result<Json> update(Api& api, const api::Resource& resource, const Json& object, std::string_view manager,
                    const std::string& subresource) {
  const std::string ns = findString(object, "metadata", "namespace");
  const std::string name = findString(object, "metadata", "name");
  const ApiRequest request{.method = "PUT",
                           .path = resource.path(ns, name, subresource),
                           .query = managedBy(manager),
                           .kind = Body::kJson,
                           .body = object};
  return callNamed(api, request, describe("updating", resource, ns, name, subresource));
}

Result<Json> patch(Api& api, const api::Resource& resource, const std::string& ns, const std::string& name,
                   Body kind, const Json& patch, std::string_view manager, const std::string& subresource) {
  const ApiRequest request{.method = "PATCH",
                           .path = resource.path(ns, name, subresource),
                           .query = managedBy(manager),
                           .kind = kind,
                           .body = patch};
  return callNamed(api, request, describe("patching", resource, ns, name, subresource));
}

Result<> remove(Api& api, const api::Resource& resource, const std::string& ns, const std::string& name,
                const std::string& uid, std::optional<int> graceSeconds) {
  Json options = deleteOptions(uid, graceSeconds);
  options.get_object()["apiVersion"] = "v1";
  options.get_object()["kind"] = "DeleteOptions";
  const ApiRequest request{
      .method = "DELETE", .path = resource.path(ns, name), .kind = Body::kJson, .body = std::move(options)};
  MAINSTAY_TRY(callNamed(api, request, describe("deleting", resource, ns, name)));
  return {};
}

Result<> evict(Api& api, const std::string& ns, const std::string& pod, const std::string& uid) {
  const Json eviction = JsonObject{{"apiVersion", "policy/v1"},
                                   {"kind", "Eviction"},
                                   {"metadata", JsonObject{{"name", pod}, {"namespace", ns}}},
                                   {"deleteOptions", deleteOptions(uid, std::nullopt)}};
  const ApiRequest request{
      .method = "POST", .path = api::kPods.path(ns, pod, "eviction"), .kind = Body::kJson, .body = eviction};
  MAINSTAY_TRY(callNamed(api, request, describe("evicting", api::kPods, ns, pod)));
  return {};
}

Result<ObjectList> list(Api& api, const api::Resource& resource, const std::string& ns, Query selectors) {
  return listInPages(api, resource, ns, selectors);
}

}  // namespace mainstay::kube
