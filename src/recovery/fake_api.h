// For the tests of this folder: Kubernetes' API in memory, as far as the recovery uses it. Objects by path; resource
// versions, UID preconditions, merge patches and status subresources behave as on an API server.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "kube/api.h"

namespace mainstay::recovery {

class FakeApi final : public kube::Api {
 public:
  // Answers instead of the store, when it gives an error.
  std::function<std::optional<Error>(const kube::ApiRequest&)> refuse;
  std::vector<kube::ApiRequest> writes;
  TimePoint now{};

  // Thread-safe; all else is for the test's own thread.
  Result<Json> call(const kube::ApiRequest& request, Deadline) override {
    const std::lock_guard lock(mutex_);
    if (refuse) {
      if (std::optional<Error> error = refuse(request)) {
        return fail(*std::move(error));
      }
    }
    if (request.isWrite()) {
      writes.push_back(request);
    }
    const Place at = placeOf(request.path);
    if (request.method == "GET") {
      return at.name.empty() ? listOf(at) : read(at);
    }
    if (request.method == "POST") {
      return at.sub == "eviction" ? evict(at, request.body) : create(at, request.body);
    }
    return request.method == "PATCH" ? patch(at, request.body) : remove(at, request.body);
  }

  Result<std::unique_ptr<kube::WatchStream>> watch(const std::string& path, Query, Signal& signal) override {
    return std::make_unique<Stream>(*this, placeOf(path).collection, changes_.size(), signal);
  }

  // --- The test's own hand ---
  Json* find(const std::string& path) {
    std::map<std::string, Json>& shelf = objects_[placeOf(path).collection];
    const auto at = shelf.find(path);
    return at == shelf.end() ? nullptr : &at->second;
  }
  void put(const std::string& path, Json object) {
    const bool fresh = find(path) == nullptr;
    JsonObject& meta = object.as_object()["metadata"].as_object();
    if (!meta.contains("uid")) {
      meta["uid"] = "uid-" + std::to_string(++uids_) + "-" + std::string(meta["name"].as_string());
    }
    if (!meta.contains("creationTimestamp")) {
      meta["creationTimestamp"] = formatTime(now);
    }
    meta["resourceVersion"] = std::to_string(++version_);
    objects_[placeOf(path).collection][path] = object;
    tell(path, fresh ? kube::WatchEvent::Type::kAdded : kube::WatchEvent::Type::kModified, std::move(object));
  }
  void edit(const std::string& path, const Json& change) {
    Json object = *find(path);
    mergePatch(object, change);
    put(path, std::move(object));
  }
  void erase(const std::string& path) {
    if (Json* present = find(path)) {
      Json object = std::move(*present);
      objects_[placeOf(path).collection].erase(path);
      object.as_object()["metadata"].as_object()["resourceVersion"] = std::to_string(++version_);
      tell(path, kube::WatchEvent::Type::kDeleted, std::move(object));
    }
  }
  std::vector<Json> all(const api::Resource& resource) const { return below(resource.path()); }

 private:
  std::mutex mutex_;
  struct Place {
    std::string collection;  // without the namespace: "/api/v1/pods"
    std::string path;        // of the object
    std::string name;
    std::string sub;
  };
  struct Change {
    std::string collection;
    kube::WatchEvent event;
  };
  class Stream final : public kube::WatchStream {
   public:
    Stream(FakeApi& api, std::string collection, std::size_t at, Signal& signal)
        : api_(api), collection_(std::move(collection)), at_(at), signal_(signal) {
      api_.streams_.push_back(this);
    }
    ~Stream() override { std::erase(api_.streams_, this); }
    void notify() { signal_.notify(); }
    Result<std::vector<kube::WatchEvent>> poll() override {
      std::vector<kube::WatchEvent> events;
      for (; at_ < api_.changes_.size(); ++at_) {
        if (api_.changes_[at_].collection == collection_) {
          events.push_back(api_.changes_[at_].event);
        }
      }
      return events;
    }

   private:
    FakeApi& api_;
    const std::string collection_;
    std::size_t at_;
    Signal& signal_;
  };

