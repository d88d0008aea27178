// Kubernetes Events about an object, as client-go's recorder writes them: repeats raise `count` of the first,
// many similar ones become one, and a flood is cut off.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kube/api.h"
#include "kube/event_correlator.h"

namespace mainstay::kube {

// Who keeps a subject from being flooded with Events: the recorder, or a caller that knows better which of
// them may not be lost.
enum class FloodControl { kRecorder, kCaller };

// Owned and used by one loop: no locks.
class EventRecorder {
 public:
  // `component`: source.component and reportingComponent. `host`: source.host and reportingInstance.
  EventRecorder(Api& api, std::string component, std::string host,
                FloodControl floods = FloodControl::kRecorder);

  // `type`: Normal or Warning. Best effort: a failure is returned, never retried here, and harms nothing.
  // Identical events (subject, type, reason, message) within the last 10 minutes become a PATCH of count and
  // lastTimestamp; so do those that EventCorrelator combines, with the message of the last. What it calls
  // spam is counted and not written, which is no failure. `happened`: the time to tell, when it is not `now`.
  Result<> record(const EventSubject& subject, const std::string& type, const std::string& reason,
                  const std::string& message, TimePoint now, std::optional<TimePoint> happened = {});

 private:
  struct Seen {
    std::string ns;
    std::string name;
    std::string message;
    int count = 1;
    TimePoint last{};
  };
  Result<> repeat(Seen& seen, const std::string& message, TimePoint now, TimePoint happened);
  Result<Seen> first(const EventSubject& subject, const EventText& text, TimePoint now, TimePoint happened);

  Api& api_;
  const std::string component_;
  const std::string host_;
  const FloodControl floods_;
  EventCorrelator correlator_;
  LruMap<Seen> seen_{EventCorrelator::kCapacity};  // by the correlator's key: what has been written
  std::uint64_t serial_ = 0;
};

}  // namespace mainstay::kube
