#include "kube/watch_cache.h"

#include <algorithm>

#include "base/http_client.h"
#include "base/log.h"

namespace mainstay::kube {
namespace {

// client-go's reflector: 800 ms to 30 s, doubling, up to twice as long by chance. We start sooner, for one
// watch is light.
constexpr RetryPolicy kBackOff{.attempts = 0,
                               .firstWait = std::chrono::milliseconds(100),
                               .maxWait = std::chrono::seconds(30),
                               .factor = 2,
                               .jitter = 0.5};
// A watch that cannot be resumed so often is begun again with a list: whatever the server does not like about
// our resourceVersion (a store restored from a backup, say) is gone with it.
constexpr int kResumeTries = 3;
// A watch that lived so long was sound: its end is no sign of trouble, servers end watches every few minutes.
constexpr Duration kSoundAfter = std::chrono::minutes(1);
// One call of sync takes in this many batches before others get their turn.
constexpr int kMaxPolls = 64;

}  // namespace

Reflector::Reflector(Api& api, api::Resource resource, Options options, Signal& signal, Sink& sink)
    : api_(api),
      resource_(std::move(resource)),
      options_(std::move(options)),
      signal_(signal),
      sink_(sink),
      random_(options_.seed) {}

Reflector::~Reflector() = default;

TimePoint Reflector::sync(TimePoint now) {
  if (stream_) {
    if (Result<> pulled = pull(); !pulled) {
      return backOff(now, pulled.error());
    }
  }
  if (now < retryAt_) {
    return retryAt_;
  }
  if (Result<> done = catchUp(now); !done) {
    return backOff(now, done.error());
  }
  return behind_ ? now : resyncAt_;
}

Result<> Reflector::catchUp(TimePoint now) {
  if (resourceVersion_.empty() || now >= resyncAt_) {
    MAINSTAY_TRY(relist(now));
  }
  if (!stream_) {
    MAINSTAY_TRY(openWatch(now));
    MAINSTAY_TRY(pull());
  }
  return {};
}

Result<> Reflector::relist(TimePoint now) {
  MAINSTAY_ASSIGN(ObjectList all, list(api_, resource_, options_.ns, options_.selectors));
  stream_.reset();
  resourceVersion_ = std::move(all.resourceVersion);
  sink_.replaceAll(std::move(all.items));
  synced_ = true;
  resyncAt_ = now + options_.resync;
  return {};
}

Result<> Reflector::openWatch(TimePoint now) {
  Query query = options_.selectors;
  query.emplace_back("resourceVersion", resourceVersion_);
  MAINSTAY_ASSIGN(stream_, api_.watch(resource_.path(options_.ns), std::move(query), signal_));
  openedAt_ = now;
  staleSince_.reset();
  lastError_.clear();
  return {};
}

Result<> Reflector::pull() {
  for (int i = 0; i < kMaxPolls; ++i) {
    Result<std::vector<WatchEvent>> events = stream_->poll();
    if (!events) {
      stream_.reset();
      return fail(std::move(events).error());
    }
    if (events->empty()) {
      behind_ = false;
      return {};
    }
    failures_ = 0;
    for (WatchEvent& event : *events) {
      take(std::move(event));
    }
  }
  behind_ = true;
  return {};
}

void Reflector::take(WatchEvent event) {
  if (std::string version = findString(event.object, "metadata", "resourceVersion"); !version.empty()) {
    resourceVersion_ = std::move(version);
  }
  switch (event.type) {
    case WatchEvent::Type::kAdded:
    case WatchEvent::Type::kModified:
      sink_.put(std::move(event.object));
      break;
    case WatchEvent::Type::kDeleted:
      sink_.erase(event.object);
      break;
    case WatchEvent::Type::kBookmark:
      break;
  }
}

TimePoint Reflector::backOff(TimePoint now, const Error& error) {
  if (!stream_ && !staleSince_) {
    failures_ = now - openedAt_ >= kSoundAfter ? 0 : failures_;
    staleSince_ = now;
  }
  ++failures_;
  lastError_ = error.toString();
  const bool gone = error.code() == Code::kGone;
  if (!stream_ && (gone || failures_ >= kResumeTries)) {
    resourceVersion_.clear();
  }
  if (failures_ == kResumeTries) {
    logWarning("cannot keep up with the API server; trying on", {{"kind", resource_.kind}, {"error", error}});
  }
  // A first "gone" is no trouble, only a long silence: list at once.
  const double random = std::uniform_real_distribution<double>(0, 1)(random_);
  retryAt_ =
      gone && failures_ == 1 ? now : now + kBackOff.waitBefore(failures_ + 1, random, error.retryAfter());
  return retryAt_;
}

}  // namespace mainstay::kube
