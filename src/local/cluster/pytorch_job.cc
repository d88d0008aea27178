#include "local/cluster/pytorch_job.h"

#include <algorithm>
#include <map>

#include "local/api/json_access.h"
#include "local/cluster/conditions.h"
#include "local/cluster/pytorch_pods.h"

namespace mainstay::local {
namespace {

// How many of a replica type are in which state; keys as in replicaStatuses.
using Tally = std::map<std::string, std::int64_t>;

// restartPolicy ExitCode: from here on an exit code is a signal's, and the pod is tried again.
constexpr std::int64_t kRetryableExitCodes = 128;

// A pod that failed without an exit code, such as an evicted one, may be tried again.
bool failedForGood(const ReplicaSpec& replica, const Json& pod) {
  return replica.restartPolicy == "ExitCode" &&
         exitCodeOf(pod).value_or(kRetryableExitCodes) < kRetryableExitCodes;
}

// One job while it is planned: what is there, and the status as it becomes.
class JobPlanner {
 public:
  JobPlanner(const Json& job, const std::vector<Json>& pods, const std::vector<Json>& services, TimePoint now)
      : job_(job),
        pods_(pods),
        services_(services),
        now_(now),
        name_("PyTorchJob " + findString(job, "metadata", "name")),
        replicas_(readReplicaSpecs(job)),
        status_(objectAt(job, "status")) {}

  JobPlan plan() {
    setCondition("Created", "True", "Created", name_ + " is created.");
    if (is("Succeeded") || is("Failed")) {
      afterEnd();
    } else if (const std::string wrong = checkReplicaSpecs(job_, replicas_); !wrong.empty()) {
      failJob("FailedValidation", wrong);
    } else if (suspended()) {
      suspend();
    } else {
      run();
    }
    if (status_ != Json(objectAt(job_, "status"))) {
      plan_.status = status_;
    }
    return std::move(plan_);
  }

 private:
  std::optional<std::int64_t> policy(std::string_view key) const {
    return integerAt(job_, "spec", "runPolicy", key);
  }
  std::optional<TimePoint> statusTime(std::string_view key) const {
    return parseTime(findString(status_, key));
  }
  bool is(std::string_view condition) const {
    return conditionStatus(find(status_, "conditions"), condition) == "True";
  }
  bool suspended() const {
    const Json* suspend = find(job_, "spec", "runPolicy", "suspend");
    return suspend && suspend->is_bool() && suspend->get_bool();
  }

  // As the operator's own: a failed job's conditions stand, Running and Restarting replace each other, the
  // newest comes last.
  void setCondition(const std::string& type, const std::string& status, const std::string& shortReason,
                    const std::string& message) {
    if (is("Failed")) {
      return;
    }
    const Json before = arrayAt(status_, "conditions");
    const std::string reason = "PyTorchJob" + shortReason;
    JsonArray after;
    for (const Json& condition : before.get_array()) {
      const std::string other = findString(condition, "type");
      if (other == type && findString(condition, "status") == status &&
          findString(condition, "reason") == reason) {
        return;
      }
      if (other == type || (type == "Restarting" && other == "Running") ||
          (type == "Running" && other == "Restarting")) {
        continue;
      }
      after.push_back(condition);
      if ((type == "Failed" || type == "Succeeded") && other == "Running") {
        after.back().get_object()["status"] = "False";
      }
    }
    JsonObject added = conditionObject(&before, {type, status, reason, message}, now_);
    added["lastUpdateTime"] = formatTime(now_);
    after.push_back(std::move(added));
    status_.get_object()["conditions"] = std::move(after);
  }

  void tell(const std::string& type, const std::string& reason, const std::string& message) {
    plan_.events.push_back({type, "PyTorchJob" + reason, message});
  }

  void end(const std::string& condition, const std::string& reason, const std::string& message) {
    if (!statusTime("completionTime")) {
      status_.get_object()["completionTime"] = formatTime(now_);
    }
    tell("Normal", reason, message);
    setCondition(condition, "True", reason, message);
  }
  void failJob(const std::string& reason, const std::string& message) { end("Failed", reason, message); }

  // --- The situations of a job ---

