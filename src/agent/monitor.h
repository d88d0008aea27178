// Monitor: something that watches the node in its own way (a log, a plugin, a probe of devices) and tells the
// node's state what it finds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/node_state.h"
#include "agent/sources/source.h"
#include "base/signal.h"

namespace mainstay::agent {

// What a monitor's eyes are worth just now: shown by /healthz.
struct SourceStatus {
  std::string name;                   // "kmsg", "journald", "/var/log/messages", "nvml", a config file
  std::string trouble;                // why it does not see; "" = it sees
  std::optional<TimePoint> lastNews;  // when it last gave something
  Duration lag{};                     // how old that was when it was taken
  std::optional<LogMark> told{};      // of a log with numbered records: how far it was read and told
  bool needed = true;                 // without it the agent is not ready
};

// Owned and used by the agent's loop; threads that wait for the outside belong to the implementation, and raise the
// loop's signal.
class Monitor {
 public:
  virtual ~Monitor() = default;
  // What it may say, told before the first step.
  virtual std::vector<ConditionSpec> conditions() const = 0;
  virtual std::vector<ReasonSpec> reasons() const = 0;
  // What other systems call its findings, as far as its rules say.
  virtual std::vector<RuleNames> names() const { return {}; }
  // Opens its eyes; `signal` is the loop's, which outlives the monitor. Called once, before the first step.
  virtual void start(Signal& signal) = 0;
  // Takes up what has come since the last step and tells the state; never waits. Returns when it wants to be stepped
  // again at the latest (kNever: when its signal is raised).
  virtual TimePoint step(TimePoint now, NodeState& state) = 0;
  virtual std::vector<SourceStatus> sources() const = 0;
};

}  // namespace mainstay::agent
