// SourceHealth: what one source of the agent is worth, as a finding of the node condition MonitorDegraded. A source
// that cannot be read, and records that are gone, make it True: nothing may be concluded from silence.
#pragma once

#include <optional>
#include <string>

#include "agent/node_state.h"
#include "agent/sources/source.h"

namespace mainstay::agent {

inline constexpr char kMonitorDegraded[] = "MonitorDegraded";
// What it says while every source is read.
ConditionSpec monitorDegraded();
// A finding of it; `device` names the source.
Problem degraded(const std::string& reason, const std::string& device, std::string message, TimePoint now);
// That finding is over.
void mended(const std::string& reason, const std::string& device, TimePoint now, NodeState& state);

// How a source is called in findings, metrics and words.
struct SourceName {
  std::string source;     // "kmsg": the finding's device, the label of metrics
  std::string title;      // "kernel log", for people
  std::string prefix;     // "KernelLog": reasons are KernelLogUnreadable and KernelLogRecordsLost
  bool numbered = false;  // its records have numbers that a restart of the agent does not change
};
inline SourceName kernelLogName() {
  return {"kmsg", "kernel log", "KernelLog", true};
}

// How long a loss stays visible after the last one: longer than two scrapes and two heartbeats.
inline constexpr Duration kLossShown = std::chrono::minutes(10);

class SourceHealth {
 public:
  explicit SourceHealth(SourceName name) : name_(std::move(name)) {}

  std::vector<ReasonSpec> reasons() const;
  void onLost(const RecordsLost& lost, TimePoint now, NodeState& state);
  void onBlind(const SourceBlind& blind, TimePoint now, NodeState& state);
  void onReading();
  // Ends what has been shown for long enough; returns when to call again.
  TimePoint step(TimePoint now, NodeState& state);

 private:
  std::string unreadable() const { return name_.prefix + "Unreadable"; }
  std::string recordsLost() const { return name_.prefix + "RecordsLost"; }

  SourceName name_;
  bool blind_ = false;
  bool reading_ = false;
  std::optional<TimePoint> lossShownUntil_;  // kNever: nothing is shown; absent before the first step
  std::uint64_t lost_ = 0;                   // while it is shown
};

}  // namespace mainstay::agent
