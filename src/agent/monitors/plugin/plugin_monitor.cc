#include "agent/monitors/plugin/plugin_monitor.h"

#include <algorithm>

#include "agent/source_health.h"
#include "base/log.h"

namespace mainstay::agent {
namespace {

// Nothing signals the end of a child that was given up.
constexpr Duration kLookAgain = std::chrono::seconds(10);

std::vector<Duration> intervalsOf(const PluginConfig& config) {
  std::vector<Duration> intervals;
  for (const PluginRule& rule : config.rules) {
    intervals.push_back(rule.interval);
  }
  return intervals;
}

Problem problemOf(const PluginConfig& config, const PluginRule& rule, const CheckResult& result,
                  TimePoint now) {
  Problem problem;
  problem.source = config.source;
  problem.reason = rule.reason;
  problem.message = result.message;
  problem.line = result.message;
  problem.time = now;
  problem.countsInMetrics = config.metricsReporting;
  problem.rule = rule.id;
  problem.faultClass = rule.traits.faultClass;
  problem.action = rule.traits.action;
  return problem;
}

// What the condition says in each state: its default while there is no problem; Unknown has the default
// reason, and what the check said about its failure.
Verdict verdictOf(const PluginConfig& config, const PluginRule& rule, const CheckResult& result,
                  TimePoint now) {
  Verdict verdict;
  verdict.source = config.source;
  verdict.condition = rule.condition;
  verdict.message = result.message;
  verdict.time = now;
  verdict.countsInMetrics = config.metricsReporting;
  verdict.messageMatters = config.messageChanges;
  verdict.clearOn = rule.traits.clearOn;
  verdict.rule = rule.id;
  verdict.faultClass = rule.traits.faultClass;
  verdict.action = rule.traits.action;
  if (result.state == CheckState::kNonOk) {
    verdict.status = "True";
    verdict.reason = rule.reason;
    return verdict;
  }
  const auto healthy = std::ranges::find(config.conditions, rule.condition, &fault::ConditionDefault::type);
  const bool declared = healthy != config.conditions.end();
  verdict.reason = declared ? healthy->reason : "";
  verdict.status = "Unknown";
  if (result.state == CheckState::kOk) {
    verdict.status = "False";
    verdict.message = declared ? healthy->message : "";
  }
  return verdict;
}

}  // namespace

std::unique_ptr<CheckRunner> makeCheckPool(const PluginConfig& config, Signal& signal) {
  return std::make_unique<CheckPool>(
      std::min(config.concurrency, config.rules.size()),
      [&config](std::size_t check, std::stop_token stop) {
        return runCheck(config.rules[check], config.maxOutput, std::move(stop));
      },
      signal);
}

PluginMonitor::PluginMonitor(PluginConfig config, MakeCheckRunner makeRunner)
    : config_(std::move(config)), makeRunner_(std::move(makeRunner)) {}

std::vector<ConditionSpec> PluginMonitor::conditions() const {
  std::vector<ConditionSpec> specs;
  for (const fault::ConditionDefault& condition : config_.conditions) {
    specs.push_back(
        {config_.source, condition.type, condition.reason, condition.message, config_.skipInitialStatus});
  }
  specs.push_back(monitorDegraded());
  return specs;
}

std::vector<ReasonSpec> PluginMonitor::reasons() const {
  std::vector<ReasonSpec> specs;
  for (const PluginRule& rule : config_.rules) {
    specs.push_back(
        {rule.permanent ? rule.condition : "", rule.reason, rule.traits.clearOn, config_.metricsReporting});
  }
  specs.push_back({kMonitorDegraded, kCheckStuck, fault::ClearOn::kEvidence, true});
  return specs;
}

void PluginMonitor::start(Signal& signal) {
  runner_ = makeRunner_(config_, signal);
}

TimePoint PluginMonitor::step(TimePoint now, NodeState& state) {
  if (!schedule_) {
    schedule_.emplace(intervalsOf(config_), config_.concurrency, now);
  }
  for (const FinishedCheck& finished : runner_->takeFinished()) {
    take(finished, now, state);
  }
  releaseEnded(now, state);
  for (auto due = schedule_->plan(now); !due.empty(); due = schedule_->plan(now)) {
    for (const std::size_t check : due) {
      if (stuck_.contains(check)) {
        schedule_->finished(check);
      } else {
        runner_->start(check);
      }
    }
  }
  return std::min(schedule_->nextPlan(), stuck_.empty() ? kNever : now + kLookAgain);
}

void PluginMonitor::take(const FinishedCheck& finished, TimePoint now, NodeState& state) {
  schedule_->finished(finished.check);
  lastResult_ = now;
  const PluginRule& rule = config_.rules[finished.check];
  tell(rule, finished.result, now, state);
  if (finished.result.hasEnded) {
    onStuck(finished, now, state);
  } else {
    mended(kCheckStuck, rule.id, now, state);  // what a former run of the agent has told
  }
}

void PluginMonitor::tell(const PluginRule& rule, const CheckResult& result, TimePoint now,
                         NodeState& state) const {
  if (rule.permanent) {
    state.judge(verdictOf(config_, rule, result, now));
  } else if (result.state != CheckState::kOk) {
    state.report(problemOf(config_, rule, result, now));
  }
}

void PluginMonitor::onStuck(const FinishedCheck& finished, TimePoint now, NodeState& state) {
  const PluginRule& rule = config_.rules[finished.check];
  const std::string what =
      rule.id + ": " + rule.path + " was killed at its deadline of " + formatDuration(rule.timeout) +
      " and has not ended: it hangs in the kernel, on a device or file system that does not "
      "answer. The check is not started again before it ends";
  logError("a check hangs and cannot be killed", {{"check", rule.id}, {"path", rule.path}});
  state.report(degraded(kCheckStuck, rule.id, what, now));
  stuck_[finished.check] = {finished.result.hasEnded, what};
}

void PluginMonitor::releaseEnded(TimePoint now, NodeState& state) {
  for (auto at = stuck_.begin(); at != stuck_.end();) {
    if (!at->second.hasEnded()) {
      ++at;
      continue;
    }
    const PluginRule& rule = config_.rules[at->first];
    logInfo("a check that hung has ended, and runs again", {{"check", rule.id}});
    mended(kCheckStuck, rule.id, now, state);
    at = stuck_.erase(at);
  }
}

std::vector<SourceStatus> PluginMonitor::sources() const {
  return {{config_.file, stuck_.empty() ? "" : stuck_.begin()->second.what, lastResult_, Duration{}}};
}

}  // namespace mainstay::agent
