// StatsMonitor: one system-stats config of node-problem-detector at work. It shows metrics, and has no
// conditions but that a file or filesystem cannot be read: its series are not shown then, rather than as they
// were.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/monitor.h"
#include "agent/stats/node_files.h"
#include "agent/stats/sample_board.h"
#include "agent/stats/usage_watch.h"

namespace mainstay::agent::stats {

// How counters are shown: as the kernel has them, or with node-problem-detector's mistakes (sums of all
// samples; ticks in cpu/usage_time), for dashboards that are built on them.
enum class Counters { kTrue, kAsNodeProblemDetector };

class StatsMonitor final : public Monitor {
 public:
  // `files` and `metrics` outlive it.
  static Result<std::unique_ptr<StatsMonitor>> create(const StatsConfig& config, Counters counters,
                                                      const FileSystem& files, Metrics& metrics,
                                                      UsageWatch usage);

  std::vector<ConditionSpec> conditions() const override;
  std::vector<ReasonSpec> reasons() const override;
  void start(Signal& signal) override;
  TimePoint step(TimePoint now, NodeState& state) override;
  std::vector<SourceStatus> sources() const override;

 private:
  // What cannot be read (the file, the mount point), and why.
  using Troubles = std::map<std::string, std::string>;
  struct Eye {
    Troubles troubles;
    std::optional<TimePoint> lastNews;
  };

  StatsMonitor(const StatsConfig& config, Counters counters, NodeFiles files, Metrics& metrics,
               UsageWatch usage);
  void readFiles(TimePoint now, NodeState& state);
  void askMounts();
  void showUsage(TimePoint now, NodeState& state);
  void tell(Eye& eye, Troubles troubles, TimePoint now, NodeState& state);
  std::string deviceOf(const std::string& what) const { return file_ + "#" + what; }

  const std::string file_;
  const Duration interval_;
  NodeFiles files_;
  SampleBoard board_;
  UsageWatch usage_;
  std::map<std::string_view, Eye> eyes_;  // by source: those that the config wants
  TimePoint nextRound_{};
  Result<std::vector<Mount>> mounts_;  // of the last round
  std::uint64_t shownUsage_ = 0;
};

}  // namespace mainstay::agent::stats
