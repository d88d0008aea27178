#include "local/cluster/node_lifecycle.h"

#include <algorithm>
#include <set>

#include "base/log.h"
#include "kube/node_patch.h"
#include "local/cluster/conditions.h"
#include "local/cluster/resources.h"

namespace mainstay::local {
namespace {

constexpr char kLifecycleManager[] = "kube-controller-manager";
constexpr char kNotReady[] = "node.kubernetes.io/not-ready";
constexpr char kUnreachable[] = "node.kubernetes.io/unreachable";
constexpr char kCordoned[] = "node.kubernetes.io/unschedulable";
constexpr Duration kRetryWrite = std::chrono::seconds(1);

bool isOurs(const api::Taint& taint) {
  return taint.key == kNotReady || taint.key == kUnreachable || taint.key == kCordoned;
}

std::string taintKey(const api::Taint& taint) {
  return taint.key + ":" + taint.effect;
}

}  // namespace

std::vector<api::Taint> lifecycleTaints(const api::Node& node) {
  std::vector<api::Taint> taints;
  const api::Condition* ready = node.condition("Ready");
  if (!ready || ready->status != "True") {
    const char* key = ready && ready->status == "False" ? kNotReady : kUnreachable;
    taints = {{key, "", "NoSchedule"}, {key, "", "NoExecute"}};
  }
  if (node.unschedulable) {
    taints.push_back({kCordoned, "", "NoSchedule"});
  }
  return taints;
}

std::optional<Duration> toleratedFor(const api::Pod& pod, const api::Taint& taint) {
  bool tolerated = false;
  std::optional<Duration> least;
  for (const api::Toleration& toleration : pod.tolerations) {
    if (toleration.tolerates(taint)) {
      tolerated = true;
      if (toleration.seconds) {
        const Duration span = std::chrono::seconds(std::max<std::int64_t>(*toleration.seconds, 0));
        least = std::min(least.value_or(span), span);
      }
    }
  }
  return tolerated ? least : Duration(0);
}

NodeLifecycle::NodeLifecycle(kube::Api& api, NodeLifecycleOptions options)
    : api_(api),
      options_(options),
      events_(api, "node-controller", ""),
      nodes_(api, api::kNodes, api::decodeNode, signal()),
      leases_(api, api::kLeases, keepJson, signal(), {.ns = kNodeLeaseNamespace, .selectors = {}}),
      pods_(api, api::kPods, api::decodePod, signal()) {}

TimePoint NodeLifecycle::step(TimePoint now) {
  TimePoint wake = std::min({nodes_.sync(now), leases_.sync(now), pods_.sync(now)});
  if (!nodes_.synced() || !leases_.synced() || !pods_.synced()) {
    return wake;
  }
  std::erase_if(watched_, [&](const auto& entry) { return !nodes_.objects().contains(entry.first); });
  for (const auto& [name, node] : nodes_.objects()) {
    wake = std::min(wake, watchNode(*node, now));
  }
  std::set<std::string> uids;
  for (const auto& [key, pod] : pods_.objects()) {
    uids.insert(pod->meta.uid);
    if (!pod->nodeName.empty()) {
      wake = std::min(
          wake, nodes_.objects().contains(pod->nodeName) ? evictFrom(*pod, now) : collectOrphan(*pod, now));
    }
  }
  std::erase_if(orphaned_, [&](const auto& entry) { return !uids.contains(entry.first); });
  return wake;
}

TimePoint NodeLifecycle::watchNode(const api::Node& node, TimePoint now) {
  Watched& watched = watched_[node.meta.name];
  const auto lease = leases_.objects().find(std::string(kNodeLeaseNamespace) + "/" + node.meta.name);
  const std::string renewed =
      lease == leases_.objects().end() ? "" : findString(*lease->second, "spec", "renewTime");
  if (watched.alive == TimePoint() || renewed != watched.renewTime) {
    watched.renewTime = renewed;
    watched.alive = now;
  }
  noteTaints(node, watched, now);
  const TimePoint lostAt = watched.alive + options_.monitorGrace;
  const api::Condition* ready = node.condition("Ready");
  if (now >= lostAt && (!ready || ready->status != "Unknown")) {
    return settle(markUnknown(node, now), "node not marked Unknown", node.meta.name, now);
  }
  return std::min(now >= lostAt ? kNever : lostAt,
                  settle(mendTaints(node, now), "node taints not mended", node.meta.name, now));
}

Result<> NodeLifecycle::markUnknown(const api::Node& node, TimePoint now) {
  JsonArray conditions;
  for (const char* type : {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"}) {
    conditions.push_back(conditionObject(
        nullptr, {type, "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."}, now));
  }
  const Json patch{{"metadata", {{"uid", node.meta.uid}}},
                   {"status", {{"conditions", std::move(conditions)}}}};
  MAINSTAY_TRY(kube::patch(api_, api::kNodes, "", node.meta.name, kube::Body::kStrategicMergePatch, patch,
                           kLifecycleManager, "status"));
  ignore(events_.record({"v1", "Node", "", node.meta.name, node.meta.uid}, "Normal", "NodeNotReady",
                        "Node " + node.meta.name + " status is now: NodeNotReady", now),
         "an Event is for people");
  return {};
}

Result<> NodeLifecycle::mendTaints(const api::Node& node, TimePoint) {
  kube::NodeChange change;
  change.addTaints = lifecycleTaints(node);
  std::ranges::copy_if(node.taints, std::back_inserter(change.removeTaints), [&](const api::Taint& taint) {
    return isOurs(taint) && std::ranges::find(change.addTaints, taint) == change.addTaints.end();
  });
  std::erase_if(change.addTaints, [&](const api::Taint& taint) {
    return std::ranges::find(node.taints, taint) != node.taints.end();
  });
  if (change.addTaints.empty() && change.removeTaints.empty()) {
    return {};
  }
  MAINSTAY_TRY(kube::changeNode(
      api_, node.meta.name, node.meta.uid, [&](const Json&) { return change; }, kLifecycleManager));
  return {};
}

void NodeLifecycle::noteTaints(const api::Node& node, Watched& watched, TimePoint now) const {
  std::map<std::string, TimePoint> present;
  for (const api::Taint& taint : node.taints) {
    if (taint.effect == "NoExecute") {
      const auto known = watched.tainted.find(taintKey(taint));
      present[taintKey(taint)] = known == watched.tainted.end() ? now : known->second;
    }
  }
  watched.tainted = std::move(present);
}

TimePoint NodeLifecycle::evictFrom(const api::Pod& pod, TimePoint now) {
  if (pod.meta.deleted || pod.finished()) {
    return kNever;
  }
  TimePoint due = kNever;
  const api::Node& node = *nodes_.objects().at(pod.nodeName);
  for (const api::Taint& taint : node.taints) {
    if (taint.effect == "NoExecute") {
      if (const auto span = toleratedFor(pod, taint)) {
        due = std::min(due, watched_[pod.nodeName].tainted[taintKey(taint)] + *span);
      }
    }
  }
  if (due > now) {
    return due;
  }
  ignore(events_.record({"v1", "Pod", pod.meta.ns, pod.meta.name, pod.meta.uid}, "Normal",
                        "TaintManagerEviction", "Marking for deletion Pod " + pod.meta.key(), now),
         "an Event is for people");
  return settle(kube::remove(api_, api::kPods, pod.meta.ns, pod.meta.name, pod.meta.uid), "pod not evicted",
                pod.meta.key(), now);
}

TimePoint NodeLifecycle::collectOrphan(const api::Pod& pod, TimePoint now) {
  const TimePoint due = orphaned_.try_emplace(pod.meta.uid, now).first->second + options_.orphanGrace;
  if (due > now) {
    return due;
  }
  return settle(kube::remove(api_, api::kPods, pod.meta.ns, pod.meta.name, pod.meta.uid, 0),
                "orphan not removed", pod.meta.key(), now);
}

// When to come back: soon after a failure that is not just "it is gone already".
TimePoint NodeLifecycle::settle(const Result<>& result, std::string_view what, const std::string& which,
                                TimePoint now) const {
  if (result || result.error().code() == Code::kNotFound) {
    return kNever;
  }
  logWarning(what, {{"which", which}, {"error", result.error()}});
  return now + kRetryWrite;
}

}  // namespace mainstay::local
