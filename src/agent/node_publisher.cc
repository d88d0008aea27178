#include "agent/node_publisher.h"

#include <algorithm>
#include <functional>

#include "api/names.h"
#include "base/http_client.h"
#include "base/log.h"

namespace mainstay::agent {
namespace {

// Flapping conditions: node-problem-detector patches at most once a second; we allow a burst of it at once.
constexpr double kPatchesPerSecond = 1;
constexpr int kPatchBurst = 10;
// How long news that can wait do wait: a finding that was only seen again.
constexpr Duration kRefreshAfter = std::chrono::seconds(10);
// Of client-go's event broadcaster: 25 at once, then one in five minutes per source; a queue of 1000; 12
// tries.
constexpr int kEventBurst = 25;
constexpr double kEventsPerSecond = 1.0 / 300;
constexpr std::size_t kMaxQueuedEvents = 1000;
constexpr int kEventTries = 12;
constexpr Duration kEventRetry = std::chrono::seconds(10);

constexpr RetryPolicy kPublishRetry{.firstWait = std::chrono::milliseconds(100),
                                    .maxWait = std::chrono::seconds(10)};

}  // namespace

NodePublisher::NodePublisher(kube::Api& api, PublisherSettings settings, Metrics& metrics, TimePoint start)
    : api_(api),
      settings_(std::move(settings)),
      metrics_(metrics),
      start_(start),
      random_(std::hash<std::string>{}(settings_.nodeName)),
      patchBudget_(kPatchesPerSecond, kPatchBurst) {}

TimePoint NodePublisher::step(TimePoint now, NodeState& state) {
  if (!known_ && now >= retryAt_) {
    readNode(now, state);
  }
  if (!known_) {
    return retryAt_;
  }
  if (now >= publishDue(state)) {
    if (const Duration wait = patchBudget_.take(now, Duration{}); wait > Duration{}) {
      retryAt_ = now + wait;
    } else {
      publish(now, state);
    }
  }
  if (now >= lookDue(state)) {
    look(now, state);
  }
  queueEvents(now, state);
  if (!events_.empty() && now >= eventRetryAt_) {
    sendEvent(now);
  }
  stayWarm(now);

  const TimePoint nextEvent = events_.empty() ? kNever : std::max(now, eventRetryAt_);
  const TimePoint nextCall = settings_.keepWarm > Duration{} ? lastCall_ + settings_.keepWarm : kNever;
  return std::min({publishDue(state), lookDue(state), nextEvent, nextCall});
}

void NodePublisher::readNode(TimePoint now, NodeState& state) {
  lastCall_ = now;
  const auto node = kube::get(api_, api::kNodes, "", settings_.nodeName);
  const Result<> restored = node ? state.restore(*node, settings_.takeConditions, now) : fail(node.error());
  if (restored) {
    uid_ = findString(*node, "metadata", "uid");
    known_ = true;
    failures_ = 0;
    retryAt_ = now;
    logInfo("node read, conditions in evidence kept", {{"node", settings_.nodeName}, {"uid", uid_}});
    return;
  }
  if (failures_ == 0) {
    logWarning("the node cannot be read; nothing is published until it is",
               {{"node", settings_.nodeName}, {"error", restored.error()}});
  } else if (!waited_ && now - start_ >= settings_.waitTimeout) {
    waited_ = true;
    logError("the node still cannot be read, and is tried on",
             {{"node", settings_.nodeName}, {"since", formatTime(start_)}, {"error", restored.error()}});
  }
  retryAt_ = now + std::min(backOff(restored.error()), std::max(settings_.waitInterval, Duration(1)));
}

// When the state wants to be written, were nothing in the way.
TimePoint NodePublisher::publishDue(const NodeState& state) const {
  if (!settings_.updateConditions) {
    return kNever;
  }
  TimePoint due = lastPatch_ + settings_.heartbeat;
  if (state.refreshes() != publishedRefreshes_) {
    due = std::min(due, lastPatch_ + kRefreshAfter);
  }
  if (state.revision() != publishedRevision_) {
    due = lastPatch_;
  }
  return std::max(due, retryAt_);
}

// Another writer may have come since the start. Only a heartbeat has the time to look: news go out at once.
void NodePublisher::yieldToOthers(NodeState& state) {
  if (settings_.takeConditions || state.revision() != publishedRevision_) {
    return;
  }
  if (const auto node = kube::get(api_, api::kNodes, "", settings_.nodeName)) {
    state.markOwners(*node);
  }
}

void NodePublisher::publish(TimePoint now, NodeState& state) {
  lastCall_ = now;
  yieldToOthers(state);
  const auto node = kube::patch(api_, api::kNodes, "", settings_.nodeName, kube::Body::kStrategicMergePatch,
                                state.patch(now), api::kAgentManager, "status");
  countPatch(node ? "ok" : "error");
  if (!node) {
    if (failures_ == 0) {
      logWarning("the node's conditions could not be published, and are tried again",
                 {{"node", settings_.nodeName}, {"error", node.error()}});
    }
    retryAt_ = now + backOff(node.error());
    return;
  }
  if (failures_ > 0) {
    logInfo("the node's conditions are published again", {{"node", settings_.nodeName}});
  }
  if (const std::string uid = findString(*node, "metadata", "uid"); !uid.empty()) {
    uid_ = uid;
  }
  failures_ = 0;
  retryAt_ = now;
  lastPatch_ = lastLook_ = now;
  publishedRevision_ = state.revision();
  publishedRefreshes_ = state.refreshes();
  state.onPublished(*node);
  state.hear(*node, now);
}

void NodePublisher::countPatch(const char* result) {
  metrics_.count("mainstay_agent_patches_total", "Patches of the node's status, by result.",
                 {{"result", result}});
}

Duration NodePublisher::backOff(const Error& error) {
  ++failures_;
  const double random = std::uniform_real_distribution<double>(0, 1)(random_);
  return kPublishRetry.waitBefore(failures_ + 1, random, error.retryAfter());
}

void NodePublisher::queueEvents(TimePoint now, NodeState& state) {
  for (NodeEvent& event : state.takeEvents()) {
    if (!settings_.writeEvents) {
      continue;
    }
    const bool allowed = eventBudget(event).take(now, Duration{}) == Duration{};
    if (allowed && events_.size() < kMaxQueuedEvents) {
      event.time = event.time == TimePoint{} ? now : event.time;
      events_.push_back(std::move(event));
    } else {
      metrics_.count("mainstay_agent_events_dropped_total",
                     "Events that were not sent, because their source sent too many.", {});
    }
  }
}

// Changes of conditions have a budget of their own, so that a flood of temporary problems cannot hide one.
kube::TokenBucket& NodePublisher::eventBudget(const NodeEvent& event) {
  const std::string key = event.source + (event.condition.empty() ? "" : "/" + event.condition);
  return eventBudgets_.try_emplace(key, kEventsPerSecond, kEventBurst).first->second;
}

void NodePublisher::sendEvent(TimePoint now) {
  lastCall_ = now;
  const NodeEvent& event = events_.front();
  kube::EventRecorder& recorder =
      recorders_
          .try_emplace(event.source, api_, event.source, settings_.nodeName, kube::FloodControl::kCaller)
          .first->second;
  const kube::EventSubject subject{"v1", "Node", settings_.eventNamespace, settings_.nodeName, uid_};
  const Result<> sent = recorder.record(subject, event.warning ? "Warning" : "Normal", event.reason,
                                        event.message, now, event.time);
  if (!sent && sent.error().isRetryable() && ++eventTries_ < kEventTries) {
    eventRetryAt_ = now + kEventRetry;
    return;
  }
  if (!sent) {
    logWarning("an Event could not be written", {{"reason", event.reason}, {"error", sent.error()}});
  }
  events_.pop_front();
  eventTries_ = 0;
  eventRetryAt_ = now;
}

// A node without a fault costs the API server nothing.
TimePoint NodePublisher::lookDue(const NodeState& state) const {
  return state.hasFindings() && settings_.updateConditions ? lastLook_ + settings_.lookEvery : kNever;
}

void NodePublisher::look(TimePoint now, NodeState& state) {
  lastCall_ = lastLook_ = now;
  if (const auto node = kube::get(api_, api::kNodes, "", settings_.nodeName)) {
    state.hear(*node, now);
  }
}

void NodePublisher::stayWarm(TimePoint now) {
  if (settings_.keepWarm > Duration{} && now - lastCall_ >= settings_.keepWarm) {
    lastCall_ = now;
    ignore(api_.call({.path = "/version"}, Deadline::after(kube::kCallTimeout)),
           "a server that is away shows at the next patch");
  }
}

}  // namespace mainstay::agent
