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
  // What waits for time to pass; returns when to be called again.
  virtual TimePoint step(TimePoint /*now*/, NodeState& /*state*/) { return kNever; }
};

class LogFeed final : public Monitor {
 public:
  // `metrics` outlives it.
  LogFeed(SourceName name, MakeSource makeSource, std::vector<std::unique_ptr<RecordMonitor>> readers,
          Metrics& metrics);

  std::vector<ConditionSpec> conditions() const override;
  std::vector<ReasonSpec> reasons() const override;
  std::vector<RuleNames> names() const override;
  void start(Signal& signal) override;
  TimePoint step(TimePoint now, NodeState& state) override;
  std::vector<SourceStatus> sources() const override;

 private:
  void take(const SourceNews& news, TimePoint now, NodeState& state);
  void takeUnparsed(const LinesUnparsed& lines, TimePoint now);
  void countRecords(std::size_t records, std::uint64_t lost);

  const SourceName name_;
  const MakeSource makeSource_;
  Metrics& metrics_;
  std::vector<std::unique_ptr<RecordMonitor>> readers_;
  SourceHealth health_;
  SourceStatus status_;
  std::uint64_t unparsed_ = 0;  // lines, since the last warning
  TimePoint nextUnparsedWarning_{};
  std::unique_ptr<Source> source_;  // last: its thread raises our signal
};

}  // namespace mainstay::agent
