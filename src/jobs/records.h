// Records: what each incident did to jobs, kept in NodeRecovery.status.jobs for people and for the
// end-of-incident sum.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "jobs/group.h"

namespace mainstay::jobs {

// States of an entry. All but kStopped are final.
inline constexpr char kRecordStopped[] = "Stopped";
inline constexpr char kRecordResumed[] = "Resumed";
inline constexpr char kRecordFailed[] = "Failed";
inline constexpr char kRecordReleased[] = "Released";
inline constexpr char kRecordUnsupported[] = "Unsupported";
inline constexpr char kRecordDeleted[] = "Deleted";

struct Record {
  std::string recovery;               // NodeRecovery
  std::vector<api::TouchedJob> jobs;  // all of status.jobs
};

// Only those that differ from what stands there. `waiting`: for what a stopped job waits, by UID.
std::vector<Record> planRecords(const Facts& facts, const std::vector<Group>& groups,
                                const std::map<std::string, std::string>& waiting);

}  // namespace mainstay::jobs
