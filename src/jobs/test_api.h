// TestApi: a few objects behind kube::Api, with resource versions, merge patches, status subresources and
// watches. Just enough of an API server for the tests of this folder; the local cluster's is the real one.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/object.h"
#include "base/json.h"
#include "kube/api.h"

namespace mainstay::jobs {

class TestApi final : public kube::Api {
 public:
  // Creates or replaces.
  void put(const api::Resource& resource, const std::string& ns, const std::string& name, Json object) {
    const std::string path = resource.path(ns, name);
    stamp(object, ns, name);
    const bool known = objects_.contains(path);
    objects_[path] = object;
    announce(path, known ? kube::WatchEvent::Type::kModified : kube::WatchEvent::Type::kAdded, object);
  }
  // Changes by merge patch, as another client would.
  void change(const api::Resource& resource, const std::string& ns, const std::string& name,
              const Json& patch) {
    Json object = objects_.at(resource.path(ns, name));
    mergePatch(object, patch);
    put(resource, ns, name, std::move(object));
  }
  void erase(const api::Resource& resource, const std::string& ns, const std::string& name) {
    const std::string path = resource.path(ns, name);
    Json object = objects_.at(path);
    objects_.erase(path);
    stamp(object, ns, name);
    announce(path, kube::WatchEvent::Type::kDeleted, object);
  }
  bool has(const api::Resource& resource, const std::string& ns, const std::string& name) const {
    return objects_.contains(resource.path(ns, name));
  }
  const Json& at(const api::Resource& resource, const std::string& ns, const std::string& name) const {
    return objects_.at(resource.path(ns, name));
  }
  // Reasons of the Events written, in order.
  std::vector<std::string> eventReasons() const {
    std::vector<std::string> reasons;
    for (const kube::ApiRequest& write : writes) {
      if (write.method == "POST" && write.path.ends_with("/events")) {
        reasons.push_back(findString(write.body, "reason"));
      }
    }
    return reasons;
  }
  int countOf(const std::string& reason) const {
    return static_cast<int>(std::ranges::count(eventReasons(), reason));
  }

  Result<Json> call(const kube::ApiRequest& request, Deadline) override {
    if (!request.isWrite()) {
      return read(request.path);
    }
    if (beforeWrite) {
      MAINSTAY_TRY(beforeWrite(request));
    }
    writes.push_back(request);
    return request.method == "PATCH" ? patch(request) : Result<Json>(request.body);
  }

  Result<std::unique_ptr<kube::WatchStream>> watch(const std::string& path, Query, Signal& signal) override {
    auto feed = std::make_shared<Feed>(Feed{path, {}, &signal});
    feeds_.push_back(feed);
    return std::make_unique<Stream>(std::move(feed));
  }

  std::vector<kube::ApiRequest> writes;
  // Called before each write: to fail it, or to write in between.
  std::function<Result<>(const kube::ApiRequest&)> beforeWrite;
  // An API server whose CRD does not know suspend.
  bool prunesSuspend = false;

 private:
  struct Feed {
    std::string path;
    std::vector<kube::WatchEvent> events;
    Signal* signal;
  };
  class Stream final : public kube::WatchStream {
   public:
    explicit Stream(std::shared_ptr<Feed> feed) : feed_(std::move(feed)) {}
    Result<std::vector<kube::WatchEvent>> poll() override { return std::exchange(feed_->events, {}); }

   private:
    std::shared_ptr<Feed> feed_;
  };

  void stamp(Json& object, const std::string& ns, const std::string& name) {
    JsonObject& meta = object.as_object()["metadata"].is_object()
                           ? object.as_object()["metadata"].as_object()
                           : object.as_object()["metadata"].emplace_object();
    meta["name"] = name;
    if (!ns.empty()) {
      meta["namespace"] = ns;
    }
    if (!meta.contains("uid")) {
      meta["uid"] = name + "-uid";
    }
    meta["resourceVersion"] = std::to_string(++version_);
    if (prunesSuspend) {
      mergePatch(object, parseJson(R"({"spec": {"runPolicy": {"suspend": null}}})").value());
    }
  }

  // "/apis/g/v/namespaces/ns/things/x" belongs to the collection "/apis/g/v/things".
  static std::string collectionOf(const std::string& path) {
    std::string collection = path.substr(0, path.rfind('/'));
    const std::size_t scope = collection.find("/namespaces/");
    const std::size_t plural = collection.rfind('/');
    return scope == std::string::npos ? collection : collection.substr(0, scope) + collection.substr(plural);
  }

  void announce(const std::string& path, kube::WatchEvent::Type type, const Json& object) {
    for (const auto& weak : feeds_) {
      const auto feed = weak.lock();  // null: the watch was closed
      if (feed && feed->path == collectionOf(path)) {
        feed->events.push_back({type, object});
        feed->signal->notify();
      }
    }
  }

  Result<Json> read(const std::string& path) const {
    if (const auto at = objects_.find(path); at != objects_.end()) {
      return at->second;
    }
    JsonArray items;
    for (const auto& [key, object] : objects_) {
      if (collectionOf(key) == path) {
        items.push_back(object);
      }
    }
    const bool named = items.empty() && path.find("/namespaces/") != std::string::npos;
    if (named) {
      return fail(Code::kNotFound, path + " not found");
    }
    return JsonObject{{"metadata", JsonObject{{"resourceVersion", std::to_string(version_)}}},
                      {"items", std::move(items)}};
  }

  Result<Json> patch(const kube::ApiRequest& request) {
    const bool status = request.path.ends_with("/status");
    const std::string path = status ? request.path.substr(0, request.path.rfind('/')) : request.path;
    const auto at = objects_.find(path);
    if (at == objects_.end()) {
      return fail(Code::kNotFound, path + " not found");
    }
    const std::string guard = findString(request.body, "metadata", "resourceVersion");
    if (!guard.empty() && guard != findString(at->second, "metadata", "resourceVersion")) {
      return fail(Code::kConflict, "the object has been modified");
    }
    Json body = request.body;
    body.as_object().erase(status ? "spec" : "status");
    Json object = at->second;
    mergePatch(object, body);
    stamp(object, findString(object, "metadata", "namespace"), findString(object, "metadata", "name"));
    at->second = object;
    announce(path, kube::WatchEvent::Type::kModified, object);
    return object;
  }

  std::map<std::string, Json> objects_;
  std::vector<std::weak_ptr<Feed>> feeds_;
  std::uint64_t version_ = 0;
};

}  // namespace mainstay::jobs
