// Watch: one open watch on the store, pulled by its client. It holds a place in the shelf's history, not a
// queue: a slow client costs nothing and learns that it was too slow by a 410.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/signal.h"
#include "kube/api.h"
#include "local/api/discovery.h"
#include "local/api/selectors.h"
#include "local/api/store.h"

namespace mainstay::local {

struct WatchOptions {
  std::string ns;  // "" = all
  Filter filter;
  std::optional<std::uint64_t> from;  // changes after this revision; nullopt = first everything that is there
  bool bookmarks = false;
  TimePoint end = kNever;   // when its client's time is up: a last bookmark comes shortly before
  bool initialEnd = false;  // a bookmark marks the end of "everything that is there" (sendInitialEvents)
};

class Watch final : private Store::Listener {
 public:
  // How often a quiet watch with bookmarks hears of the present revision, as of Kubernetes.
  static constexpr Duration kBookmarkEvery = std::chrono::minutes(1);
  static constexpr Duration kBookmarkBeforeEnd = std::chrono::seconds(2);

  // `mutex` guards the store and is held by the caller of this constructor; poll and the destructor take it.
  // `drops` counts how often the server has broken all watches. All references outlive the watch.
  Watch(std::mutex& mutex, Store& store, const Clock& clock, const std::atomic<int>& drops, KindPtr kind,
        WatchOptions options, Signal& signal);
  ~Watch() override;

  // What has come since the last poll. A refusal ends the watch: 410 when its place in the history is gone,
  // 503 when it was dropped on purpose.
  Outcome<std::vector<kube::WatchEvent>> poll();
  const KindPtr& kind() const { return kind_; }
  TimePoint end() const { return options_.end; }
  // When poll has something to tell although nothing changed; kNever without bookmarks.
  TimePoint bookmarkAt() const { return options_.bookmarks ? bookmarkAt_ : kNever; }

 private:
  void changed(const std::string& shelf, const Change& change) override;
  void wake() override { signal_.notify(); }
  bool concerns(const ObjectPtr& object) const;
  void addInitial(std::vector<kube::WatchEvent>& events);
  void addChange(const Change& change, std::vector<kube::WatchEvent>& events) const;
  TimePoint nextBookmark() const;
  void addBookmark(std::vector<kube::WatchEvent>& events, bool initialEnd);

  std::mutex& mutex_;
  Store& store_;
  const Clock& clock_;
  const std::atomic<int>& drops_;
  const int dropsAtOpening_;
  const KindPtr kind_;
  const std::string shelf_;
  const WatchOptions options_;
  Signal& signal_;
  bool initialDone_ = false;
  std::uint64_t cursor_ = 0;  // everything up to this revision has been told
  TimePoint bookmarkAt_{};
};

}  // namespace mainstay::local
