#include "local/api/watch.h"

#include <algorithm>

#include "local/api/metadata.h"
#include "local/api/registry.h"

namespace mainstay::local {

using kube::WatchEvent;

Watch::Watch(std::mutex& mutex, Store& store, const Clock& clock, const std::atomic<int>& drops, KindPtr kind,
             WatchOptions options, Signal& signal)
    : mutex_(mutex),
      store_(store),
      clock_(clock),
      drops_(drops),
      dropsAtOpening_(drops.load()),
      kind_(std::move(kind)),
      shelf_(kind_->shelf()),
      options_(std::move(options)),
      signal_(signal),
      initialDone_(options_.from.has_value()),
      cursor_(options_.from.value_or(0)),
      bookmarkAt_(nextBookmark()) {
  store_.listen(shelf_, *this);
  // What is there already is news to this client.
  signal_.notify();
}

Watch::~Watch() {
  std::lock_guard lock(mutex_);
  store_.unlisten(shelf_, *this);
}

void Watch::changed(const std::string&, const Change& change) {
  if (concerns(change.before) || concerns(change.after)) {
    signal_.notify();
  }
}

bool Watch::concerns(const ObjectPtr& object) const {
  return object && (options_.ns.empty() || findString(*object, "metadata", "namespace") == options_.ns) &&
         options_.filter.matches(*object);
}

void Watch::addInitial(std::vector<WatchEvent>& events) {
  const auto [begin, end] = inNamespace(store_.all(shelf_), options_.ns);
  for (auto at = begin; at != end; ++at) {
    if (options_.filter.matches(*at->second)) {
      events.push_back({WatchEvent::Type::kAdded, presentAs(*kind_, *at->second)});
    }
  }
  initialDone_ = true;
  cursor_ = store_.revision();
  if (options_.initialEnd) {
    addBookmark(events, true);
  }
}

// To a client that selects, an object that begins to match is new, and one that ends to match is gone.
void Watch::addChange(const Change& change, std::vector<WatchEvent>& events) const {
  const bool before = concerns(change.before);
  const bool after = concerns(change.after);
  if (after) {
    const auto type = before ? WatchEvent::Type::kModified : WatchEvent::Type::kAdded;
    events.push_back({type, presentAs(*kind_, *change.after)});
  } else if (before) {
    // The last state that the client could see, at the revision of its end.
    Json last = presentAs(*kind_, *change.before);
    metadataOf(last)["resourceVersion"] = std::to_string(change.revision);
    events.push_back({WatchEvent::Type::kDeleted, std::move(last)});
  }
}

void Watch::addBookmark(std::vector<WatchEvent>& events, bool initialEnd) {
  JsonObject metadata{{"resourceVersion", std::to_string(cursor_)}};
  if (initialEnd) {
    metadata["annotations"] = JsonObject{{"k8s.io/initial-events-end", "true"}};
  }
  events.push_back({WatchEvent::Type::kBookmark, JsonObject{{"kind", kind_->resource.kind},
                                                            {"apiVersion", kind_->resource.apiVersion()},
                                                            {"metadata", std::move(metadata)}}});
  bookmarkAt_ = nextBookmark();
}

TimePoint Watch::nextBookmark() const {
  const TimePoint now = clock_.now();
  const TimePoint last = options_.end == kNever ? kNever : options_.end - kBookmarkBeforeEnd;
  return last > now ? std::min(last, now + kBookmarkEvery) : now + kBookmarkEvery;
}

Outcome<std::vector<WatchEvent>> Watch::poll() {
  std::lock_guard lock(mutex_);
  if (drops_.load() != dropsAtOpening_) {
    return refuse({503, "ServiceUnavailable", "the watch was dropped on purpose", {}, std::nullopt});
  }
  std::vector<WatchEvent> events;
  if (!initialDone_) {
    addInitial(events);
    return events;
  }
  MAINSTAY_ASSIGN(const std::vector<Change> changes, store_.since(shelf_, cursor_));
  for (const Change& change : changes) {
    addChange(change, events);
  }
  cursor_ = store_.revision();
  if (options_.bookmarks && clock_.now() >= bookmarkAt_) {
    addBookmark(events, false);
  }
  return events;
}

}  // namespace mainstay::local
