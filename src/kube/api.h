// Api: the one door to a Kubernetes API server. Two implementations: HTTP (kube/http_api.h) and, in the local
// cluster, a direct call into the same request handler. Wrappers put faults and crashes in between
// (kube/testing.h).
//
// Typed helpers are free functions below; everything is blocking, with a deadline, and fails with the Status
// that the server sent: kNotFound, kAlreadyExists, kConflict, kGone, kResourceExhausted (with retryAfter),
// ...
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/object.h"
#include "base/http.h"
#include "base/json.h"
#include "base/signal.h"

namespace mainstay::kube {

// How a body is meant: plain JSON, or one of the patch types.
enum class Body { kNone, kJson, kMergePatch, kStrategicMergePatch, kJsonPatch, kApplyPatch };
std::string_view contentType(Body body);

struct ApiRequest {
  std::string method = "GET";
  std::string path;  // "/api/v1/nodes/a/status"
  Query query{};
  Body kind = Body::kNone;
  Json body{};
  bool isWrite() const { return method != "GET"; }
};

struct WatchEvent {
  enum class Type { kAdded, kModified, kDeleted, kBookmark };
  Type type = Type::kAdded;
  Json object;
};

// An open watch. Pulled: poll never waits; the Signal given at opening is raised when there is something to
// pull.
class WatchStream {
 public:
  virtual ~WatchStream() = default;
  // What has come since the last poll, in order. An error ends the stream: kGone = list again; kUnavailable =
  // it broke or ended, resume from the last resourceVersion.
  virtual Result<std::vector<WatchEvent>> poll() = 0;
};

class Api {
 public:
  virtual ~Api() = default;
  // The answer's body (an object, a list, a Status) for 2xx, else the error.
  virtual Result<Json> call(const ApiRequest& request, Deadline deadline) = 0;
  // GET with watch=true and allowWatchBookmarks=true. `signal` must outlive the stream.
  virtual Result<std::unique_ptr<WatchStream>> watch(const std::string& path, Query query,
                                                     Signal& signal) = 0;
};

// The default bound on one call; a step that makes several gives each its own.
inline constexpr Duration kCallTimeout = std::chrono::seconds(10);

// Builds the error of a non-2xx answer from its Status body.
Error statusError(int httpStatus, const Json& body, std::optional<Duration> retryAfter);

// --- Typed calls; `manager` is the field manager written into managedFields ---
Result<Json> get(Api& api, const api::Resource& resource, const std::string& ns, const std::string& name);
Result<Json> create(Api& api, const api::Resource& resource, const std::string& ns, const Json& object,
                    std::string_view manager);
// Replaces; the object's resourceVersion guards.
Result<Json> update(Api& api, const api::Resource& resource, const Json& object, std::string_view manager,
                    const std::string& subresource = "");
Result<Json> patch(Api& api, const api::Resource& resource, const std::string& ns, const std::string& name,
                   Body kind, const Json& patch, std::string_view manager,
                   const std::string& subresource = "");
// Preconditions: the UID must be this one (unless ""). `grace` in seconds; nullopt = the object's own.
Result<> remove(Api& api, const api::Resource& resource, const std::string& ns, const std::string& name,
                const std::string& uid, std::optional<int> graceSeconds = std::nullopt);
// policy/v1 Eviction. kResourceExhausted = a PodDisruptionBudget refuses for now; kNotFound = gone already;
// kConflict = another pod has the name by now, or somebody wrote in between.
Result<> evict(Api& api, const std::string& ns, const std::string& pod, const std::string& uid);
// Pages of 500 until the end. `resourceVersion` of the list is returned beside the items.
struct ObjectList {
  std::vector<Json> items;
  std::string resourceVersion;
};
Result<ObjectList> list(Api& api, const api::Resource& resource, const std::string& ns = "",
                        Query selectors = {});

}  // namespace mainstay::kube
