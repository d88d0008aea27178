#include "agent/source_health.h"

namespace mainstay::agent {
namespace {

constexpr char kComponent[] = "mainstay-agent";

Problem degraded(const char* reason, std::string message, TimePoint now) {
  Problem problem;
  problem.source = kComponent;
  problem.condition = kMonitorDegraded;
  problem.reason = reason;
  problem.line = message;
  problem.message = std::move(message);
  problem.time = now;
  problem.rule = std::string(kComponent) + "#" + reason;
  problem.faultClass = "monitor";
  return problem;
}

}  // namespace

ConditionSpec SourceHealth::condition() {
  return {kComponent, kMonitorDegraded, "MonitorsAreReading", "every monitor reads its source without gaps"};
}

std::vector<ReasonSpec> SourceHealth::reasons() {
  return {{kMonitorDegraded, kKernelLogUnreadable, fault::ClearOn::kEvidence, true},
          {kMonitorDegraded, kKernelLogRecordsLost, fault::ClearOn::kEvidence, true}};
}

void SourceHealth::onLost(const RecordsLost& lost, TimePoint now, NodeState& state) {
  lost_ += lost.count;
  lastLoss_ = lost.what;
  lossShownUntil_ = now + kLossShown;
  if (!blind_) {
    reportLoss(now, state);
  }
}

void SourceHealth::reportLoss(TimePoint now, NodeState& state) const {
  state.report(
      degraded(kKernelLogRecordsLost,
               std::to_string(lost_) + " records of the kernel log were lost (" + lastLoss_ +
                   "); a fault among them is not known. The metric mainstay_agent_records_lost_total "
                   "counts on",
               now));
}

void SourceHealth::onBlind(const SourceBlind& blind, TimePoint now, NodeState& state) {
  blind_ = true;
  state.report(degraded(kKernelLogUnreadable,
                        blind.why + ". Faults of this node are not seen; it is tried again every few seconds",
                        now));
}

void SourceHealth::onReading(TimePoint now, NodeState& state) {
  if (!blind_) {
    return;
  }
  blind_ = false;
  if (lossShownUntil_) {
    reportLoss(now, state);
  } else {
    state.clear(kMonitorDegraded, now);
  }
}

TimePoint SourceHealth::step(TimePoint now, NodeState& state) {
  if (lossShownUntil_ && now >= *lossShownUntil_) {
    lossShownUntil_.reset();
    lost_ = 0;
    if (!blind_) {
      state.clear(kMonitorDegraded, now);
    }
  }
  return lossShownUntil_.value_or(kNever);
}

}  // namespace mainstay::agent
