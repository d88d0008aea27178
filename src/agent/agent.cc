#include "agent/agent.h"

#include <algorithm>

namespace mainstay::agent {
namespace {

std::vector<ConditionSpec> allConditions(const std::vector<std::unique_ptr<Monitor>>& monitors) {
  std::vector<ConditionSpec> all;
  for (const auto& monitor : monitors) {
    std::ranges::copy(monitor->conditions(), std::back_inserter(all));
  }
  return all;
}

std::vector<ReasonSpec> allReasons(const std::vector<std::unique_ptr<Monitor>>& monitors) {
  std::vector<ReasonSpec> all;
  for (const auto& monitor : monitors) {
    std::ranges::copy(monitor->reasons(), std::back_inserter(all));
  }
  return all;
}

}  // namespace

Agent::Agent(AgentParts parts, TimePoint now)
    : monitors_(std::move(parts.monitors)),
      state_(allConditions(monitors_), allReasons(monitors_), parts.machine, now),
      metrics_(*parts.metrics),
      board_(*parts.board) {
  for (const auto& monitor : monitors_) {
    monitor->start(signal());
  }
  if (parts.api) {
    publisher_.emplace(*parts.api, std::move(parts.publisher), metrics_, now);
  }
}

TimePoint Agent::step(TimePoint now) {
  TimePoint wake = kNever;
  for (const auto& monitor : monitors_) {
    wake = std::min(wake, monitor->step(now, state_));
  }
  show(now);
  if (publisher_) {
    wake = std::min(wake, publisher_->step(now, state_));
    show(now);  // what it restored
  }
  return wake;
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

}  // namespace mainstay::agent
