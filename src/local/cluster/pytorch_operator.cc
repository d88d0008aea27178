#include "local/cluster/pytorch_operator.h"

#include <algorithm>

#include "base/log.h"
#include "local/api/json_access.h"
#include "local/cluster/resources.h"

namespace mainstay::local {
namespace {

constexpr char kOperatorManager[] = "training-operator.v1";
constexpr Duration kRetryJob = std::chrono::milliseconds(200);

std::string controllerUid(const Json& object) {
  for (const Json& owner : arrayAt(object, "metadata", "ownerReferences")) {
    const Json* controller = find(owner, "controller");
    if (controller && controller->is_bool() && controller->get_bool()) {
      return findString(owner, "uid");
    }
  }
  return "";
}

using ByOwner = std::map<std::string, std::vector<Json>>;

ByOwner groupByOwner(const kube::WatchCache<Json>& cache) {
  ByOwner groups;
  for (const auto& [key, object] : cache.objects()) {
    groups[controllerUid(*object)].push_back(*object);
  }
  return groups;
}

// Already there, or already gone: another pass did it.
bool isDone(const Error& error) {
  return error.code() == Code::kAlreadyExists || error.code() == Code::kNotFound;
}

}  // namespace

PyTorchOperator::PyTorchOperator(kube::Api& api)
    : api_(api),
      events_(api, "pytorchjob-controller", ""),
      jobs_(api, api::kPyTorchJobs, keepJson, signal()),
      pods_(api, api::kPods, keepJson, signal(),
            {.ns = "",
             .selectors = {{"labelSelector", "training.kubeflow.org/operator-name=pytorchjob-controller"}}}),
      services_(api, kServices, keepJson, signal()) {}

TimePoint PyTorchOperator::step(TimePoint now) {
  TimePoint wake = std::min({jobs_.sync(now), pods_.sync(now), services_.sync(now)});
  if (!jobs_.synced() || !pods_.synced() || !services_.synced()) {
    return wake;
  }
  ByOwner pods = groupByOwner(pods_);
  ByOwner services = groupByOwner(services_);
  for (const auto& [key, job] : jobs_.objects()) {
    const std::string uid = findString(*job, "metadata", "uid");
    if (isDeleting(*job) || retryAt_[key] > now) {
      wake = std::min(wake, isDeleting(*job) ? kNever : retryAt_[key]);
      continue;
    }
    const JobPlan plan = planPyTorchJob(*job, pods[uid], services[uid], now);
    wake = std::min(wake, plan.wake);
    if (const auto done = carryOut(*job, plan, now); !done) {
      logDebug("job not reconciled", {{"job", key}, {"error", done.error()}});
      retryAt_[key] = now + kRetryJob;
      wake = std::min(wake, retryAt_[key]);
    }
  }
  std::erase_if(retryAt_, [&](const auto& entry) { return !jobs_.objects().contains(entry.first); });
  return wake;
}

Result<> PyTorchOperator::carryOut(const Json& job, const JobPlan& plan, TimePoint now) {
  const std::string ns = findString(job, "metadata", "namespace");
  const auto removeAll = [&](const api::Resource& resource, const std::vector<Json>& objects) -> Result<> {
    for (const Json& object : objects) {
      const auto removed = kube::remove(api_, resource, ns, findString(object, "metadata", "name"),
                                        findString(object, "metadata", "uid"));
      if (!removed && !isDone(removed.error())) {
        return removed;
      }
    }
    return {};
  };
  const auto createAll = [&](const api::Resource& resource, const std::vector<Json>& objects) -> Result<> {
    for (const Json& object : objects) {
      const auto created = kube::create(api_, resource, ns, object, kOperatorManager);
      if (!created && !isDone(created.error())) {
        return fail(created.error());
      }
    }
    return {};
  };
  MAINSTAY_TRY(removeAll(api::kPods, plan.deletePods));
  MAINSTAY_TRY(removeAll(kServices, plan.deleteServices));
  MAINSTAY_TRY(createAll(kServices, plan.createServices));
  MAINSTAY_TRY(createAll(api::kPods, plan.createPods));
  if (plan.deleteJob) {
    return removeAll(api::kPyTorchJobs, {job});
  }
  if (!plan.status.is_null()) {
    Json updated = job;
    updated.get_object()["status"] = plan.status;
    MAINSTAY_TRY(kube::update(api_, api::kPyTorchJobs, updated, kOperatorManager, "status"));
  }
  const kube::EventSubject subject{"kubeflow.org/v1", "PyTorchJob", ns, findString(job, "metadata", "name"),
                                   findString(job, "metadata", "uid")};
  for (const JobEvent& event : plan.events) {
    ignore(events_.record(subject, event.type, event.reason, event.message, now), "an Event is for people");
  }
  return {};
}

}  // namespace mainstay::local
