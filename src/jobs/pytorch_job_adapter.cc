#include "jobs/pytorch_job_adapter.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "api/names.h"
#include "api/pytorch_job.h"

namespace mainstay::jobs {
namespace {

constexpr char kExitCodePolicy[] = "ExitCode";

Result<Job> decodeAsJob(const Json& object) {
  MAINSTAY_ASSIGN(api::PyTorchJob in, api::decodePyTorchJob(object));
  Job job;
  job.suspended = in.suspend;
  job.finished = in.finished();
  job.failed = in.failed();
  for (api::PyTorchReplica& replica : in.replicas) {
    job.replicas.push_back({replica.type, replica.count, replica.restartPolicy, std::move(replica.pod)});
  }
  job.meta = std::move(in.meta);
  return job;
}

// The operator writes replica types in lower case into labels.
bool sameType(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

kube::WatchCache<Job>::Decode PyTorchJobAdapter::decode() const {
  return decodeAsJob;
}

std::string PyTorchJobAdapter::jobOf(const api::Pod& pod) const {
  const auto owns = [](const api::OwnerReference& owner) {
    return owner.controller && owner.kind == api::kPyTorchJobs.kind;
  };
  const auto owner = std::ranges::find_if(pod.meta.owners, owns);
  return owner != pod.meta.owners.end() ? owner->name : "";
}

int PyTorchJobAdapter::rankOf(const Job& job, const api::Pod& pod) const {
  const std::string& text = pod.meta.label(api::kReplicaIndexLabel);
  int index = -1;
  std::from_chars(text.data(), text.data() + text.size(), index);
  int before = 0;
  for (const Replica& replica : job.replicas) {
    if (sameType(replica.type, pod.meta.label(api::kReplicaTypeLabel))) {
      return index < 0 ? -1 : before + index;
    }
    before += replica.count;
  }
  return -1;
}

std::string PyTorchJobAdapter::obstacle(const Job& job) const {
  for (const Replica& replica : job.replicas) {
    if (replica.restartPolicy != "OnFailure" && replica.restartPolicy != kExitCodePolicy) {
      return "restartPolicy of " + replica.type + " is " + replica.restartPolicy +
             "; automatic resume needs OnFailure or ExitCode";
    }
  }
  return "";
}

// A suspended job's exit codes are not looked at, so stopping such a group is safe; but until it is stopped,
// one rank that gives up over its lost peer ends the job.
std::string PyTorchJobAdapter::whyFailed(const Job& job) const {
  const bool byExitCode = std::ranges::any_of(
      job.replicas, [](const Replica& replica) { return replica.restartPolicy == kExitCodePolicy; });
  return byExitCode
             ? "with restartPolicy ExitCode a single rank that exits with 1 to 127 ends the job; let ranks "
               "that lose a peer exit with 128 or more, or use OnFailure, and create the job anew to go on"
             : "";
}

JsonObject PyTorchJobAdapter::suspendPatch(bool suspend) const {
  return api::suspendPyTorchJob(suspend);
}

std::optional<bool> PyTorchJobAdapter::suspended(const Json& answer) const {
  const Json* suspend = find(answer, "spec", "runPolicy", "suspend");
  return suspend && suspend->is_bool() ? std::optional(suspend->get_bool()) : std::nullopt;
}

Json PyTorchJobAdapter::failurePatch(const Json& object, const std::string& reason,
                                     const std::string& message, TimePoint now) const {
  return api::failPyTorchJob(object, reason, message, now);
}

}  // namespace mainstay::jobs
