#include "local/cluster/pod_worker.h"

#include <algorithm>

#include "local/api/json_access.h"

namespace mainstay::local {
namespace {

using State = ContainerRecord::State;

constexpr Duration kDefaultGrace = std::chrono::seconds(30);
constexpr Duration kFirstNameRetry = std::chrono::milliseconds(20);  // then doubled
constexpr Duration kMaxNameRetry = std::chrono::seconds(1);
constexpr Duration kConfigRetry = std::chrono::seconds(10);  // what only a person mends

Duration graceOf(const Json& pod) {
  const auto seconds = integerAt(pod, "metadata", "deletionGracePeriodSeconds");
  return seconds ? std::chrono::seconds(*seconds) : kDefaultGrace;
}

}  // namespace

PodWorker::PodWorker(const Json& pod, PodSite site, PodRuntime& runtime, LookUpName lookUp,
                     CrashBackOff backOff, TimePoint now)
    : site_(std::move(site)),
      runtime_(runtime),
      lookUp_(std::move(lookUp)),
      backOff_(backOff),
      record_(readPodRecord(pod, now)) {
  record_.podAddress = site_.podAddress;
  record_.hostAddress = site_.hostAddress;
  if (!arrayAt(pod, "spec", "initContainers").empty()) {
    record_.refusedReason = "InitContainersNotModelled";
    record_.refusedMessage =
        "the local cluster does not run init containers; put their work into the container";
  }
}

PodWorker::~PodWorker() {
  for (const ContainerRecord& container : record_.containers) {
    if (container.state == State::kRunning) {
      runtime_.discard(container.id);
    }
  }
}

bool PodWorker::quiet() const {
  return std::ranges::none_of(record_.containers, [](const ContainerRecord& container) {
    return container.state == State::kRunning;
  });
}

TimePoint PodWorker::step(const Json& pod, TimePoint now) {
  if (!record_.refusedReason.empty()) {
    return kNever;
  }
  const bool deleting = isDeleting(pod);
  if (deleting) {
    stop(pod, now);
  }
  TimePoint wake = killAt_.value_or(kNever);
  const JsonArray& specs = arrayAt(pod, "spec", "containers");  // immutable: as many as there are records
  for (std::size_t i = 0; i < std::min(specs.size(), record_.containers.size()); ++i) {
    ContainerRecord& container = record_.containers[i];
    collectEnd(container, now);
    if (deleting) {
      continue;
    }
    if (wantsRestart(record_, container)) {
      planRestart(container, now);
    }
    if (container.state == State::kWaiting && plans_[container.name].notBefore <= now) {
      start(pod, specs[i], container, now);
    }
    if (container.state == State::kWaiting) {
      wake = std::min(wake, plans_[container.name].notBefore);
    }
  }
  return wake;
}

void PodWorker::collectEnd(ContainerRecord& container, TimePoint now) {
  if (container.state != State::kRunning) {
    return;
  }
  if (auto exit = runtime_.takeExit(container.id, now)) {
    container.ended = {exit->code, exit->code == 0 ? "Completed" : "Error", std::move(exit->message),
                       container.started, now};
    container.state = State::kEnded;
    container.id.clear();
  }
}

// The first restart comes at once, as kubelet does it; from the second on it backs off.
void PodWorker::planRestart(ContainerRecord& container, TimePoint now) {
  Plan& plan = plans_[container.name];
  if (container.ended->finished - container.ended->started >= backOff_.forgiven) {
    plan.backOff = Duration(0);
  }
  const Duration pause = plan.backOff;
  plan.backOff = pause == Duration(0) ? backOff_.first : std::min(pause * 2, backOff_.most);
  if (pause == Duration(0)) {
    wait(container, "ContainerCreating", "", now);
    return;
  }
  const std::string message =
      "back-off " + formatDuration(pause) + " restarting failed container=" + container.name;
  wait(container, "CrashLoopBackOff", message, container.ended->finished + pause);
  events_.push_back({"Warning", "BackOff", message});
}

void PodWorker::wait(ContainerRecord& container, const std::string& reason, const std::string& message,
                     TimePoint until) {
  container.state = State::kWaiting;
  container.waitingReason = reason;
  container.waitingMessage = message;
  plans_[container.name].notBefore = until;
}

void PodWorker::start(const Json& pod, const Json& spec, ContainerRecord& container, TimePoint now) {
  const auto entryPoint = runtime_.entryPoint(container.image);
  if (!entryPoint) {
    wait(container, "ErrImagePull",
         "image \"" + container.image + "\" is not in the local cluster's image table", now + kConfigRetry);
    return;
  }
  auto resolved = resolveContainer(pod, spec, site_, *entryPoint, lookUp_);
  Plan& plan = plans_[container.name];
  if (!resolved && resolved.error().isRetryable()) {
    plan.nameRetry = std::clamp(plan.nameRetry * 2, kFirstNameRetry, kMaxNameRetry);
    wait(container, "ContainerCreating", resolved.error().toString(), now + plan.nameRetry);
    return;
  }
  if (!resolved) {
    wait(container, "CreateContainerConfigError", resolved.error().toString(), now + kConfigRetry);
    return;
  }
  plan.nameRetry = Duration(0);
  container.restarts += container.ended ? 1 : 0;
  resolved->restart = container.restarts;
  container.started = now;
  auto id = runtime_.start(*resolved, now);
  if (!id) {
    container.ended = {128, "StartError", id.error().toString(), now, now};
    container.state = State::kEnded;
    events_.push_back({"Warning", "Failed", "Error: " + id.error().toString()});
    return;
  }
  container.id = *std::move(id);
  container.state = State::kRunning;
  events_.push_back({"Normal", "Started", "Started container " + container.name});
}

void PodWorker::stop(const Json& pod, TimePoint now) {
  const bool first = !killAt_;
  if (first) {
    killAt_ = now + graceOf(pod);
  } else if (graceOf(pod) == Duration(0)) {
    killAt_ = std::min(*killAt_, now);  // somebody shortened it meanwhile
  }
  const bool over = *killAt_ <= now;
  for (const ContainerRecord& container : record_.containers) {
    if (container.state != State::kRunning) {
      continue;
    }
    if (first) {
      events_.push_back({"Normal", "Killing", "Stopping container " + container.name});
      runtime_.terminate(container.id, now);
    }
    if (over) {
      runtime_.kill(container.id, now);
    }
  }
  if (over) {
    killAt_ = kNever;
  }
}

}  // namespace mainstay::local
