#include "recovery/life_cycle.h"

#include <algorithm>

namespace mainstay::recovery {
namespace {

using api::Phase;

constexpr Way kLifeCycle[] = {
    {Phase::kNew, Phase::kHeld, "a fault that the policy acts on was seen, or a person asked"},
    {Phase::kNew, Phase::kResolved, "a person released the node"},
    {Phase::kHeld, Phase::kIsolated, "the node is out of service and has a place in recovery"},
    {Phase::kHeld, Phase::kResolved, "the fault cleared, or a person released the node"},
    {Phase::kHeld, Phase::kStale, "the node is no longer the one in evidence"},
    {Phase::kIsolated, Phase::kDraining, "its pods are asked to leave"},
    {Phase::kIsolated, Phase::kResolved, "a person released the node"},
    {Phase::kIsolated, Phase::kStale, "the node is no longer the one in evidence"},
    {Phase::kDraining, Phase::kReplacing, "the node is empty, or the drain's deadline has passed"},
    {Phase::kDraining, Phase::kResolved, "a person released the node"},
    {Phase::kDraining, Phase::kStale, "the node is no longer the one in evidence"},
    {Phase::kReplacing, Phase::kValidating, "a replacement has joined"},
    {Phase::kReplacing, Phase::kEscalated, "no replacement within the deadline, or none can be asked for"},
    {Phase::kReplacing, Phase::kResolved, "a person released the node, or there is nothing to wait for"},
    {Phase::kReplacing, Phase::kStale, "the node is no longer the one in evidence"},
    {Phase::kValidating, Phase::kResolved, "the replacement is sound, or a person released the node"},
    {Phase::kValidating, Phase::kReplacing, "the replacement was lost"},
    {Phase::kValidating, Phase::kEscalated, "the replacement was not sound within the deadline"},
    {Phase::kEscalated, Phase::kResolved,
     "a sound replacement came after all, or a person released the node"},
    {Phase::kEscalated, Phase::kStale, "the node is no longer the one in evidence"},
};

bool isEnd(Phase phase) {
  return phase == Phase::kResolved || phase == Phase::kStale;
}

std::map<std::string, double> timePerPhase(const std::vector<api::Transition>& transitions) {
  std::map<std::string, double> seconds;
  for (std::size_t i = 0; i + 1 < transitions.size(); ++i) {
    const std::chrono::duration<double> span = transitions[i + 1].at - transitions[i].at;
    seconds[std::string(phaseName(transitions[i].phase))] += span.count();
  }
  return seconds;
}

}  // namespace

std::span<const Way> lifeCycle() {
  return kLifeCycle;
}

bool allowed(Phase from, Phase to) {
  return from == to ||
         std::ranges::any_of(kLifeCycle, [&](const Way& way) { return way.from == from && way.to == to; });
}

bool follows(const api::NodeRecoveryStatus& present, const api::NodeRecoveryStatus& next) {
  auto from = next.transitions.begin();
  if (!present.transitions.empty()) {
    const api::Transition& last = present.transitions.back();
    const auto known = std::find_if(next.transitions.rbegin(), next.transitions.rend(),
                                    [&](const api::Transition& transition) {
                                      return transition.phase == last.phase && transition.at == last.at;
                                    });
    from = known.base();
  }
  Phase at = present.phase;
  for (; from != next.transitions.end(); ++from) {
    if (!allowed(at, from->phase)) {
      return false;
    }
    at = from->phase;
  }
  return at == next.phase;
}

bool enter(api::NodeRecoveryStatus& status, Phase to, std::string reason, TimePoint now,
           std::optional<TimePoint> deadline) {
  if (status.phase == to || !allowed(status.phase, to)) {
    return false;
  }
  status.phase = to;
  status.since = now;
  status.deadline = deadline;
  status.message = reason;
  status.transitions.push_back({to, now, std::move(reason)});
  if (status.transitions.size() > api::kMaxTransitions) {
    status.transitions.erase(status.transitions.begin());
  }
  if (isEnd(to)) {
    status.closed = now;
    status.phaseSeconds = timePerPhase(status.transitions);
  }
  return true;
}

}  // namespace mainstay::recovery
