// EventCorrelator: which Events are one, and which are too many; as client-go's tools/record/events_cache.go
// decides it, with its figures.
#pragma once

#include <string>
#include <vector>

#include "kube/lru_map.h"
#include "kube/token_bucket.h"

namespace mainstay::kube {

struct EventSubject {
  std::string apiVersion;
  std::string kind;
  std::string ns;
  std::string name;
  std::string uid;
};

// What somebody wants to say.
struct EventText {
  std::string type;  // Normal or Warning
  std::string reason;
  std::string message;
};

// For one source (component and host). Pure, apart from what it remembers. Bounded: 4096 of each kind, the one
// unused for longest is forgotten.
class EventCorrelator {
 public:
  // What to do about one event.
  struct Verdict {
    std::string key;      // of the Event that says it: events of one key are one Event, counted
    std::string message;  // what that Event says
    bool spam = false;    // nothing is to be written
  };

  // The tenth message about one subject with the same type and reason, each within ten minutes of the one
  // before, is combined with those that follow into one Event. A subject has 25 writes of a type, and one more
  // every five minutes.
  Verdict observe(const EventSubject& subject, const EventText& text, TimePoint now);

  static constexpr std::size_t kCapacity = 4096;

 private:
  struct Similar {
    std::vector<std::size_t> messages =
        {};  // hashes of different ones, the oldest first; fewer than the limit
    TimePoint last = {};
  };
  // Whether this message makes the similar ones too many.
  bool combines(Similar& similar, const std::string& message, TimePoint now) const;

  LruMap<Similar> similar_{kCapacity};      // by subject, type and reason
  LruMap<TokenBucket> budgets_{kCapacity};  // by subject and type
};

}  // namespace mainstay::kube
