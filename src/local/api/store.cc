#include "local/api/store.h"

#include <algorithm>

namespace mainstay::local {

const Store::Shelf* Store::shelfOf(const std::string& name) const {
  const auto at = shelves_.find(name);
  return at == shelves_.end() ? nullptr : &at->second;
}

ObjectPtr Store::find(const std::string& shelf, const std::string& key) const {
  const Objects& objects = all(shelf);
  const auto at = objects.find(key);
  return at == objects.end() ? nullptr : at->second;
}

const Objects& Store::all(const std::string& shelf) const {
  static const Objects kNone;
  const Shelf* found = shelfOf(shelf);
  return found ? found->objects : kNone;
}

Outcome<> Store::checkReadable(const Shelf& shelf, std::uint64_t revision) const {
  if (revision < shelf.compacted) {
    return refuse(expired("too old resource version: " + std::to_string(revision) + " (" +
                          std::to_string(shelf.compacted) + ")"));
  }
  // A revision from another life of this server: what the client knows is not what is here.
  if (revision > revision_) {
    return refuse(expired("Too large resource version: " + std::to_string(revision) +
                          ", current: " + std::to_string(revision_)));
  }
  return {};
}

Outcome<Objects> Store::at(const std::string& shelf, std::uint64_t revision) const {
  MAINSTAY_ASSIGN(const std::vector<Change> later, since(shelf, revision));
  Objects objects = all(shelf);
  for (auto change = later.rbegin(); change != later.rend(); ++change) {
    if (change->before) {
      objects[change->key] = change->before;
    } else {
      objects.erase(change->key);
    }
  }
  return objects;
}

Outcome<std::vector<Change>> Store::since(const std::string& shelf, std::uint64_t revision) const {
  static const Shelf kEmpty;
  const Shelf* found = shelfOf(shelf);
  const Shelf& source = found ? *found : kEmpty;
  MAINSTAY_TRY(checkReadable(source, revision));
  const auto first =
      std::upper_bound(source.history.begin(), source.history.end(), revision,
                       [](std::uint64_t r, const Change& change) { return r < change.revision; });
  return std::vector<Change>(first, source.history.end());
}

ObjectPtr Store::put(const std::string& shelf, const std::string& key, Json object) {
  const std::uint64_t revision = ++revision_;
  object.as_object()["metadata"].as_object()["resourceVersion"] = std::to_string(revision);
  Shelf& place = shelves_[shelf];
  ObjectPtr& slot = place.objects[key];
  ObjectPtr before = std::exchange(slot, std::make_shared<const Json>(std::move(object)));
  ObjectPtr stored = slot;
  record(shelf, place, {revision, key, std::move(before), stored});
  return stored;
}

void Store::erase(const std::string& shelf, const std::string& key) {
  Shelf& place = shelves_[shelf];
  const auto at = place.objects.find(key);
  if (at == place.objects.end()) {
    return;
  }
  ObjectPtr before = std::move(at->second);
  place.objects.erase(at);
  record(shelf, place, {++revision_, key, std::move(before), nullptr});
}

void Store::record(const std::string& name, Shelf& shelf, Change change) {
  shelf.history.push_back(std::move(change));
  if (shelf.history.size() > limit_) {
    shelf.compacted = shelf.history.front().revision;
    shelf.history.pop_front();
  }
  for (const std::string& audience : {name, std::string(kEverything)}) {
    if (const auto at = listeners_.find(audience); at != listeners_.end()) {
      for (Listener* listener : at->second) {
        listener->changed(name, shelf.history.back());
      }
    }
  }
}

void Store::wakeListeners() const {
  for (const auto& [shelf, listeners] : listeners_) {
    for (Listener* listener : listeners) {
      listener->wake();
    }
  }
}

void Store::compact() {
  for (auto& [name, shelf] : shelves_) {
    if (!shelf.history.empty()) {
      shelf.compacted = shelf.history.back().revision;
      shelf.history.clear();
    }
  }
}

std::pair<Objects::const_iterator, Objects::const_iterator> inNamespace(const Objects& objects,
                                                                        const std::string& ns) {
  if (ns.empty()) {
    return {objects.begin(), objects.end()};
  }
  // '0' is the character after '/': the first key that is no longer inside "ns/".
  return {objects.lower_bound(ns + "/"), objects.lower_bound(ns + "0")};
}

}  // namespace mainstay::local
