// InstanceWatch: what providers say about the instances of open incidents, asked seldom enough to be welcome.
#pragma once

#include <map>
#include <string>

#include "recovery/executor.h"
#include "recovery/fleet.h"

namespace mainstay::recovery {

class InstanceWatch {
 public:
  // `providers` outlives the watch.
  explicit InstanceWatch(const Providers& providers) : providers_(providers) {}

  // Asks about whatever is due, at most kMaxAsked incidents a call, and no more once one has no answer; forgets those
  // that are closed.
  void ask(const Fleet& fleet, TimePoint now);
  const std::map<std::string, InstanceFacts>& facts() const { return facts_; }
  // When the next question is due.
  TimePoint wake() const { return wake_; }

 private:
  struct Rhythm {
    TimePoint next{};
    Duration wait{};
  };
  bool due(const api::NodeRecovery& incident, TimePoint now) const;
  InstanceFacts describe(const api::NodeRecovery& incident, const std::string& provider, TimePoint now);
  void pace(const api::NodeRecovery& incident, bool changed, TimePoint now);

  const Providers& providers_;
  std::map<std::string, InstanceFacts> facts_;          // by incident
  std::map<std::string, Rhythm> rhythms_;               // by incident
  std::map<std::string, Result<cloud::Group>> groups_;  // answers of this call: incidents share groups
  bool joined_ = false;  // of this call: a node has joined that some incident may wait for
  TimePoint wake_ = kNever;
};

}  // namespace mainstay::recovery
