// WatchCache<T>: the objects of one kind as last seen, kept by list and watch. Owned and used by one loop: no
// locks.
//
//   WatchCache<api::Node> nodes(api, api::kNodes, api::decodeNode, signal());
//   TimePoint step(TimePoint now) { TimePoint wake = nodes.sync(now); for (auto& [key, node] :
//   nodes.objects()) ... }
#pragma once

#include <charconv>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "kube/api.h"

namespace mainstay::kube {

// The part without the type: list with pages, watch with bookmarks, resume, 410 -> list again, broken stream
// -> resume after a backoff with jitter, a full list again every `resync`.
class Reflector {
 public:
  struct Options {
    std::string ns{};   // "" = all
    Query selectors{};  // labelSelector, fieldSelector
    Duration resync = std::chrono::minutes(30);
    std::uint64_t seed =
        1;  // of the back-off's jitter: programs give their process id, simulations a constant
  };
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void replaceAll(std::vector<Json> objects) = 0;
    virtual void put(Json object) = 0;
    virtual void erase(const Json& object) = 0;
  };
  Reflector(Api& api, api::Resource resource, Options options, Signal& signal, Sink& sink);
  ~Reflector();

  // Brings the sink up to date with what has arrived; lists when it must. Returns when it wants to be called
  // again.
  TimePoint sync(TimePoint now);
  // A first list is complete.
  bool synced() const { return synced_; }
  // Since when nothing could be read; nullopt while the watch is open. What a stale cache says is not acted
  // on.
  std::optional<TimePoint> staleSince() const { return staleSince_; }
  const std::string& lastError() const { return lastError_; }

 private:
  Result<> catchUp(TimePoint now);
  Result<> relist(TimePoint now);
  Result<> openWatch(TimePoint now);
  Result<> pull();
  void take(WatchEvent event);
  TimePoint backOff(TimePoint now, const Error& error);

  Api& api_;
  const api::Resource resource_;
  const Options options_;
  Signal& signal_;
  Sink& sink_;
  std::mt19937_64 random_;
  std::unique_ptr<WatchStream> stream_;
  std::string resourceVersion_;
  bool synced_ = false;
  bool behind_ = false;  // more has arrived than one step takes in
  int failures_ = 0;     // in a row, without an event in between
  TimePoint openedAt_{};
  TimePoint retryAt_{};
  TimePoint resyncAt_{};
  std::optional<TimePoint> staleSince_;
  std::string lastError_;
};

template <class T>
class WatchCache final : private Reflector::Sink {
 public:
  using Decode = Result<T> (*)(const Json&);
  WatchCache(Api& api, const api::Resource& resource, Decode decode, Signal& signal,
             Reflector::Options options = {})
      : decode_(decode), reflector_(api, resource, std::move(options), signal, *this) {}

  TimePoint sync(TimePoint now) { return reflector_.sync(now); }
  bool synced() const { return reflector_.synced(); }
  std::optional<TimePoint> staleSince() const { return reflector_.staleSince(); }
  const std::string& lastError() const { return reflector_.lastError(); }

  // By "name" or "ns/name". Snapshots may be kept: objects are immutable.
  const std::map<std::string, std::shared_ptr<const T>>& objects() const { return objects_; }
  // Objects that could not be decoded, by key, with why: bad input is reported, and the rest goes on.
  const std::map<std::string, std::string>& broken() const { return broken_; }
  // Puts the answer of our own write in, so that the next plan sees it before the watch does. Events of older
  // versions that the watch still brings are passed over.
  void observe(const Json& object) { put(object); }

 private:
  void replaceAll(std::vector<Json> all) override {
    objects_.clear();
    broken_.clear();
    versions_.clear();
    for (Json& object : all) {
      put(std::move(object));
    }
  }
  void put(Json object) override {
    const std::string key = keyOf(object);
    const std::uint64_t version = versionOf(object);
    if (version < versions_[key]) {
      return;
    }
    versions_[key] = version;
    Result<T> decoded = decode_(object);
    if (decoded) {
      broken_.erase(key);
      objects_[key] = std::make_shared<const T>(*std::move(decoded));
    } else {
      objects_.erase(key);
      broken_[key] = decoded.error().toString();
    }
  }
  void erase(const Json& object) override {
    const std::string key = keyOf(object);
    if (versionOf(object) < versions_[key]) {
      return;
    }
    objects_.erase(key);
    broken_.erase(key);
    versions_.erase(key);
  }
  static std::string keyOf(const Json& object) {
    const std::string ns = findString(object, "metadata", "namespace");
    const std::string name = findString(object, "metadata", "name");
    return ns.empty() ? name : ns + "/" + name;
  }
  // Resource versions of one kind are ordered integers on every API server (written down since
  // Kubernetes 1.35).
  static std::uint64_t versionOf(const Json& object) {
    const std::string text = findString(object, "metadata", "resourceVersion");
    std::uint64_t version = 0;
    std::from_chars(text.data(), text.data() + text.size(), version);
    return version;
  }

  Decode decode_;
  std::map<std::string, std::shared_ptr<const T>> objects_;
  std::map<std::string, std::string> broken_;
  std::map<std::string, std::uint64_t> versions_;
  Reflector reflector_;
};

}  // namespace mainstay::kube
