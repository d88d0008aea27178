#include "recovery/controller.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/log.h"

namespace mainstay::recovery {
namespace {

// A disruption budget is asked again as often as kubectl drain does.
constexpr Duration kEvictAgain = std::chrono::seconds(5);
// A pod or node whose deletion was accepted, an instance that was marked: they need a moment to go, and their watch a moment
// to tell.
constexpr Duration kShowsLater = std::chrono::seconds(10);
// An Event that says what another said is not news within the hour (the API server keeps Events for one).
constexpr Duration kEventAgain = std::chrono::hours(1);
constexpr Duration kFirstRetry = std::chrono::milliseconds(100);
constexpr Duration kLastRetry = std::chrono::seconds(30);
// No recovery takes as many steps in a row: a writer that undoes our writes must not spin us.
constexpr int kLongStreak = 200;
constexpr Duration kPause = std::chrono::seconds(1);

template <class T>
bool is(const Step& step) {
  return std::holds_alternative<T>(step.action);
}

// How long the same step is not repeated after it succeeded. Zero where our caches show the effect at once.
Duration repeatAfter(const Step& step) {
  if (is<EvictPod>(step)) {
    return kEvictAgain;
  }
  if (is<PostEvent>(step)) {
    return kEventAgain;
  }
  const bool shows = !is<DeletePod>(step) && !is<ForceDeletePod>(step) && !is<DeleteNode>(step) &&
                     !is<DeleteIncident>(step) && !is<MarkUnhealthy>(step);
  return shows ? Duration{} : kShowsLater;
}

Duration retryAfter(const Step& step, int failures) {
  if (is<EvictPod>(step)) {
    return kEvictAgain;
  }
  return std::min(kLastRetry, kFirstRetry * (1 << std::min(failures - 1, 10)));
}

std::string groupOf(const Step& step) {
  return step.incident.empty() ? "node " + step.node : step.incident;
}

}  // namespace

Controller::Controller(kube::Api& api, Providers providers, const std::string& host,
                       std::function<bool()> leading, Metrics& metrics, Concurrency concurrency)
    : providers_(std::move(providers)),
      leading_(std::move(leading)),
      metrics_(metrics),
      concurrency_(concurrency),
      caches_(api, signal()),
      instances_(concurrency.asksAside ? askAside(providers_, signal()) : askAtOnce(providers_)),
      executor_(api, caches_, providers_, host, leading_) {}

TimePoint Controller::step(TimePoint now) {
  const TimePoint synced = caches_.sync(now);
  const std::string trouble = caches_.whyNotReady(now);
  if (trouble != trouble_ && !trouble.empty()) {
    logWarning("recovery waits for the API server", {{"why", trouble}});
  }
  trouble_ = trouble;
  if (!trouble.empty() || !leading_()) {
    return synced;
  }
  const Fleet fleet = look(now);
  const Plan plan = recovery::plan(fleet, now);
  const bool acted = carryOut(plan.steps, now);
  measure(fleet);
  return rest(acted, now, std::min({synced, plan.wake, instances_.wake(), retryAt_}));
}

Fleet Controller::look(TimePoint now) {
  Fleet fleet = caches_.fleet();
  for (const auto& [name, provider] : providers_) {
    fleet.providers.insert(name);
  }
  std::erase_if(refused_, [&](const auto& entry) { return !fleet.incidents.contains(entry.first); });
  fleet.refused = refused_;
  fleet.facts = instances_.facts();
  instances_.step(fleet, now);
  fleet.facts = instances_.facts();
  return fleet;
}

// True when something was carried out: the next plan may follow at once. Places first, all of a policy in one write;
// then what is done about different incidents and nodes, side by side; last what nothing waits for.
bool Controller::carryOut(const std::vector<Step>& steps, TimePoint now) {
  retryAt_ = kNever;
  std::erase_if(attempts_, [&](const auto& entry) { return entry.second.notBefore + kLastRetry < now; });
  std::map<std::string, std::vector<const Step*>> places;
  std::vector<const Step*> work;
  std::vector<const Step*> events;
  std::vector<const Step*> releases;  // of one policy: they would be in each other's way
  for (const Step& step : steps) {
    if (const auto* take = std::get_if<TakeSlots>(&step.action)) {
      places[take->policy].push_back(&step);
    } else {
      (is<PostEvent>(step) ? events : is<ReleaseSlots>(step) ? releases : work).push_back(&step);
    }
  }
  Round round{now, {}, false};
  for (const auto& [policy, wanted] : places) {
    takeSlots(wanted, round);
  }
  inParallel(work, round);
  for (const Step* step : releases) {
    carryOut(*step, round);
  }
  inParallel(events, round);
  return round.acted;
}

void Controller::takeSlots(const std::vector<const Step*>& steps, Round& round) {
  std::vector<const Step*> due;
  std::ranges::copy_if(steps, std::back_inserter(due),
                       [&](const Step* step) { return mayTry(*step, round); });
  if (due.empty()) {
    return;
  }
  const Result<> result = executor_.takeSlots(due);
  for (const Step* step : due) {
    conclude(*step, result, round);
  }
}

// The steps of one incident or node keep their order.
void Controller::inParallel(const std::vector<const Step*>& steps, Round& round) {
  std::vector<std::vector<const Step*>> groups;
  std::map<std::string, std::size_t> groupAt;
  for (const Step* step : steps) {
    const auto [at, isNew] = groupAt.try_emplace(groupOf(*step), groups.size());
    if (isNew) {
      groups.emplace_back();
    }
    groups[at->second].push_back(step);
  }
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t group = next++; group < groups.size(); group = next++) {
      for (const Step* step : groups[group]) {
        carryOut(*step, round);
      }
    }
  };
  std::vector<std::jthread> helpers;
  const auto wanted = std::min(static_cast<std::size_t>(concurrency_.writers), groups.size());
  for (std::size_t i = 1; i < wanted; ++i) {
    helpers.emplace_back(work);
  }
  work();
}

