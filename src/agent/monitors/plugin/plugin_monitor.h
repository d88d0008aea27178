// PluginMonitor: the checks of one custom-plugin config of node-problem-detector, run when they are due.
// Results in, verdicts and problems out.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "agent/monitor.h"
#include "agent/monitors/plugin/check_pool.h"
#include "agent/monitors/plugin/check_schedule.h"

namespace mainstay::agent {

// Builds who runs the checks of `config`, which outlives it, as does `signal`.
using MakeCheckRunner =
    std::function<std::unique_ptr<CheckRunner>(const PluginConfig& config, Signal& signal)>;
// Threads with child processes.
std::unique_ptr<CheckRunner> makeCheckPool(const PluginConfig& config, Signal& signal);

// The finding of a check whose child does not end even when it is killed.
inline constexpr char kCheckStuck[] = "CheckStuck";

class PluginMonitor final : public Monitor {
 public:
  explicit PluginMonitor(PluginConfig config, MakeCheckRunner makeRunner = makeCheckPool);

  std::vector<ConditionSpec> conditions() const override;
  std::vector<ReasonSpec> reasons() const override;
  void start(Signal& signal) override;
  TimePoint step(TimePoint now, NodeState& state) override;
  std::vector<SourceStatus> sources() const override;

 private:
  struct Stuck {
    std::function<bool()> hasEnded;
    std::string what;
  };
  void take(const FinishedCheck& finished, TimePoint now, NodeState& state);
  void tell(const PluginRule& rule, const CheckResult& result, TimePoint now, NodeState& state) const;
  void onStuck(const FinishedCheck& finished, TimePoint now, NodeState& state);
  void releaseEnded(TimePoint now, NodeState& state);

  const PluginConfig config_;
  const MakeCheckRunner makeRunner_;
  std::optional<CheckSchedule> schedule_;  // from the first step on
  std::map<std::size_t, Stuck> stuck_;     // by check
  std::optional<TimePoint> lastResult_;
  std::unique_ptr<CheckRunner> runner_;  // last: its threads use the config
};

}  // namespace mainstay::agent
