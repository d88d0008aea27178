#include "cloud/local/local_provider.h"

#include "base/json.h"
#include "cloud/loopback.h"

namespace mainstay::cloud {
namespace {

// Loopback answers at once or not at all.
constexpr Duration kCloudTimeout = std::chrono::seconds(5);
constexpr std::size_t kMaxActivities = 20;

Instance readInstance(const Cursor& at) {
  return {.id = at.at("id").string(),
          .providerId = at.at("providerId").string(),
          .group = at.at("group").string(""),
          .lifecycle = at.at("lifecycle").string(),
          .healthy = at.at("healthStatus").string() == "Healthy",
          .launched = at.at("launchTime").time().value_or(TimePoint{})};
}

Group readGroup(const Cursor& at) {
  Group group{.name = at.at("name").string(),
              .min = static_cast<int>(at.at("minSize").integer()),
              .max = static_cast<int>(at.at("maxSize").integer()),
              .desired = static_cast<int>(at.at("desiredCapacity").integer()),
              .instances = {},
              .activities = {}};
  for (const Cursor& instance : at.at("instances").elements()) {
    group.instances.push_back(readInstance(instance));
  }
  for (const Cursor& activity : at.at("activities").elements()) {
    if (group.activities.size() == kMaxActivities) {
      break;
    }
    group.activities.push_back({.status = activity.at("status").string(),
                                .statusMessage = activity.at("statusMessage").string(""),
                                .started = activity.at("startTime").time().value_or(TimePoint{})});
  }
  return group;
}

template <class T>
Result<T> readAnswer(const Json& body, T (*read)(const Cursor&)) {
  DecodeErrors errors("the local cloud's answer");
  T value = read(Cursor(body, errors));
  MAINSTAY_TRY(errors.result());
  return value;
}

Result<std::string> idFor(const std::string& providerId) {
  std::string id = instanceIdOf(providerId);
  if (id.empty()) {
    return fail(Code::kInvalidArgument, "\"" + providerId + "\" is not a provider id: expected one such as " +
                                            "local:///zone-a/i-0123, as in the Node's spec.providerID");
  }
  return id;
}

std::string instancePath(const std::string& id) {
  return "/cloud/v1/instances/" + percentEncode(id);
}

}  // namespace

Result<std::unique_ptr<LocalProvider>> LocalProvider::create(const std::string& url) {
  if (!isLoopbackUrl(url)) {
    return fail(Code::kFailedPrecondition,
                "provider local: the API server " + url +
                    " is not on this machine's loopback address. This provider belongs to the local cluster "
                    "(mainstay local, mainstay demo); for a real cluster set provider: aws in the policy");
  }
  return std::unique_ptr<LocalProvider>(new LocalProvider(url));
}

LocalProvider::LocalProvider(std::string url) : url_(std::move(url)), client_(HttpClientOptions()) {}

Result<std::optional<Json>> LocalProvider::send(const std::string& method, const std::string& path,
                                                const Json& body) {
  HttpRequest request{.method = method, .target = url_ + path, .headers = {}, .body = {}};
  if (!body.is_null()) {
    request.headers["Content-Type"] = "application/json";
    request.body = toText(body);
  }
  MAINSTAY_ASSIGN(const HttpResponse response, client_.send(request, Deadline::after(kCloudTimeout)));
  if (response.status == 404) {
    return std::optional<Json>();
  }
  Result<Json> answer = parseJson(response.body);
  if (response.status == 200 && answer) {
    return std::optional<Json>(*std::move(answer));
  }
  const std::string message = answer ? findString(*answer, "message") : "";
  const std::string status = "HTTP " + std::to_string(response.status);
  const Code code = response.status == 409   ? Code::kFailedPrecondition
                    : response.status >= 500 ? Code::kUnavailable
                                             : Code::kInternal;
  return fail(code, "the local cloud refused: " + (message.empty() ? status : message + " (" + status + ")"));
}

Result<std::optional<Instance>> LocalProvider::describe(const std::string& providerId) {
  MAINSTAY_ASSIGN(const std::string id, idFor(providerId));
  MAINSTAY_ASSIGN(const std::optional<Json> body, send("GET", instancePath(id), Json()));
  if (!body) {
    return std::optional<Instance>();
  }
  MAINSTAY_ASSIGN(Instance instance, readAnswer(*body, readInstance));
  if (instance.providerId != providerId) {
    return fail(Code::kFailedPrecondition, "instance " + id + " is " + instance.providerId +
                                               " now, and not " + providerId + "; nothing is done with it");
  }
  return std::optional<Instance>(std::move(instance));
}

Result<Group> LocalProvider::describeGroup(const std::string& group) {
  MAINSTAY_ASSIGN(const std::optional<Json> body,
                  send("GET", "/cloud/v1/groups/" + percentEncode(group), Json()));
  if (!body) {
    return fail(Code::kNotFound, "the local cloud has no group \"" + group + "\"");
  }
  return readAnswer(*body, readGroup);
}

Result<> LocalProvider::markUnhealthy(const std::string& providerId, const std::string& token) {
  return setHealth(providerId, false, token);
}

Result<> LocalProvider::markHealthy(const std::string& providerId) {
  return setHealth(providerId, true, "");
}

Result<> LocalProvider::setHealth(const std::string& providerId, bool healthy, const std::string& token) {
  MAINSTAY_ASSIGN(const std::optional<Instance> present, describe(providerId));
  if (!present || present->ending() || present->healthy == healthy) {
    return {};
  }
  if (!healthy && present->group.empty()) {
    return fail(Code::kFailedPrecondition,
                "instance " + present->id +
                    " is in no group, so nothing would replace it; add it to a group, "
                    "or replace it by hand");
  }
  const char* const wanted = healthy ? "Healthy" : "Unhealthy";
  const Json body = JsonObject{{"healthStatus", wanted}, {"token", token}};
  MAINSTAY_ASSIGN(const std::optional<Json> answer,
                  send("POST", instancePath(present->id) + "/health", body));
  if (!answer) {
    return {};  // it ended in between
  }
  MAINSTAY_ASSIGN(const Instance after, readAnswer(*answer, readInstance));
  if (after.healthy != healthy && !after.ending()) {
    return fail(Code::kFailedPrecondition, "instance " + present->id + ": health " + wanted +
                                               " was accepted and did not stick; see the group's activities");
  }
  return {};
}

}  // namespace mainstay::cloud