  void afterEnd() {
    const std::string clean = findString(job_, "spec", "runPolicy", "cleanPodPolicy");  // "" is None
    for (const Json& pod : pods_) {
      const std::string phase = findString(pod, "status", "phase");
      const bool active = phase == "Running" || phase == "Pending";
      if (clean == "All" || (clean == "Running" && active)) {
        removeWithService(pod);
      }
    }
    if (is("Succeeded")) {
      clearActive(true);
    }
    const auto completed = statusTime("completionTime");
    if (const auto ttl = policy("ttlSecondsAfterFinished"); ttl && completed && !suspended()) {
      const TimePoint expires = *completed + std::chrono::seconds(*ttl);
      plan_.deleteJob = now_ >= expires;
      plan_.wake = plan_.deleteJob ? kNever : expires;
    }
  }

  // No replica is active any more; they count as succeeded when the job has.
  void clearActive(bool succeeded) {
    JsonObject statuses = objectAt(status_, "replicaStatuses");
    for (auto& [type, counts] : statuses) {
      const std::int64_t active = integerAt(counts, "active").value_or(0);
      if (active > 0) {
        counts.get_object().erase("active");
        if (succeeded) {
          counts.get_object()["succeeded"] = integerAt(counts, "succeeded").value_or(0) + active;
        }
      }
    }
    if (!statuses.empty()) {
      status_.get_object()["replicaStatuses"] = std::move(statuses);
    }
  }

  void suspend() {
    for (const Json& pod : pods_) {
      removeWithService(pod);
    }
    clearActive(false);
    const std::string message = name_ + " is suspended.";
    if (is("Running")) {
      setCondition("Running", "False", "Suspended", message);
    }
    if (!is("Suspended")) {
      setCondition("Suspended", "True", "Suspended", message);
      tell("Normal", "Suspended", message);
    }
  }

  void run() {
    if (is("Suspended")) {
      const std::string message = name_ + " is resumed.";
      setCondition("Suspended", "False", "Resumed", message);
      status_.get_object()["startTime"] = formatTime(now_);
      tell("Normal", "Resumed", message);
    }
    if (const std::string exceeded = exceededLimit(); !exceeded.empty()) {
      for (const Json& pod : pods_) {
        removeWithService(pod);
      }
      failJob("Failed", exceeded);
      return;
    }
    if (!statusTime("startTime")) {
      status_.get_object()["startTime"] = formatTime(now_);
    }
    if (const auto seconds = policy("activeDeadlineSeconds")) {
      plan_.wake = *statusTime("startTime") + std::chrono::seconds(*seconds);
    }
    JsonObject statuses;
    for (const ReplicaSpec& replica : replicas_) {
      const Tally& tally = tallies_[replica.type] = syncReplica(replica);
      JsonObject counts{{"selector", replicaSelector(job_, replica)}};
      for (const auto& [state, count] : tally) {
        counts[state] = count;
      }
      statuses[replica.type] = std::move(counts);
    }
    status_.get_object()["replicaStatuses"] = std::move(statuses);
    judge();
  }

  std::string exceededLimit() const {
    const std::string job = "Job " + findString(job_, "metadata", "name");
    // A limit of 0 is passed by the first restart, as one of 1 is.
    if (const auto limit = policy("backoffLimit"); limit && restarts() >= std::max<std::int64_t>(*limit, 1)) {
      return job + " has failed because it has reached the specified backoff limit";
    }
    const auto seconds = policy("activeDeadlineSeconds");
    const auto started = statusTime("startTime");
    if (seconds && started && now_ >= *started + std::chrono::seconds(*seconds)) {
      return job + " has failed because it was active longer than specified deadline";
    }
    return "";
  }

  // Container restarts of running pods: what the operator counts against backoffLimit.
  std::int64_t restarts() const {
    std::int64_t count = 0;
    for (const Json& pod : pods_) {
      const auto replica = std::ranges::find(replicas_, replicaLabelOf(pod), &ReplicaSpec::label);
      if (replica != replicas_.end() && replica->restartPolicy != "Never" &&
          findString(pod, "status", "phase") == "Running") {
        for (const Json& container : arrayAt(pod, "status", "containerStatuses")) {
          count += integerAt(container, "restartCount").value_or(0);
        }
      }
    }
    return count;
  }

