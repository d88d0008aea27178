// SourceHealth: what the agent's own eyes are worth, as a node condition. A source that cannot be read, and
// records that are gone, make MonitorDegraded True: nothing may be concluded from its silence.
#pragma once

#include <optional>
#include <string>

#include "agent/node_state.h"
#include "agent/sources/source.h"

namespace mainstay::agent {

inline constexpr char kMonitorDegraded[] = "MonitorDegraded";
inline constexpr char kKernelLogUnreadable[] = "KernelLogUnreadable";
inline constexpr char kKernelLogRecordsLost[] = "KernelLogRecordsLost";

// How long a loss stays visible after the last one: longer than two scrapes and two heartbeats.
inline constexpr Duration kLossShown = std::chrono::minutes(10);

class SourceHealth {
 public:
  static ConditionSpec condition();
  static std::vector<ReasonSpec> reasons();

  void onLost(const RecordsLost& lost, TimePoint now, NodeState& state);
  void onBlind(const SourceBlind& blind, TimePoint now, NodeState& state);
  void onReading(TimePoint now, NodeState& state);
  // Ends what has been shown for long enough; returns when to call again.
  TimePoint step(TimePoint now, NodeState& state);

 private:
  void reportLoss(TimePoint now, NodeState& state) const;

  bool blind_ = false;
  std::optional<TimePoint> lossShownUntil_;
  std::uint64_t lost_ = 0;  // while it is shown
  std::string lastLoss_;
};

}  // namespace mainstay::agent