void Controller::carryOut(const Step& step, Round& round) {
  if (mayTry(step, round)) {
    conclude(step, executor_.execute(step, round.now), round);
  }
}

// Not when a step that it builds on failed, nor too soon after its own last try. One that succeeded moments ago and
// whose effect cannot be seen yet holds up nothing; one that failed does.
bool Controller::mayTry(const Step& step, Round& round) {
  const std::lock_guard lock(mutex_);
  if (round.stopped.contains(groupOf(step))) {
    return false;
  }
  const auto at = attempts_.find(describe(step));
  if (at == attempts_.end() || at->second.notBefore <= round.now) {
    return true;
  }
  const bool justDone = at->second.failures == 0;
  if (!justDone || !is<PostEvent>(step)) {
    retryAt_ = std::min(retryAt_, at->second.notBefore);
  }
  if (!justDone && isBarrier(step)) {
    round.stopped.insert(groupOf(step));
  }
  return false;
}

void Controller::conclude(const Step& step, const Result<>& result, Round& round) {
  const std::lock_guard lock(mutex_);
  remember(step, result, round.now);
  report(step, result);
  round.acted = round.acted || result.has_value();
  if (!result && isBarrier(step)) {
    round.stopped.insert(groupOf(step));
  }
}

void Controller::remember(const Step& step, const Result<>& result, TimePoint now) {
  const std::string key = describe(step);
  if (result) {
    attempts_.erase(key);
    if (const Duration wait = repeatAfter(step); wait > Duration{}) {
      attempts_[key] = {now + wait, 0};
    }
  } else {
    Attempt& attempt = attempts_[key];
    ++attempt.failures;
    const Duration asked = result.error().retryAfter().value_or(Duration{});
    attempt.notBefore = now + std::max(asked, retryAfter(step, attempt.failures));
    retryAt_ = std::min(retryAt_, attempt.notBefore);
  }
  if (is<MarkUnhealthy>(step)) {
    refused_.erase(step.incident);
    if (!result && !result.error().isRetryable()) {
      refused_[step.incident] = result.error().toString();
    }
  }
}

void Controller::report(const Step& step, const Result<>& result) {
  metrics_.count("mainstay_recovery_steps_total", "Steps of node recovery that were carried out or failed.",
                 {{"step", std::string(stepName(step))}, {"result", result ? "done" : "failed"}});
  if (!result) {
    const bool expected = is<EvictPod>(step) || result.error().code() == Code::kConflict;
    (expected ? logDebug : logWarning)(
        "recovery step failed, it is tried again",
        {{"step", describe(step)}, {"incident", step.incident}, {"error", result.error()}});
    return;
  }
  if (!is<PostEvent>(step)) {
    logInfo("recovery step",
            {{"step", describe(step)}, {"incident", step.incident}, {"reason", step.reason}});
  }
  const auto* update = std::get_if<UpdateIncident>(&step.action);
  if (!update || !update->status.closed) {
    return;
  }
  metrics_.count("mainstay_recovery_incidents_closed_total", "Incidents that were closed.",
                 {{"outcome", update->status.outcome}});
  for (const auto& [phase, seconds] : update->status.phaseSeconds) {
    metrics_.observe("mainstay_recovery_phase_seconds", "Time that closed incidents spent in each phase.",
                     {{"phase", phase}}, seconds);
  }
}

void Controller::measure(const Fleet& fleet) {
  std::map<std::pair<std::string, std::string>, int> counts;
  for (const auto& key : measured_) {
    counts[key] = 0;
  }
  for (const auto& [name, incident] : fleet.incidents) {
    if (incident->open()) {
      ++counts[{incident->policy, std::string(phaseName(incident->status.phase))}];
    }
  }
  for (const auto& [key, count] : counts) {
    metrics_.set("mainstay_recovery_incidents", "Open incidents.",
                 {{"policy", key.first}, {"phase", key.second}}, count);
    measured_.insert(key);
  }
}

TimePoint Controller::rest(bool acted, TimePoint now, TimePoint wake) {
  streak_ = acted ? streak_ + 1 : 0;
  if (!acted) {
    return wake;
  }
  if (streak_ < kLongStreak) {
    return now;
  }
  logWarning(
      "recovery steps without end: somebody undoes them, or the API server drops what we write; pausing",
      {{"seconds", 1}});
  streak_ = 0;
  return now + kPause;
}

}  // namespace mainstay::recovery