  // Creates what is missing, deletes what has failed or is too many; counts the rest.
  Tally syncReplica(const ReplicaSpec& replica) {
    Tally tally;
    for (int index = 0; index < replica.count; ++index) {
      const std::string podName = replicaPodName(job_, replica, index);
      if (const Json* pod = named(pods_, podName)) {
        countPod(replica, *pod, tally);
      } else {
        plan_.createPods.push_back(replicaPod(job_, replicas_, replica, index));
      }
      if (!named(services_, podName)) {
        plan_.createServices.push_back(replicaService(job_, replica, index));
      }
    }
    for (const Json& pod : pods_) {
      if (replicaLabelOf(pod) == replica.label && replicaIndexOf(pod) >= replica.count) {
        removeWithService(pod);
      }
    }
    return tally;
  }

  void countPod(const ReplicaSpec& replica, const Json& pod, Tally& tally) {
    const std::string phase = findString(pod, "status", "phase");
    if (phase == "Running") {
      // A pod of a lost node stays Running and is never confirmed gone: the operator counts it as failed.
      ++tally[isDeleting(pod) ? "failed" : "active"];
    } else if (phase == "Succeeded") {
      ++tally["succeeded"];
    } else if (phase == "Failed") {
      ++tally["failed"];
      if (failedForGood(replica, pod)) {
        failByExitCode(replica);
      } else if (replica.restartPolicy != "Never" && !isDeleting(pod)) {
        plan_.deletePods.push_back(pod);
        tell("Warning", "Restarting",
             "job " + findString(job_, "metadata", "name") + " is restarting because " + replica.type +
                 " replica(s) failed.");
      }
    }
  }

  // Without a completionTime, as the operator leaves it: such a job has no time to live.
  void failByExitCode(const ReplicaSpec& replica) {
    const std::string message = "job \"" + findString(job_, "metadata", "name") + "\" is failing because \"" +
                                replica.type + "\" replica(s) failed.";
    tell("Warning", "Failed", message);
    setCondition("Failed", "True", "Failed", message);
  }

  // Conditions from the counts: the master's end is the job's; without a master all workers must succeed.
  void judge() {
    const bool hasMaster = replicas_.front().label == "master";
    std::string restarting;
    bool running = false;
    for (const ReplicaSpec& replica : replicas_) {
      Tally& tally = tallies_[replica.type];
      if (!hasMaster || replica.label == "master") {
        if (tally["succeeded"] == replica.count) {
          end("Succeeded", "Succeeded", name_ + " is successfully completed.");
          return;
        }
        running = running || tally["active"] > 0;
      }
      if (tally["failed"] > 0 && replica.count > tally["succeeded"] + tally["active"]) {
        const std::string because =
            " because " + std::to_string(tally["failed"]) + " " + replica.type + " replica(s) failed.";
        if (replica.restartPolicy == "Never") {
          failJob("Failed", name_ + " is failed" + because);
          return;
        }
        restarting = name_ + " is restarting" + because;
      }
    }
    if (!restarting.empty()) {
      setCondition("Restarting", "True", "Restarting", restarting);
    } else if (running) {
      setCondition("Running", "True", "Running", name_ + " is running.");
    }
  }

  static const Json* named(const std::vector<Json>& objects, const std::string& name) {
    const auto found = std::ranges::find_if(
        objects, [&](const Json& object) { return findString(object, "metadata", "name") == name; });
    return found == objects.end() ? nullptr : &*found;
  }

  // The Service has its pod's name and goes with it.
  void removeWithService(const Json& pod) {
    if (!isDeleting(pod)) {
      plan_.deletePods.push_back(pod);
    }
    if (const Json* service = named(services_, findString(pod, "metadata", "name"));
        service && !isDeleting(*service)) {
      plan_.deleteServices.push_back(*service);
    }
  }

  const Json& job_;
  const std::vector<Json>& pods_;
  const std::vector<Json>& services_;
  const TimePoint now_;
  const std::string name_;  // as messages call it: "PyTorchJob llama-mini"
  const std::vector<ReplicaSpec> replicas_;
  Json status_;                           // an object
  std::map<std::string, Tally> tallies_;  // by replica type
  JobPlan plan_;
};

}  // namespace

JobPlan planPyTorchJob(const Json& job, const std::vector<Json>& pods, const std::vector<Json>& services,
                       TimePoint now) {
  return JobPlanner(job, pods, services, now).plan();
}

}  // namespace mainstay::local
