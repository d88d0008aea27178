#include "local/cluster/kubelet.h"

#include <algorithm>
#include <set>

#include "api/names.h"
#include "base/log.h"
#include "local/api/json_access.h"
#include "local/cluster/conditions.h"
#include "local/cluster/resources.h"

namespace mainstay::local {
namespace {

constexpr char kKubeletManager[] = "kubelet";
constexpr char kKubeletVersion[] = "v1.34.0+mainstay";
constexpr Duration kRetry = std::chrono::seconds(1);        // after a failed write
constexpr Duration kStatusEvery = std::chrono::minutes(5);  // nodeStatusReportFrequency
constexpr int kLeaseSeconds = 40;                           // nodeLeaseDurationSeconds

JsonObject toObject(const std::map<std::string, std::string>& values) {
  JsonObject object;
  for (const auto& [key, value] : values) {
    object[key] = value;
  }
  return object;
}

}  // namespace

Kubelet::Kubelet(kube::Api& api, KubeletOptions options, std::unique_ptr<PodRuntime> runtime,
                 AddressPool& addresses)
    : api_(api),
      options_(std::move(options)),
      name_("kubelet/" + options_.node),
      runtime_(std::move(runtime)),
      addresses_(addresses),
      events_(api, "kubelet", options_.node),
      pods_(api, api::kPods, keepJson, signal(),
            {.ns = "", .selectors = {{"fieldSelector", "spec.nodeName=" + options_.node}}}) {}

void Kubelet::reportNotReady(bool notReady) {
  notReady_ = notReady;
  signal().notify();
}

TimePoint Kubelet::step(TimePoint now) {
  if (uid_.empty()) {
    if (const auto registered = registerNode(now); !registered) {
      logWarning("node not registered", {{"node", options_.node}, {"error", registered.error()}});
      return now + kRetry;
    }
  }
  const TimePoint heartbeat = keepNode(now);
  return std::min({heartbeat, pods_.sync(now), syncPods(now), runtime_->nextChange(now)});
}

// --- The Node ---

Result<> Kubelet::registerNode(TimePoint now) {
  api::Labels labels = options_.labels;
  labels[api::kHostnameLabel] = options_.node;
  labels[api::kInstanceTypeLabel] = options_.instanceType;
  labels[api::kZoneLabel] = options_.zone;
  labels["kubernetes.io/os"] = "linux";
  labels["kubernetes.io/arch"] = "amd64";
  const Json node{{"apiVersion", "v1"},
                  {"kind", "Node"},
                  {"metadata", {{"name", options_.node}, {"labels", toObject(labels)}}},
                  {"spec", {{"providerID", options_.providerId}, {"taints", options_.taints}}},
                  {"status", nodeStatus(nullptr, now)}};
  auto created = kube::create(api_, api::kNodes, "", node, kKubeletManager);
  if (!created && created.error().code() == Code::kAlreadyExists) {
    created = kube::get(api_, api::kNodes, "", options_.node);
  }
  if (!created) {
    return fail(std::move(created).error());
  }
  uid_ = findString(*created, "metadata", "uid");
  // Written apart from the Node, as the real one does: creation does not take a status of another's Node.
  MAINSTAY_TRY(refreshNode(now));
  ignore(
      events_.record({"v1", "Node", "", options_.node, uid_}, "Normal", "Starting", "Starting kubelet.", now),
      "an Event is for people");
  return {};
}

TimePoint Kubelet::keepNode(TimePoint now) {
  if (now < nextHeartbeat_ && readyWritten_ == !notReady_) {
    return nextHeartbeat_;
  }
  nextHeartbeat_ = now + options_.heartbeat;
  const auto lease = renewLease(now);
  const auto node = refreshNode(now);
  for (const auto* result : {&lease, &node}) {
    if (!*result) {
      logWarning("heartbeat not written", {{"node", options_.node}, {"error", result->error()}});
      nextHeartbeat_ = std::min(nextHeartbeat_, now + kRetry);
    }
  }
  return nextHeartbeat_;
}

Result<> Kubelet::renewLease(TimePoint now) {
  const Json renewed{{"spec", {{"renewTime", formatMicroTime(now)}}}};
  const auto patched = kube::patch(api_, api::kLeases, kNodeLeaseNamespace, options_.node,
                                   kube::Body::kMergePatch, renewed, kKubeletManager);
  if (patched || patched.error().code() != Code::kNotFound) {
    return patched ? Result<>() : fail(patched.error());
  }
  const Json lease{
      {"apiVersion", "coordination.k8s.io/v1"},
      {"kind", "Lease"},
      {"metadata",
       {{"name", options_.node},
        {"ownerReferences",
         JsonArray{{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", options_.node}, {"uid", uid_}}}}}},
      {"spec",
       {{"holderIdentity", options_.node},
        {"leaseDurationSeconds", kLeaseSeconds},
        {"renewTime", formatMicroTime(now)}}}};
  MAINSTAY_TRY(kube::create(api_, api::kLeases, kNodeLeaseNamespace, lease, kKubeletManager));
  return {};
}

// Mends what others wrote of it while it was away (Ready Unknown), and reports itself now and then.
Result<> Kubelet::refreshNode(TimePoint now) {
  MAINSTAY_ASSIGN(const Json node, kube::get(api_, api::kNodes, "", options_.node));
  const Json* conditions = find(node, "status", "conditions");
  const bool notReady = notReady_;
  const bool current = conditionStatus(conditions, "Ready") == (notReady ? "False" : "True") &&
                       findString(node, "status", "nodeInfo", "bootID") == options_.bootId;
  if (!current || now >= statusWritten_ + kStatusEvery) {
    const Json patch{{"status", nodeStatus(conditions, now)}};
    MAINSTAY_TRY(kube::patch(api_, api::kNodes, "", options_.node, kube::Body::kStrategicMergePatch, patch,
                             kKubeletManager, "status"));
    statusWritten_ = now;
  }
  readyWritten_ = !notReady;
  return {};
}

Json Kubelet::nodeStatus(const Json* before, TimePoint now) const {
  const bool ready = !notReady_;
  const NewCondition said =
      ready ? NewCondition{"Ready", "True", "KubeletReady", "kubelet is posting ready status"}
            : NewCondition{"Ready", "False", "KubeletNotReady", "container runtime is down"};
  JsonArray conditions;
  for (const auto& condition :
       {NewCondition{"MemoryPressure", "False", "KubeletHasSufficientMemory",
                     "kubelet has sufficient memory available"},
        NewCondition{"DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
        NewCondition{"PIDPressure", "False", "KubeletHasSufficientPID",
                     "kubelet has sufficient PID available"},
        said}) {
    JsonObject object = conditionObject(before, condition, now);
    object["lastHeartbeatTime"] = formatTime(now);
    conditions.push_back(std::move(object));
  }
  return {{"capacity", toObject(options_.allocatable)},
          {"allocatable", toObject(options_.allocatable)},
          {"conditions", std::move(conditions)},
          {"addresses", JsonArray{{{"type", "InternalIP"}, {"address", options_.address}},
                                  {{"type", "Hostname"}, {"address", options_.node}}}},
          {"nodeInfo",
           {{"bootID", options_.bootId},
            {"machineID", options_.node},
            {"systemUUID", options_.node},
            {"kernelVersion", "local"},
            {"osImage", "Mainstay local cluster"},
            {"containerRuntimeVersion", "local://1"},
            {"kubeletVersion", kKubeletVersion},
            {"kubeProxyVersion", ""},
            {"operatingSystem", "linux"},
            {"architecture", "amd64"}}}};
}

// --- Its pods ---

TimePoint Kubelet::syncPods(TimePoint now) {
  if (!pods_.synced()) {
    return kNever;
  }
  TimePoint wake = kNever;
  std::set<std::string> seen;
  for (const auto& [key, pod] : pods_.objects()) {
    seen.insert(findString(*pod, "metadata", "uid"));
    wake = std::min(wake, syncPod(*pod, now));
  }
  // Deleted without our confirmation: whoever forced it wants the containers dead at once.
  std::erase_if(running_, [&](const auto& entry) { return !seen.contains(entry.first); });
  return wake;
}

TimePoint Kubelet::syncPod(const Json& pod, TimePoint now) {
  const std::string uid = findString(pod, "metadata", "uid");
  const bool deleting = isDeleting(pod);
  const auto entry = running_.find(uid);
  if (entry == running_.end()) {
    const std::string phase = findString(pod, "status", "phase");
    if (deleting) {
      return confirmDeletion(pod, now);  // nothing of it was ever started here
    }
    if (phase == "Succeeded" || phase == "Failed") {
      return kNever;
    }
  }
  Running& running = entry == running_.end() ? admit(pod, now) : entry->second;
  if (running.writeNotBefore > now) {
    return running.writeNotBefore;
  }
  // The address is known to others before the first container starts: its peers look it up.
  if (running.written.is_null() && !writeStatus(pod, running, now)) {
    return running.writeNotBefore;
  }
  const TimePoint wake = running.worker->step(pod, now);
  recordEvents(pod, running, now);
  if (!writeStatus(pod, running, now)) {
    return running.writeNotBefore;
  }
  if (deleting && running.worker->quiet()) {
    return confirmDeletion(pod, now);
  }
  return wake;
}

Kubelet::Running& Kubelet::admit(const Json& pod, TimePoint now) {
  const std::string ns = findString(pod, "metadata", "namespace");
  const std::string uid = findString(pod, "metadata", "uid");
  const std::string known = findString(pod, "status", "podIP");
  PodSite site{options_.node, options_.address, known.empty() ? addresses_.next() : known,
               runtime_->podFolder(ns, findString(pod, "metadata", "name"), uid), options_.hostRoot};
  Running& running = running_[uid];
  running.worker = std::make_unique<PodWorker>(
      pod, std::move(site), *runtime_,
      [this, ns](const std::string& name) { return lookUpService(api_, ns, name); }, options_.crashBackOff,
      now);
  return running;
}

// False when the write failed; it is tried again later.
bool Kubelet::writeStatus(const Json& pod, Running& running, TimePoint now) {
  const Json* conditions =
      running.written.is_null() ? find(pod, "status", "conditions") : find(running.written, "conditions");
  Json status = podStatus(running.worker->record(), conditions, now);
  if (status == running.written) {
    return true;
  }
  const auto patched =
      kube::patch(api_, api::kPods, findString(pod, "metadata", "namespace"),
                  findString(pod, "metadata", "name"), kube::Body::kStrategicMergePatch,
                  {{"metadata", {{"uid", findString(pod, "metadata", "uid")}}}, {"status", status}},
                  kKubeletManager, "status");
  if (patched) {
    running.written = std::move(status);
    return true;
  }
  running.writeNotBefore = now + kRetry;
  return patched.error().code() == Code::kNotFound;  // deleted meanwhile: the watch will say so
}

TimePoint Kubelet::confirmDeletion(const Json& pod, TimePoint now) {
  const auto removed =
      kube::remove(api_, api::kPods, findString(pod, "metadata", "namespace"),
                   findString(pod, "metadata", "name"), findString(pod, "metadata", "uid"), 0);
  return removed || removed.error().code() == Code::kNotFound ? kNever : now + kRetry;
}

void Kubelet::recordEvents(const Json& pod, Running& running, TimePoint now) {
  for (const PodEvent& event : running.worker->takeEvents()) {
    ignore(events_.record({"v1", "Pod", findString(pod, "metadata", "namespace"),
                           findString(pod, "metadata", "name"), findString(pod, "metadata", "uid")},
                          event.type, event.reason, event.message, now),
           "an Event is for people");
  }
}

}  // namespace mainstay::local
