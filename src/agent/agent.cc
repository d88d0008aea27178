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

// The names of all rules are only put together for those who ask for them.
Vocabulary vocabulary(const std::vector<std::string>& names,
                      const std::vector<std::unique_ptr<Monitor>>& monitors) {
  if (names.empty()) {
    return {};
  }
  std::vector<Speaker> speakers;
  for (const auto& monitor : monitors) {
    speakers.push_back(speakerOf(monitor->conditions(), monitor->reasons(), monitor->names()));
  }
  return {names, speakers};
}

}  // namespace

Agent::Agent(AgentParts parts, TimePoint now)
    : monitors_(std::move(parts.monitors)),
      state_(allConditions(monitors_), allReasons(monitors_), parts.machine, now,
             vocabulary(parts.alsoConditions, monitors_)),
      metrics_(*parts.metrics),
      board_(*parts.board),
      keeper_(std::move(parts.keeper)),
      kernelLog_(parts.saved.kernelLog) {
  state_.recall(parts.saved.standing);
  for (const auto& monitor : monitors_) {
    monitor->start(signal());
  }
  if (parts.api) {
    publisher_.emplace(*parts.api, std::move(parts.publisher), metrics_, now);
  }
}

Agent::~Agent() {
  if (keeper_) {
    keeper_->write(state_, kernelLog_);
  }
}

TimePoint Agent::step(TimePoint now) {
  TimePoint wake = kNever;
  for (const auto& monitor : monitors_) {
    wake = std::min(wake, monitor->step(now, state_));
  }
  state_.translate(now);
  show();
  showSources(now);
  keep(now);  // an API server that does not answer takes its time
  if (publisher_) {
    wake = std::min(wake, publisher_->step(now, state_));
    show();  // what it restored
  }
  return std::min(wake, keep(now));
}

TimePoint Agent::keep(TimePoint now) {
  return keeper_ ? keeper_->step(now, state_, kernelLog_) : kNever;
}

void Agent::show() {
  for (const MetricStep& step : state_.takeMetrics()) {
    if (step.condition.empty()) {
      metrics_.count("problem_counter", "Number of times a specific type of problem have occurred.",
                     {{"reason", step.reason}}, step.value);
    } else {
      metrics_.set("problem_gauge", "Whether a specific type of problem is affecting the node or not.",
                   {{"type", step.condition}, {"reason", step.reason}}, step.value);
    }
  }
  if (state_.revision() != shownRevision_) {
    shownRevision_ = state_.revision();
    board_.show(state_.conditions());
  }
}

void Agent::showSources(TimePoint now) {
  std::vector<SourceStatus> all;
  for (const auto& monitor : monitors_) {
    std::ranges::copy(monitor->sources(), std::back_inserter(all));
  }
  for (const SourceStatus& source : all) {
    kernelLog_ = source.told ? source.told : kernelLog_;
    const std::pair shown(source.trouble.empty(), source.lag);
    const auto [at, isNew] = shownSources_.try_emplace(source.name, shown);
    if (isNew || at->second != shown) {
      at->second = shown;
      metrics_.set("mainstay_agent_source_up",
                   "1 while the source is read, 0 while the agent is blind there.", {{"source", source.name}},
                   shown.first ? 1 : 0);
      metrics_.set("mainstay_agent_source_lag_seconds",
                   "How old the source's newest news was when the agent took it.", {{"source", source.name}},
                   std::chrono::duration<double>(source.lag).count());
    }
  }
  board_.stepped(now, std::move(all));
}

}  // namespace mainstay::agent
