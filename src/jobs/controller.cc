#include "jobs/controller.h"

#include <algorithm>

#include "api/names.h"
#include "base/log.h"

namespace mainstay::jobs {
namespace {

// After a refused or failed write: doubled each time, as client-go's workqueue does.
constexpr Duration kFirstPause = std::chrono::milliseconds(250);
constexpr Duration kLongestPause = std::chrono::seconds(30);
constexpr int kMostDoublings = 7;
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
  // What a stale cache says is not acted on. Why it is stale; "" = all are fresh.
  std::string trouble() const {
    std::string text;
    const auto check = [&](const auto& cache, const char* what) {
      if (!cache.synced() || cache.staleSince()) {
        text += (text.empty() ? "" : "; ") + std::string(what) + ": " + cache.lastError();
      }
    };
    check(nodes, "nodes");
    check(pods, "pods");
    check(recoveries, "noderecoveries");
    check(policies, "recoverypolicies");
    check(jobs, "jobs");
    return text;
  }

  kube::WatchCache<api::Node> nodes;
  kube::WatchCache<api::Pod> pods;
  kube::WatchCache<api::NodeRecovery> recoveries;
  kube::WatchCache<api::RecoveryPolicy> policies;
  kube::WatchCache<Job> jobs;
};

Controller::Controller(kube::Api& api, std::string host, std::function<bool()> leading)
    : api_(api),
      leading_(std::move(leading)),
      events_(api, "mainstay-controller", std::move(host)),
      executor_(api, events_),
      caches_(std::make_unique<Caches>(api, adapter_, signal())) {}

Controller::~Controller() = default;

TimePoint Controller::step(TimePoint now) {
  const TimePoint wake = caches_->sync(now);
  tellOfTrouble();
  if (!trouble_.empty() || !leading_()) {
    return wake;
  }
  if (now < retryAt_) {
    return std::min(wake, retryAt_);
  }
  tellOfUnreadableJobs(now);
  for (int round = 0; round < kMaxRounds; ++round) {
    const Round result = planAndAct(now);
    if (result.failed) {
      retryAt_ = now + std::min(kFirstPause * (1 << std::min(failures_++, kMostDoublings)), kLongestPause);
      return std::min(wake, retryAt_);
    }
    failures_ = 0;
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
      const bool again = written.error().code() == Code::kConflict && refresh(step);
      round.acted |= again;
      round.failed |= !again;
      logInfo("a step of the job plan was not carried out; it is planned again",
              {{"error", written.error()}});
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

bool Controller::refresh(const Step& step) {
  if (!step.job) {
    return false;
  }
  const api::ObjectMeta& meta = step.job->meta;
  const Result<Json> present = kube::get(api_, step.adapter->resource(), meta.ns, meta.name);
  if (present) {
    caches_->jobs.observe(*present);
  }
  return present.has_value();
}

void Controller::tellOfUnreadableJobs(TimePoint now) {
  for (const auto& [key, why] : caches_->jobs.broken()) {
    if (!told_.insert(key + " " + why).second) {
      continue;
    }
    const std::size_t slash = key.find('/');
    const api::Resource& kind = adapter_.resource();
    const Result<> told = events_.record(
        {kind.apiVersion(), kind.kind, key.substr(0, slash), key.substr(slash + 1), ""}, "Warning",
        "JobUnreadable", "the job cannot be read, so it is neither stopped nor resumed: " + why, now);
    if (!told) {
      logWarning("an Event was not written", {{"job", key}, {"error", told.error()}});
    }
  }
}

void Controller::tellOfTrouble() {
  std::string trouble = caches_->trouble();
  if (trouble != trouble_ && !trouble.empty()) {
    logWarning("jobs are not acted on while the cluster cannot be read", {{"trouble", trouble}});
  }
  trouble_ = std::move(trouble);
}

bool Controller::alreadyTold(const Step& step) {
  if (told_.size() >= kMaxTold) {
    told_.clear();
  }
  return !told_.insert(wordingOf(step)).second;
}

}  // namespace mainstay::jobs
