#include "agent/agent.h"

#include <algorithm>

#include "base/log.h"

namespace mainstay::agent {
namespace {

std::vector<ConditionSpec> allConditions(const std::vector<LogMonitor>& monitors) {
  std::vector<ConditionSpec> all;
  for (const LogMonitor& monitor : monitors) {
    std::ranges::copy(monitor.conditions(), std::back_inserter(all));
  }
  all.push_back(SourceHealth::condition());
  return all;
}

std::vector<ReasonSpec> allReasons(const std::vector<LogMonitor>& monitors) {
  std::vector<ReasonSpec> all;
  for (const LogMonitor& monitor : monitors) {
    std::ranges::copy(monitor.reasons(), std::back_inserter(all));
  }
  std::ranges::copy(SourceHealth::reasons(), std::back_inserter(all));
  return all;
}

}  // namespace

Agent::Agent(AgentParts parts, TimePoint now)
    : monitors_(std::move(parts.monitors)),
      state_(allConditions(monitors_), allReasons(monitors_), parts.machine, now),
      metrics_(*parts.metrics),
      board_(*parts.board),
      source_(parts.makeSource(signal())) {
  if (parts.api) {
    publisher_.emplace(*parts.api, std::move(parts.publisher), metrics_, now);
  }
  countRecords(0, 0);
}

TimePoint Agent::step(TimePoint now) {
  std::size_t records = 0;
  std::uint64_t lost = 0;
  for (const SourceNews& news : source_->poll(now)) {
    take(news, now);
    records += std::holds_alternative<fault::Record>(news) ? 1 : 0;
    lost += std::holds_alternative<RecordsLost>(news) ? std::get<RecordsLost>(news).count : 0;
  }
  TimePoint wake = std::min(source_->nextPoll(), health_.step(now, state_));
  if (records > 0 || lost > 0) {
    countRecords(records, lost);
  }
  show(now);
  if (publisher_) {
    wake = std::min(wake, publisher_->step(now, state_));
    show(now);  // what it restored
  }
  return wake;
}

void Agent::take(const SourceNews& news, TimePoint now) {
  if (const auto* record = std::get_if<fault::Record>(&news)) {
    for (LogMonitor& monitor : monitors_) {
      for (const Problem& problem : monitor.onRecord(*record)) {
        state_.report(problem);
      }
    }
  } else if (const auto* lost = std::get_if<RecordsLost>(&news)) {
    logWarning("records lost", {{"count", lost->count}, {"what", lost->what}});
    health_.onLost(*lost, now, state_);
  } else if (const auto* blind = std::get_if<SourceBlind>(&news)) {
    logError("the kernel log cannot be read, and is tried again", {{"error", blind->why}});
    health_.onBlind(*blind, now, state_);
  } else {
    logInfo("reading the kernel log");
    health_.onReading(now, state_);
  }
}

void Agent::show(TimePoint now) {
  for (const MetricStep& step : state_.takeMetrics()) {
    if (step.condition.empty()) {
      metrics_.count("problem_counter", "Number of times a specific type of problem have occurred.",
                     {{"reason", step.reason}}, step.value);
    } else {
      metrics_.set("problem_gauge", "Whether a specific type of problem is affecting the node or not.",
                   {{"type", step.condition}, {"reason", step.reason}}, step.value);
    }
  }
  board_.stepped(now);
  if (state_.revision() != shownRevision_) {
    shownRevision_ = state_.revision();
    board_.show(state_.conditions());
  }
}

void Agent::countRecords(std::size_t records, std::uint64_t lost) {
  metrics_.count("mainstay_agent_records_total", "Records read from the kernel log.", {},
                 static_cast<double>(records));
  metrics_.count(
      "mainstay_agent_records_lost_total",
      "Records of the kernel log that were overwritten before they could be read, or were unreadable.", {},
      static_cast<double>(lost));
}

}  // namespace mainstay::agent
