// Executor: carries out the steps of the job plan, each as one guarded write, and tells of it in an Event.
#pragma once

#include <optional>

#include "jobs/planner.h"
#include "kube/events.h"

namespace mainstay::jobs {

// The objects as our write left them, for the caches.
struct Written {
  std::optional<Json> job;
  std::optional<Json> recovery;
};

class Executor {
 public:
  Executor(kube::Api& api, kube::EventRecorder& events) : api_(api), events_(events) {}

  // kConflict: somebody else wrote the job in between; plan again. Every write carries the resourceVersion
  // that the plan was made on, so a step is carried out on the very state it was decided for, or not at all.
  Result<Written> carryOut(const Step& step, TimePoint now);

 private:
  Result<Written> stop(const Step& step, TimePoint now);
  Result<Written> writeJob(const Step& step, JsonObject patch, TimePoint now);
  Result<Written> failJob(const Step& step, TimePoint now);
  Result<Written> record(const Step& step);
  void tell(const Step& step, std::string_view type, std::string_view reason, const std::string& why,
            TimePoint now);

  kube::Api& api_;
  kube::EventRecorder& events_;
};

// The patch's metadata: the guard and the annotation.
JsonObject guardedAnnotation(const api::ObjectMeta& meta, const ResumeState& state);

}  // namespace mainstay::jobs
