#include "agent/source_health.h"

namespace mainstay::agent {
namespace {

std::string ruleOf(const std::string& reason) {
  return std::string(kAgentSource) + "#" + reason;
}

}  // namespace

ConditionSpec monitorDegraded() {
  return {kAgentSource, kMonitorDegraded, "MonitorsAreReading",
          "every monitor reads its source without gaps"};
}

Problem degraded(const std::string& reason, const std::string& device, std::string message, TimePoint now) {
  Problem problem;
  problem.source = kAgentSource;
  problem.condition = kMonitorDegraded;
  problem.reason = reason;
  problem.line = message;
  problem.message = std::move(message);
  problem.time = now;
  problem.joins = true;
  problem.rule = ruleOf(reason);
  problem.device = device;
  problem.faultClass = "monitor";
  return problem;
}

void mended(const std::string& reason, const std::string& device, TimePoint now, NodeState& state) {
  state.resolve(kMonitorDegraded, ruleOf(reason), device, now);
}

std::vector<ReasonSpec> SourceHealth::reasons() const {
  return {{kMonitorDegraded, unreadable(), fault::ClearOn::kEvidence, true, true, name_.source},
          {kMonitorDegraded, recordsLost(), fault::ClearOn::kEvidence, true, true, name_.source}};
}

void SourceHealth::onLost(const RecordsLost& lost, TimePoint now, NodeState& state) {
  lost_ += lost.count;
  lossShownUntil_ = now + kLossShown;
  state.report(
      degraded(recordsLost(), name_.source,
               std::to_string(lost_) + " records of the " + name_.title + " were lost (" + lost.what +
                   "); a fault among them is not known. The metric mainstay_agent_records_lost_total "
                   "counts on",
               now));
}

void SourceHealth::onBlind(const SourceBlind& blind, TimePoint now, NodeState& state) {
  blind_ = true;
  state.report(degraded(unreadable(), name_.source,
                        blind.why + ". Faults that only the " + name_.title +
                            " tells are not seen; it is tried again every few seconds",
                        now));
}

void SourceHealth::onReading() {
  blind_ = false;
  reading_ = true;
}

// Also ends what an earlier run of the agent found: the node's state takes that over some time after the start.
TimePoint SourceHealth::step(TimePoint now, NodeState& state) {
  if (reading_ && !blind_) {
    mended(unreadable(), name_.source, now, state);
  }
  if (!lossShownUntil_) {
    lossShownUntil_ = now + kLossShown;
  } else if (now >= *lossShownUntil_) {
    lossShownUntil_ = kNever;
    lost_ = 0;
    mended(recordsLost(), name_.source, now, state);
  }
  return *lossShownUntil_;
}

}  // namespace mainstay::agent
