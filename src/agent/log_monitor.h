// LogMonitor: one node-problem-detector config file at work. Records in, problems out.
#pragma once

#include <optional>
#include <vector>

#include "agent/log_feed.h"
#include "fault/matcher.h"
#include "fault/rule.h"

namespace mainstay::agent {

// The oldest record that counts, as node-problem-detector has it: the lookback, but not beyond the boot plus
// `delay` (which may lie in the future). `uptime` includes suspend.
TimePoint startTime(TimePoint now, Duration uptime, Duration lookback, Duration delay);

class LogMonitor final : public RecordMonitor {
 public:
  // REQUIRES: `config` comes from parseLogMonitorConfig.
  static Result<LogMonitor> create(fault::LogMonitorConfig config, TimePoint start);

  // Every rule that the record completes, in the order of the file.
  std::vector<Problem> onRecord(const fault::Record& record);

  std::vector<ConditionSpec> conditions() const override;
  std::vector<ReasonSpec> reasons() const override;
  void take(const fault::Record& record, NodeState& state) override;
  void recall(const fault::Record& record) override;

 private:
  LogMonitor(fault::LogMonitorConfig config, TimePoint start, fault::Matcher matcher,
             std::vector<std::optional<fault::Extractor>> devices);
  Problem problemOf(const fault::Matcher::Match& match) const;

  fault::LogMonitorConfig config_;
  TimePoint start_;
  fault::Matcher matcher_;
  std::vector<std::optional<fault::Extractor>> devices_;  // by rule
};

}  // namespace mainstay::agent
