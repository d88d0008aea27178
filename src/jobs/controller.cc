#include "jobs/controller.h"

#include <algorithm>

#include "api/names.h"
#include "base/log.h"

namespace mainstay::jobs {
namespace {

constexpr Duration kRetryPause = std::chrono::milliseconds(250);  // after a refused or failed write
constexpr int kMaxRounds =
    8;  // stop, record and start of one job take three; the rest waits for the next step
constexpr std::size_t kMaxTold = 10'000;

std::string wordingOf(const Step& step) {
  const std::string key = step.job->meta.uid + " " + step.reason;
  // What a waiting job waits for changes with every node; it is told once per stop. NodeRecovery shows the
  // present.
  return key + " " +
         (step.reason == kJobWaitingForNodes ? step.job->meta.annotation(api::kResumeAnnotation) : step.why);
}

}  // namespace

struct Controller::Caches {
  Caches(kube::Api& api, const Adapter& adapter, Signal& signal)
      : nodes(api, api::kNodes, api::decodeNode, signal),
        pods(api, api::kPods, api::decodePod, signal),
        recoveries(api, api::kNodeRecoveries, api::decodeNodeRecovery, signal),
        policies(api, api::kRecoveryPolicies, api::decodeRecoveryPolicy, signal),
        jobs(api, adapter.resource(), adapter.decode(), signal) {}

  TimePoint sync(TimePoint now) {
    return std::min(
        {nodes.sync(now), pods.sync(now), recoveries.sync(now), policies.sync(now), jobs.sync(now)});
  }
  // What a stale cache says is not acted on.
  bool fresh() const {
    const auto good = [](const auto& cache) { return cache.synced() && !cache.staleSince(); };
    return good(nodes) && good(pods) && good(recoveries) && good(policies) && good(jobs);
  }

  kube::WatchCache<api::Node> nodes;
  kube::WatchCache<api::Pod> pods;
  kube::WatchCache<api::NodeRecovery> recoveries;
  kube::WatchCache<api::RecoveryPolicy> policies;
  kube::WatchCache<Job> jobs;
};

Controller::Controller(kube::Api& api, std::string host, std::function<bool()> leading)
    : leading_(std::move(leading)),
      events_(api, "mainstay-controller", std::move(host)),
      executor_(api, events_),
      caches_(std::make_unique<Caches>(api, adapter_, signal())) {}

Controller::~Controller() = default;

TimePoint Controller::step(TimePoint now) {
  const TimePoint wake = caches_->sync(now);
  if (!caches_->fresh() || !leading_()) {
    return wake;
  }
  if (now < retryAt_) {
    return std::min(wake, retryAt_);
  }
  for (int round = 0; round < kMaxRounds; ++round) {
    const Round result = planAndAct(now);
    if (result.failed) {
      retryAt_ = now + kRetryPause;
      return std::min(wake, retryAt_);
    }
    if (!result.acted) {
      return wake;
    }
  }
  return now;
}

Controller::Round Controller::planAndAct(TimePoint now) {
  const Facts facts{.nodes = caches_->nodes.objects(),
                    .pods = caches_->pods.objects(),
                    .recoveries = caches_->recoveries.objects(),
                    .policies = caches_->policies.objects(),
                    .kinds = {{&adapter_, &caches_->jobs.objects()}}};
  Round round;
  for (const Step& step : plan(facts, now)) {
    if (step.kind == Step::Kind::kEvent && alreadyTold(step)) {
      continue;
    }
    const Result<Written> written = executor_.carryOut(step, now);
    if (!written) {
      logWarning("a step of the job plan failed; it is planned again", {{"error", written.error()}});
      round.failed = true;
      continue;
    }
    if (written->job) {
      caches_->jobs.observe(*written->job);
    }
    if (written->recovery) {
      caches_->recoveries.observe(*written->recovery);
    }
    round.acted |= written->job || written->recovery;
  }
  return round;
}

bool Controller::alreadyTold(const Step& step) {
  if (told_.size() >= kMaxTold) {
    told_.clear();
  }
  return !told_.insert(wordingOf(step)).second;
}

}  // namespace mainstay::jobs
