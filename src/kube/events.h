// Kubernetes Events about an object, as client-go's recorder writes them: repeats raise `count` of the first.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "kube/api.h"

namespace mainstay::kube {

struct EventSubject {
  std::string apiVersion;
  std::string kind;
  std::string ns;
  std::string name;
  std::string uid;
};

// Owned and used by one loop: no locks.
class EventRecorder {
 public:
  // `component`: source.component and reportingComponent. `host`: source.host and reportingInstance.
  EventRecorder(Api& api, std::string component, std::string host);

  // `type`: Normal or Warning. Best effort: a failure is returned, never retried here, and harms nothing.
  // Identical events (subject, type, reason, message) within the last 10 minutes become a PATCH of count and
  // lastTimestamp.
  Result<> record(const EventSubject& subject, const std::string& type, const std::string& reason,
                  const std::string& message, TimePoint now);

 private:
  struct Seen {
    std::string ns;
    std::string name;
    int count = 1;
    TimePoint last{};
  };
  Result<> repeat(Seen& seen, TimePoint now);
  Result<Seen> first(const EventSubject& subject, const std::string& type, const std::string& reason,
                     const std::string& message, TimePoint now);
  void remember(const std::string& key, Seen seen);

  Api& api_;
  const std::string component_;
  const std::string host_;
  std::map<std::string, Seen> seen_;  // bounded: 4096, oldest out
  std::uint64_t serial_ = 0;
};

}  // namespace mainstay::kube
