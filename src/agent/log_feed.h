// LogFeed: one source of records and everybody who reads them. What the source says of itself (records lost, blind)
// becomes the condition MonitorDegraded.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/monitor.h"
#include "agent/source_health.h"
#include "agent/sources/source.h"
#include "base/metrics.h"

namespace mainstay::agent {

// A reader of records: a config of node-problem-detector, or our rule packs.
class RecordMonitor {
 public:
  virtual ~RecordMonitor() = default;
  virtual std::vector<ConditionSpec> conditions() const = 0;
  virtual std::vector<ReasonSpec> reasons() const = 0;
  virtual std::vector<RuleNames> names() const { return {}; }
  virtual void take(const fault::Record& record, NodeState& state) = 0;
  // A record that an earlier run of the agent took, and told what it found: it only counts for what comes after it, the
  // second half of a message or the end of a fault. All of these come before the first that is taken.
  virtual void recall(const fault::Record& record) = 0;
  // That run was stepped until `time`.
  virtual void recallUntil(TimePoint /*time*/) {}
  // What waits for time to pass; returns when to be called again.
  virtual TimePoint step(TimePoint /*now*/, NodeState& /*state*/) { return kNever; }
};

class LogFeed final : public Monitor {
 public:
  // `metrics` outlives it. `told`: how far an earlier run of the agent has come.
  LogFeed(SourceName name, MakeSource makeSource, std::vector<std::unique_ptr<RecordMonitor>> readers,
          Metrics& metrics, std::optional<LogMark> told = std::nullopt);

  std::vector<ConditionSpec> conditions() const override;
  std::vector<ReasonSpec> reasons() const override;
  std::vector<RuleNames> names() const override;
  void start(Signal& signal) override;
  TimePoint step(TimePoint now, NodeState& state) override;
  std::vector<SourceStatus> sources() const override;

 private:
  void take(const SourceNews& news, TimePoint now, NodeState& state);
  void takeRecord(const fault::Record& record, TimePoint now, NodeState& state);
  void endRecall();
  void takeUnparsed(const LinesUnparsed& lines, TimePoint now);
  void countRecords(std::size_t records, std::uint64_t lost);

  const SourceName name_;
  const MakeSource makeSource_;
  Metrics& metrics_;
  std::vector<std::unique_ptr<RecordMonitor>> readers_;
  SourceHealth health_;
  SourceStatus status_;
  std::optional<LogMark> recalling_;  // until its end is reached
  std::uint64_t unparsed_ = 0;        // lines, since the last warning
  TimePoint nextUnparsedWarning_{};
  std::unique_ptr<Source> source_;  // last: its thread raises our signal
};

}  // namespace mainstay::agent