  // /api/v1[/namespaces/NS]/PLURAL[/NAME[/SUB]], and the same below /apis/GROUP/VERSION.
  static Place placeOf(const std::string& path) {
    std::vector<std::string> parts;
    for (std::size_t from = 1; from <= path.size();) {
      const std::size_t to = std::min(path.find('/', from), path.size());
      parts.push_back(path.substr(from, to - from));
      from = to + 1;
    }
    const std::size_t root = parts.at(0) == "api" ? 2 : 3;
    std::string prefix;
    for (std::size_t i = 0; i < root; ++i) {
      prefix += "/" + parts.at(i);
    }
    const bool inNamespace = parts.at(root) == "namespaces" && parts.size() > root + 2;
    const std::size_t plural = inNamespace ? root + 2 : root;
    Place at{prefix + "/" + parts.at(plural), path, "", ""};
    at.name = parts.size() > plural + 1 ? parts[plural + 1] : "";
    at.sub = parts.size() > plural + 2 ? parts[plural + 2] : "";
    if (!at.sub.empty()) {
      at.path = path.substr(0, path.size() - at.sub.size() - 1);
    }
    return at;
  }

  std::vector<Json> below(const std::string& collection) const {
    std::vector<Json> items;
    const auto shelf = objects_.find(collection);
    if (shelf != objects_.end()) {
      for (const auto& [path, object] : shelf->second) {
        items.push_back(object);
      }
    }
    return items;
  }
  Result<Json> listOf(const Place& at) const {
    JsonArray items;
    for (Json& object : below(at.collection)) {
      items.push_back(std::move(object));
    }
    return Json(JsonObject{{"metadata", JsonObject{{"resourceVersion", std::to_string(version_)}}},
                           {"items", std::move(items)}});
  }
  Result<Json> read(const Place& at) {
    Json* object = find(at.path);
    return object ? Result<Json>(*object) : fail(Code::kNotFound, at.path + " not found");
  }
  Result<Json> create(const Place& at, Json object) {
    const std::string path = at.path + "/" + findString(object, "metadata", "name");
    if (find(path)) {
      return fail(Code::kAlreadyExists, path + " already exists");
    }
    object.as_object().erase("status");
    put(path, std::move(object));
    return *find(path);
  }
  Result<Json> patch(const Place& at, const Json& change) {
    MAINSTAY_ASSIGN(const Json present, read(at));
    const std::string guard = findString(change, "metadata", "resourceVersion");
    if (!guard.empty() && guard != findString(present, "metadata", "resourceVersion")) {
      return fail(Code::kConflict, at.path + " was changed in between");
    }
    Json body = change;
    if (at.sub == "status") {
      body = JsonObject{{"status", *mainstay::find(change, "status")}};
    }
    edit(at.path, body);
    return *find(at.path);
  }
  Result<Json> remove(const Place& at, const Json& options) {
    MAINSTAY_ASSIGN(Json present, read(at));
    const std::string uid = findString(options, "preconditions", "uid");
    if (!uid.empty() && uid != findString(present, "metadata", "uid")) {
      return fail(Code::kConflict, at.path + " has another UID");
    }
    const Json* grace = mainstay::find(options, "gracePeriodSeconds");
    const bool now0 = grace && grace->is_int64() && grace->get_int64() == 0;
    if (at.collection == "/api/v1/pods" && !now0) {
      edit(at.path, JsonObject{{"metadata", JsonObject{{"deletionTimestamp", formatTime(now)}}}});
    } else {
      erase(at.path);
    }
    return present;
  }
  Result<Json> evict(const Place& at, const Json& eviction) {
    return remove(at, *mainstay::find(eviction, "deleteOptions"));
  }
  void tell(const std::string& path, kube::WatchEvent::Type type, Json object) {
    changes_.push_back({placeOf(path).collection, {type, std::move(object)}});
    for (Stream* stream : streams_) {
      stream->notify();
    }
  }

  std::map<std::string, std::map<std::string, Json>> objects_;  // by collection, then path
  std::deque<Change> changes_;
  std::vector<Stream*> streams_;  // those that are open
  std::uint64_t version_ = 0;
  int uids_ = 0;
};

}  // namespace mainstay::recovery
