#include "jobs/executor.h"

#include "api/names.h"
#include "base/log.h"

namespace mainstay::jobs {
namespace {

constexpr char kNormal[] = "Normal";
constexpr char kWarning[] = "Warning";
constexpr char kJobCannotBeStopped[] = "JobCannotBeStopped";

std::string subjectOf(const Step& step) {
  return step.job ? step.job->meta.key() : step.recovery;
}

bool isWarning(const std::string& reason) {
  return reason != kJobStopped && reason != kJobResumed && reason != kJobGivenBack &&
         reason != kJobStartedByOther;
}

}  // namespace

JsonObject guardedAnnotation(const api::ObjectMeta& meta, const ResumeState& state) {
  return {{"resourceVersion", meta.resourceVersion},
          {"annotations", JsonObject{{api::kResumeAnnotation, encodeResume(state)}}}};
}

Result<Written> Executor::carryOut(const Step& step, TimePoint now) {
  Result<Written> written;
  switch (step.kind) {
    case Step::Kind::kStop:
      written = stop(step, now);
      break;
    case Step::Kind::kStart:
      written = writeJob(step, step.adapter->suspendPatch(false), now);
      break;
    case Step::Kind::kMark:
      written = writeJob(step, {}, now);
      break;
    case Step::Kind::kFail:
      written = failJob(step, now);
      break;
    case Step::Kind::kRecord:
      written = record(step);
      break;
    case Step::Kind::kEvent:
      tell(step, kWarning, step.reason, step.why, now);
      break;
  }
  if (!written) {
    written.error().with("job plan: " + subjectOf(step));
  }
  return written;
}

Result<Written> Executor::stop(const Step& step, TimePoint now) {
  JsonObject patch = step.adapter->suspendPatch(true);
  patch["metadata"] = guardedAnnotation(step.job->meta, step.resume);
  const api::Resource& kind = step.adapter->resource();
  const api::ObjectMeta& meta = step.job->meta;
  MAINSTAY_ASSIGN(Json answer, kube::patch(api_, kind, meta.ns, meta.name, kube::Body::kMergePatch, patch,
                                           api::kJobsManager));
  if (step.adapter->suspended(answer) == true) {
    tell(step, kNormal, step.reason, step.why, now);
    return Written{.job = std::move(answer), .recovery = {}};
  }
  // An API server whose CRD is older than suspend dropped the field: the group still runs. No retry was used.
  Step handsOff = step;
  Result<Job> present = step.adapter->decode()(answer);
  if (!present) {
    return fail(std::move(present).error());
  }
  handsOff.kind = Step::Kind::kMark;
  handsOff.job = std::make_shared<const Job>(*std::move(present));
  handsOff.resume.phase = ResumePhase::kUnsupported;
  handsOff.resume.retry -= step.resume.phase == ResumePhase::kStopped ? 1 : 0;
  handsOff.reason = kJobCannotBeStopped;
  handsOff.why = "the API server did not keep the job's suspend: the CRD of " + kind.plural +
                 " is too old. The job is left alone; update the training operator to have it resumed";
  return writeJob(handsOff, {}, now);
}

Result<Written> Executor::writeJob(const Step& step, JsonObject patch, TimePoint now) {
  patch["metadata"] = guardedAnnotation(step.job->meta, step.resume);
  const api::ObjectMeta& meta = step.job->meta;
  MAINSTAY_ASSIGN(Json answer, kube::patch(api_, step.adapter->resource(), meta.ns, meta.name,
                                           kube::Body::kMergePatch, patch, api::kJobsManager));
  tell(step, isWarning(step.reason) ? kWarning : kNormal, step.reason, step.why, now);
  return Written{.job = std::move(answer), .recovery = {}};
}

Result<Written> Executor::failJob(const Step& step, TimePoint now) {
  const api::Resource& kind = step.adapter->resource();
  const api::ObjectMeta& meta = step.job->meta;
  MAINSTAY_ASSIGN(const Json present, kube::get(api_, kind, meta.ns, meta.name));
  if (findString(present, "metadata", "resourceVersion") != meta.resourceVersion) {
    return fail(Code::kConflict, "the job has changed since the plan was made");
  }
  const Json patch = step.adapter->failurePatch(present, step.reason, step.why, now);
  MAINSTAY_ASSIGN(Json answer, kube::patch(api_, kind, meta.ns, meta.name, kube::Body::kMergePatch, patch,
                                           api::kJobsManager, "status"));
  tell(step, kWarning, step.reason, step.why, now);
  return Written{.job = std::move(answer), .recovery = {}};
}

Result<Written> Executor::record(const Step& step) {
  const Json patch = JsonObject{{"status", JsonObject{{"jobs", api::encodeTouchedJobs(step.touched)}}}};
  MAINSTAY_ASSIGN(Json answer, kube::patch(api_, api::kNodeRecoveries, "", step.recovery,
                                           kube::Body::kMergePatch, patch, api::kJobsManager, "status"));
  return Written{.job = {}, .recovery = std::move(answer)};
}

void Executor::tell(const Step& step, std::string_view type, std::string_view reason, const std::string& why,
                    TimePoint now) {
  const api::Resource& kind = step.adapter->resource();
  const api::ObjectMeta& meta = step.job->meta;
  logInfo("told of a job", {{"job", meta.key()}, {"reason", reason}, {"why", why}});
  const Result<> told = events_.record({kind.apiVersion(), kind.kind, meta.ns, meta.name, meta.uid},
                                       std::string(type), std::string(reason), why, now);
  if (!told) {
    logWarning("an Event was not written",
               {{"job", meta.key()}, {"reason", reason}, {"error", told.error()}});
  }
}

}  // namespace mainstay::jobs
