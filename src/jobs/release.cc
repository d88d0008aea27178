#include "jobs/release.h"

#include "api/names.h"
#include "jobs/executor.h"
#include "jobs/pytorch_job_adapter.h"
#include "kube/events.h"

namespace mainstay::jobs {
namespace {

constexpr int kReleaseAttempts = 5;  // each loses only to a write of somebody else
constexpr char kJobReleased[] = "JobReleased";

// Why there is nothing to release; "" = there is.
Result<std::string> nothingToDo(const Job& job) {
  const std::string& text = job.meta.annotation(api::kResumeAnnotation);
  if (!job.suspended) {
    return job.meta.key() + " is not suspended: nothing to release";
  }
  if (text.empty()) {
    return job.meta.key() + " was suspended by somebody else (no annotation " + api::kResumeAnnotation +
           "): left alone";
  }
  Result<ResumeState> state = decodeResume(text);
  if (!state) {
    return fail(std::move(state.error().with(std::string("annotation ") + api::kResumeAnnotation)));
  }
  if (job.finished) {
    return job.meta.key() + " has finished: nothing to release";
  }
  return state->holds()
             ? std::string()
             : job.meta.key() + " was suspended by somebody else after Mainstay had let it go: left alone";
}

// Guarded: a job that a controller has stopped again in between must not lose the word that it is ours.
JsonObject withoutAnnotation(const api::ObjectMeta& meta) {
  return {{"resourceVersion", meta.resourceVersion},
          {"annotations", JsonObject{{api::kResumeAnnotation, nullptr}}}};
}

// Nothing is held, and nothing is to be known any more.
Result<std::string> forgetObject(kube::Api& api, const Job& job, const ReleaseOptions& options) {
  const api::ObjectMeta& meta = job.meta;
  if (!options.dryRun) {
    MAINSTAY_TRY(kube::patch(api, api::kPyTorchJobs, meta.ns, meta.name, kube::Body::kMergePatch,
                             JsonObject{{"metadata", withoutAnnotation(meta)}}, api::kCliManager));
  }
  return meta.key() + ": annotation " + api::kResumeAnnotation +
         (options.dryRun ? " would be taken off (dry run)" : " taken off");
}

Result<std::string> startObject(kube::Api& api, const Job& job, const ReleaseOptions& options,
                                TimePoint now) {
  const api::ObjectMeta& meta = job.meta;
  if (options.dryRun) {
    return meta.key() + " would be started (dry run)";
  }
  MAINSTAY_ASSIGN(ResumeState state, decodeResume(meta.annotation(api::kResumeAnnotation)));
  state.phase = ResumePhase::kReleased;
  state.since = now;
  JsonObject patch = PyTorchJobAdapter().suspendPatch(false);
  patch["metadata"] = options.forget ? withoutAnnotation(meta) : guardedAnnotation(meta, state);
  const api::Resource& kind = api::kPyTorchJobs;
  MAINSTAY_TRY(kube::patch(api, kind, meta.ns, meta.name, kube::Body::kMergePatch, patch, api::kCliManager));
  kube::EventRecorder events(api, "mainstay", "");
  ignore(events.record({kind.apiVersion(), kind.kind, meta.ns, meta.name, meta.uid}, "Normal", kJobReleased,
                       "released by a person" + (options.reason.empty() ? "" : ": " + options.reason), now),
         "the job is released all the same");
  return meta.key() + " released: suspend is false again";
}

Result<std::string> releaseObject(kube::Api& api, const Json& object, const ReleaseOptions& options,
                                  TimePoint now) {
  MAINSTAY_ASSIGN(const Job job, PyTorchJobAdapter().decode()(object));
  MAINSTAY_ASSIGN(const std::string nothing, nothingToDo(job));
  if (nothing.empty()) {
    return startObject(api, job, options, now);
  }
  const bool annotated = !job.meta.annotation(api::kResumeAnnotation).empty();
  return options.forget && annotated ? forgetObject(api, job, options) : nothing;
}

// Reads again when somebody wrote in between.
Result<std::string> releaseNamed(kube::Api& api, const std::string& ns, const std::string& name,
                                 const ReleaseOptions& options, TimePoint now) {
  for (int attempt = 1;; ++attempt) {
    MAINSTAY_ASSIGN(const Json object, kube::get(api, api::kPyTorchJobs, ns, name));
    Result<std::string> done = releaseObject(api, object, options, now);
    if (done || done.error().code() != Code::kConflict || attempt == kReleaseAttempts) {
      return done;
    }
  }
}

}  // namespace

Result<std::string> releaseJob(kube::Api& api, const std::string& ns, const std::string& name,
                               const ReleaseOptions& options, TimePoint now) {
  Result<std::string> released = releaseNamed(api, ns, name, options, now);
  if (!released) {
    released.error().with("releasing job " + ns + "/" + name);
  }
  return released;
}

Result<Released> releaseAllJobs(kube::Api& api, const ReleaseOptions& options, TimePoint now) {
  const Result<kube::ObjectList> all = kube::list(api, api::kPyTorchJobs);
  if (!all && all.error().code() == Code::kNotFound) {
    return Released{};  // a cluster without the training operator has no such jobs
  }
  if (!all) {
    return fail(all.error());
  }
  ReleaseOptions forgetful = options;
  forgetful.forget = true;
  Released released;
  for (const Json& object : all->items) {
    if (findString(object, "metadata", "annotations", api::kResumeAnnotation).empty()) {
      continue;
    }
    const Result<std::string> done = releaseJob(api, findString(object, "metadata", "namespace"),
                                                findString(object, "metadata", "name"), forgetful, now);
    released.failed |= !done;
    released.sentences.push_back(done ? *done : done.error().toString());
  }
  return released;
}

}  // namespace mainstay::jobs
