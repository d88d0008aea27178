#include "local/cluster/scheduler.h"

#include <algorithm>

#include "base/log.h"
#include "local/cluster/conditions.h"

namespace mainstay::local {
namespace {

constexpr char kSchedulerManager[] = "kube-scheduler";
constexpr Duration kRetryBinding = std::chrono::seconds(1);

const api::Taint* untoleratedTaint(const api::Pod& pod, const api::Node& node) {
  for (const api::Taint& taint : node.taints) {
    const auto tolerates = [&](const api::Toleration& toleration) { return toleration.tolerates(taint); };
    if (taint.effect != "PreferNoSchedule" && std::ranges::none_of(pod.tolerations, tolerates)) {
      return &taint;
    }
  }
  return nullptr;
}

// Why the pod cannot go there; none = it can. As kube-scheduler, only room is reported resource by resource.
std::vector<std::string> obstacles(const api::Pod& pod, const Candidate& candidate) {
  const api::Node& node = *candidate.node;
  if (!api::matchesNode(pod, node)) {
    if (const api::Taint* taint = untoleratedTaint(pod, node)) {
      return {"node(s) had untolerated taint {" + taint->key + ": " + taint->value + "}"};
    }
    api::Node open = node;
    open.unschedulable = false;
    return {api::matchesNode(pod, open) ? "node(s) were unschedulable"
                                        : "node(s) didn't match Pod's node affinity/selector"};
  }
  if (!node.ready()) {
    return {"node(s) were not ready"};
  }
  std::vector<std::string> lacking;
  for (const auto& [resource, need] : pod.requests) {
    if (!api::fits({{resource, need}}, candidate.free)) {
      lacking.push_back(resource == "pods" ? "Too many pods" : "Insufficient " + resource);
    }
  }
  return lacking;
}

std::string unavailableMessage(std::size_t nodes, const std::map<std::string, int>& counts) {
  std::string message = "0/" + std::to_string(nodes) + " nodes are available";
  std::string separator = ": ";
  for (const auto& [reason, count] : counts) {
    message += separator + std::to_string(count) + " " + reason;
    separator = ", ";
  }
  return message + ".";
}

bool isPending(const api::Pod& pod) {
  return pod.nodeName.empty() && !pod.meta.deleted && !pod.finished();
}

}  // namespace

Placement placePod(const api::Pod& pod, const std::vector<Candidate>& candidates) {
  const Candidate* best = nullptr;
  std::pair<int, std::int64_t> bestScore;
  std::map<std::string, int> counts;
  for (const Candidate& candidate : candidates) {
    const std::vector<std::string> reasons = obstacles(pod, candidate);
    for (const std::string& reason : reasons) {
      ++counts[reason];
    }
    const auto room = candidate.free.find("pods");
    const api::ObjectMeta& node = candidate.node->meta;
    const std::pair score(pod.nodeAffinity.preference(node.name, node.labels),
                          room == candidate.free.end() ? 0 : room->second);
    if (reasons.empty() && (!best || score > bestScore)) {
      best = &candidate;
      bestScore = score;
    }
  }
  return best ? Placement{best->node->meta.name, ""}
              : Placement{"", unavailableMessage(candidates.size(), counts)};
}

Scheduler::Scheduler(kube::Api& api)
    : api_(api),
      events_(api, "default-scheduler", ""),
      nodes_(api, api::kNodes, api::decodeNode, signal()),
      pods_(api, api::kPods, api::decodePod, signal()) {}

TimePoint Scheduler::step(TimePoint now) {
  const TimePoint wake = std::min(nodes_.sync(now), pods_.sync(now));
  return nodes_.synced() && pods_.synced() ? std::min(wake, schedulePending(now)) : wake;
}

std::vector<Candidate> Scheduler::candidates() const {
  std::map<std::string, Candidate> byName;
  for (const auto& [name, node] : nodes_.objects()) {
    byName[name] = {node, node->allocatable};
  }
  for (const auto& [key, pod] : pods_.objects()) {
    const auto candidate = byName.find(pod->nodeName);
    if (candidate != byName.end() && !pod->finished()) {
      api::subtract(candidate->second.free, pod->requests);
    }
  }
  std::vector<Candidate> all;
  for (auto& [name, candidate] : byName) {
    all.push_back(std::move(candidate));
  }
  return all;
}

TimePoint Scheduler::schedulePending(TimePoint now) {
  TimePoint wake = kNever;
  std::vector<Candidate> nodes;
  for (const auto& [key, pod] : pods_.objects()) {
    if (!isPending(*pod)) {
      continue;
    }
    if (nodes.empty()) {
      nodes = candidates();  // only when there is something to place: it visits every pod
    }
    const Placement placement = placePod(*pod, nodes);
    const auto done = placement.node.empty() ? reportUnschedulable(*pod, placement.message, now)
                                             : bind(*pod, placement.node, now);
    if (!done && done.error().code() != Code::kNotFound) {
      logWarning("pod not scheduled", {{"pod", key}, {"error", done.error()}});
      wake = now + kRetryBinding;
    } else if (!placement.node.empty()) {
      const auto chosen =
          std::ranges::find(nodes, placement.node, [](const Candidate& c) { return c.node->meta.name; });
      api::subtract(chosen->free, pod->requests);
    }
  }
  return wake;
}

Result<> Scheduler::bind(const api::Pod& pod, const std::string& node, TimePoint now) {
  kube::ApiRequest request;
  request.method = "POST";
  request.path = api::kPods.path(pod.meta.ns, pod.meta.name, "binding");
  request.query = {{"fieldManager", kSchedulerManager}};
  request.kind = kube::Body::kJson;
  request.body = {{"apiVersion", "v1"},
                  {"kind", "Binding"},
                  {"metadata", {{"name", pod.meta.name}, {"namespace", pod.meta.ns}, {"uid", pod.meta.uid}}},
                  {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}};
  MAINSTAY_TRY(api_.call(request, Deadline::after(kube::kCallTimeout)));
  ignore(events_.record({"v1", "Pod", pod.meta.ns, pod.meta.name, pod.meta.uid}, "Normal", "Scheduled",
                        "Successfully assigned " + pod.meta.key() + " to " + node, now),
         "an Event is for people");
  return {};
}

Result<> Scheduler::reportUnschedulable(const api::Pod& pod, const std::string& message, TimePoint now) {
  const auto said = std::ranges::find(pod.conditions, "PodScheduled", &api::Condition::type);
  if (said != pod.conditions.end() && said->status == "False" && said->message == message) {
    return {};
  }
  const JsonObject condition =
      conditionObject(nullptr, {"PodScheduled", "False", "Unschedulable", message}, now);
  const Json patch{{"metadata", {{"uid", pod.meta.uid}}}, {"status", {{"conditions", JsonArray{condition}}}}};
  MAINSTAY_TRY(kube::patch(api_, api::kPods, pod.meta.ns, pod.meta.name, kube::Body::kStrategicMergePatch,
                           patch, kSchedulerManager, "status"));
  ignore(events_.record({"v1", "Pod", pod.meta.ns, pod.meta.name, pod.meta.uid}, "Warning",
                        "FailedScheduling", message, now),
         "an Event is for people");
  return {};
}

}  // namespace mainstay::local
