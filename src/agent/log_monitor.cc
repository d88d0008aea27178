#include "agent/log_monitor.h"

#include <algorithm>

namespace mainstay::agent {

TimePoint startTime(TimePoint now, Duration uptime, Duration lookback, Duration delay) {
  return std::max(now - uptime + delay, now - lookback);
}

Result<LogMonitor> LogMonitor::create(fault::LogMonitorConfig config, TimePoint start) {
  std::vector<fault::Pattern> patterns;
  std::vector<std::optional<fault::Extractor>> devices;
  for (const fault::Rule& rule : config.rules) {
    MAINSTAY_ASSIGN(fault::Pattern pattern, fault::Pattern::compile(rule.pattern));
    patterns.push_back(std::move(pattern));
    devices.emplace_back();
    if (!rule.device.empty()) {
      MAINSTAY_ASSIGN(devices.back(), fault::Extractor::compile(rule.device));
    }
  }
  fault::Matcher matcher(std::move(patterns), config.bufferSize);
  return LogMonitor(std::move(config), start, std::move(matcher), std::move(devices));
}

LogMonitor::LogMonitor(fault::LogMonitorConfig config, TimePoint start, fault::Matcher matcher,
                       std::vector<std::optional<fault::Extractor>> devices)
    : config_(std::move(config)), start_(start), matcher_(std::move(matcher)), devices_(std::move(devices)) {}

std::vector<Problem> LogMonitor::onRecord(const fault::Record& record) {
  std::vector<Problem> problems;
  if (record.time < start_) {
    return problems;
  }
  for (const fault::Matcher::Match& match : matcher_.push(record)) {
    problems.push_back(problemOf(match));
  }
  return problems;
}

void LogMonitor::take(const fault::Record& record, NodeState& state) {
  for (const Problem& problem : onRecord(record)) {
    state.report(problem);
  }
}

// Lines of the window, which may begin what a later line completes.
void LogMonitor::recall(const fault::Record& record) {
  onRecord(record);
}

Problem LogMonitor::problemOf(const fault::Matcher::Match& match) const {
  const fault::Rule& rule = config_.rules[match.rule];
  const auto& window = matcher_.window();
  const auto first = window.end() - static_cast<std::ptrdiff_t>(match.lines);
  Problem problem;
  problem.source = config_.source;
  problem.condition = rule.permanent ? rule.condition : "";
  problem.reason = rule.reason;
  for (auto line = first; line != window.end(); ++line) {
    problem.line += (line == first ? "" : "\n") + line->text;
  }
  problem.message = problem.line + (rule.messageSuffix.empty() ? "" : "; " + rule.messageSuffix);
  problem.time = first->time;
  problem.countsInMetrics = config_.metricsReporting;
  problem.rule = rule.id;
  problem.faultClass = rule.faultClass;
  problem.device = devices_[match.rule] ? devices_[match.rule]->extract(problem.line) : "";
  problem.action = rule.action;
  problem.seq = window.back().seq;
  return problem;
}

std::vector<ConditionSpec> LogMonitor::conditions() const {
  std::vector<ConditionSpec> specs;
  for (const fault::ConditionDefault& condition : config_.conditions) {
    specs.push_back({config_.source, condition.type, condition.reason, condition.message});
  }
  return specs;
}

std::vector<ReasonSpec> LogMonitor::reasons() const {
  std::vector<ReasonSpec> specs;
  for (const fault::Rule& rule : config_.rules) {
    specs.push_back(
        {rule.permanent ? rule.condition : "", rule.reason, rule.clearOn, config_.metricsReporting});
  }
  return specs;
}

}  // namespace mainstay::agent
