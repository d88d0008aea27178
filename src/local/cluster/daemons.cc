#include "local/cluster/daemons.h"

#include <algorithm>

#include "base/log.h"
#include "local/api/json_access.h"
#include "local/cluster/resources.h"

namespace mainstay::local {
namespace {

constexpr char kDaemonsManager[] = "kube-controller-manager";
constexpr char kGenerationLabel[] = "pod-template-generation";
constexpr Duration kRetrySet = std::chrono::seconds(1);

std::string generationOf(const Json& set) {
  const Json* generation = find(set, "metadata", "generation");
  return generation ? toText(*generation) : "1";
}

// Daemon pods stay on nodes that are cordoned, not ready or unreachable.
JsonArray daemonTolerations(const Json& set) {
  JsonArray tolerations = arrayAt(set, "spec", "template", "spec", "tolerations");
  for (const char* key : {"not-ready", "unreachable"}) {
    tolerations.push_back(
        {{"key", "node.kubernetes.io/" + std::string(key)}, {"operator", "Exists"}, {"effect", "NoExecute"}});
  }
  tolerations.push_back(
      {{"key", "node.kubernetes.io/unschedulable"}, {"operator", "Exists"}, {"effect", "NoSchedule"}});
  return tolerations;
}

bool isOwnedBy(const api::Pod& pod, const Json& set) {
  return std::ranges::any_of(pod.meta.owners, [&](const api::OwnerReference& owner) {
    return owner.controller && owner.uid == findString(set, "metadata", "uid");
  });
}

}  // namespace

Json daemonPod(const Json& set, const std::string& node) {
  const std::string name = findString(set, "metadata", "name");
  JsonObject labels = objectAt(set, "spec", "template", "metadata", "labels");
  labels[kGenerationLabel] = generationOf(set);
  JsonObject spec = objectAt(set, "spec", "template", "spec");
  spec["nodeName"] = node;
  spec["restartPolicy"] = "Always";
  spec["tolerations"] = daemonTolerations(set);
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata",
           {{"generateName", name + "-"},
            {"namespace", findString(set, "metadata", "namespace")},
            {"labels", std::move(labels)},
            {"annotations", objectAt(set, "spec", "template", "metadata", "annotations")},
            {"ownerReferences", JsonArray{{{"apiVersion", "apps/v1"},
                                           {"kind", "DaemonSet"},
                                           {"name", name},
                                           {"uid", findString(set, "metadata", "uid")},
                                           {"controller", true},
                                           {"blockOwnerDeletion", true}}}}}},
          {"spec", std::move(spec)}};
}

Daemons::Daemons(kube::Api& api)
    : api_(api),
      nodes_(api, api::kNodes, api::decodeNode, signal()),
      sets_(api, kDaemonSets, keepJson, signal()),
      pods_(api, api::kPods, api::decodePod, signal()) {}

TimePoint Daemons::step(TimePoint now) {
  TimePoint wake = std::min({nodes_.sync(now), sets_.sync(now), pods_.sync(now)});
  if (!nodes_.synced() || !sets_.synced() || !pods_.synced()) {
    return wake;
  }
  for (const auto& [key, set] : sets_.objects()) {
    if (isDeleting(*set)) {
      continue;
    }
    if (const auto synced = syncSet(*set); !synced) {
      logWarning("daemon set not synced", {{"set", key}, {"error", synced.error()}});
      wake = std::min(wake, now + kRetrySet);
    }
  }
  return wake;
}

Result<> Daemons::syncSet(const Json& set) {
  std::map<std::string, const api::Pod*> byNode;
  std::size_t ready = 0;
  for (const auto& [key, pod] : pods_.objects()) {
    if (!isOwnedBy(*pod, set)) {
      continue;
    }
    byNode[pod->nodeName] = pod.get();
    const auto condition = std::ranges::find(pod->conditions, "Ready", &api::Condition::type);
    ready += condition != pod->conditions.end() && condition->status == "True" ? 1 : 0;
    const bool stale = pod->finished() || pod->meta.label(kGenerationLabel) != generationOf(set);
    if (stale && !pod->meta.deleted) {
      MAINSTAY_TRY(kube::remove(api_, api::kPods, pod->meta.ns, pod->meta.name, pod->meta.uid));
    }
  }
  for (const auto& [name, node] : nodes_.objects()) {
    if (!byNode.contains(name) && !node->meta.deleted) {
      MAINSTAY_TRY(kube::create(api_, api::kPods, findString(set, "metadata", "namespace"),
                                daemonPod(set, name), kDaemonsManager));
    }
  }
  return writeCounts(set, ready);
}

Result<> Daemons::writeCounts(const Json& set, std::size_t ready) const {
  const Json status{{"desiredNumberScheduled", nodes_.objects().size()},
                    {"currentNumberScheduled", nodes_.objects().size()},
                    {"numberReady", ready},
                    {"numberAvailable", ready},
                    {"numberMisscheduled", 0}};
  const Json before = objectAt(set, "status");
  Json after = before;
  mergePatch(after, status);
  if (after == before) {
    return {};
  }
  MAINSTAY_TRY(kube::patch(api_, kDaemonSets, findString(set, "metadata", "namespace"),
                           findString(set, "metadata", "name"), kube::Body::kMergePatch, {{"status", status}},
                           kDaemonsManager, "status"));
  return {};
}

}  // namespace mainstay::local
