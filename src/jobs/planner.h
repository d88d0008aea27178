// The job plan: which groups are stopped, started, ended, and why. Pure: facts and time in, steps out.
//
// A group is stopped when one of its pods sits on a node that recovery has taken out of service, and started
// again when all of it fits on healthy nodes. The steps are the whole truth of what happens; nothing is
// decided elsewhere.
#pragma once

#include <string>
#include <vector>

#include "jobs/group.h"

namespace mainstay::jobs {

struct Step {
  enum class Kind {
    kStop,    // suspend the group, with `resume` as its annotation, in one patch
    kStart,   // the opposite
    kMark,    // only the annotation
    kFail,    // status Failed, for good
    kRecord,  // NodeRecovery.status.jobs becomes `touched`
    kEvent,   // tell a person: `reason`, `why`
  };
  Kind kind;
  const Adapter* adapter = nullptr;  // of the job; null for kRecord
  std::shared_ptr<const Job> job = {};
  ResumeState resume = {};    // kStop, kStart, kMark: the annotation after it
  std::string recovery = {};  // kRecord
  std::vector<api::TouchedJob> touched = {};
  std::string reason = {};  // of the Event that tells of the step: JobStopped, JobWaitingForNodes, ...
  std::string why = {};     // one sentence for people
};

// In the order to carry them out. At most one kStop, kStart, kMark or kFail per job.
std::vector<Step> plan(const Facts& facts, TimePoint now);

// Reasons of Events on jobs.
inline constexpr char kJobStopped[] = "JobStopped";
inline constexpr char kJobResumed[] = "JobResumed";
inline constexpr char kJobGivenBack[] = "JobGivenBack";
inline constexpr char kJobStartedByOther[] = "JobStartedByOther";
inline constexpr char kJobWaitingForNodes[] = "JobWaitingForNodes";
inline constexpr char kJobAnnotationInvalid[] = "JobAnnotationInvalid";
inline constexpr char kJobNotResumable[] = "JobNotResumable";
inline constexpr char kJobLeftToKueue[] = "JobLeftToKueue";
inline constexpr char kRetriesExhausted[] = "MainstayRetriesExhausted";

}  // namespace mainstay::jobs
