#include "jobs/records.h"

#include <algorithm>
#include <set>

namespace mainstay::jobs {
namespace {

std::string recordState(const Group& group) {
  switch (group.state->phase) {
    case ResumePhase::kStopped:
      return kRecordStopped;
    case ResumePhase::kExhausted:
      return group.job->finished ? kRecordFailed : kRecordStopped;
    case ResumePhase::kResumed:
      return kRecordResumed;
    case ResumePhase::kReleased:
      return kRecordReleased;
    case ResumePhase::kUnsupported:
      return kRecordUnsupported;
  }
  return "";
}

std::string recordMessage(const Group& group, int limit, const std::string& waitsFor) {
  if (!waitsFor.empty()) {
    return waitsFor;
  }
  if (group.state->phase == ResumePhase::kExhausted) {
    return "no retry left of " + std::to_string(limit);
  }
  return "retry " + std::to_string(group.state->retry) + (limit > 0 ? " of " + std::to_string(limit) : "");
}

// The entry as it should be, given the one that stands there or a blank one.
api::TouchedJob entryOf(const Facts& facts, const Group& group, const api::NodeRecovery& incident,
                        api::TouchedJob entry, const std::string& waitsFor) {
  const api::ObjectMeta& meta = group.job->meta;
  entry.ns = meta.ns;
  entry.name = meta.name;
  entry.kind = group.adapter->resource().kind;
  entry.uid = meta.uid;
  entry.retry = group.state->retry;
  entry.state = recordState(group);
  entry.message = recordMessage(group, group.retryLimit(facts, {incident.meta.name}), waitsFor);
  if (group.state->holds() && !entry.stopped) {
    entry.stopped = group.state->since;
  }
  if (entry.state == kRecordResumed || entry.state == kRecordReleased) {
    entry.resumed = group.state->since;
  }
  if (entry.lost.empty()) {
    for (const api::Pod* pod : group.podsOn(facts, incident)) {
      if (entry.lost.size() < api::kMaxLostPods) {
        entry.lost.push_back(group.nameOf(*pod));
      }
    }
  }
  return entry;
}

void recordGroup(const Facts& facts, const Group& group, const api::NodeRecovery& incident,
                 const std::string& waitsFor, std::vector<api::TouchedJob>& jobs) {
  const auto at = std::ranges::find(jobs, group.job->meta.uid, &api::TouchedJob::uid);
  if (at == jobs.end()) {
    if (jobs.size() < api::kMaxTouchedJobs) {
      jobs.push_back(entryOf(facts, group, incident, {}, waitsFor));
    }
  } else if (at->state == kRecordStopped) {
    // Any other state is the end of this incident's part in the job's life; what comes later is another
    // incident's.
    *at = entryOf(facts, group, incident, *at, waitsFor);
  }
}

}  // namespace

std::vector<Record> planRecords(const Facts& facts, const std::vector<Group>& groups,
                                const std::map<std::string, std::string>& waiting) {
  std::map<std::string, std::vector<const Group*>> touchedBy;
  std::set<std::string> alive;
  for (const Group& group : groups) {
    alive.insert(group.job->meta.uid);
    for (const std::string& incident : group.state ? group.state->incidents : std::vector<std::string>()) {
      touchedBy[incident].push_back(&group);
    }
  }
  std::vector<Record> records;
  for (const auto& [name, incident] : facts.recoveries) {
    std::vector<api::TouchedJob> jobs = incident->status.jobs;
    for (api::TouchedJob& entry : jobs) {
      if (entry.state == kRecordStopped && !alive.contains(entry.uid)) {
        entry.state = kRecordDeleted;
        entry.message = "the job was deleted while it was stopped";
      }
    }
    for (const Group* group : touchedBy[name]) {
      const auto waitsFor = waiting.find(group->job->meta.uid);
      recordGroup(facts, *group, *incident, waitsFor == waiting.end() ? "" : waitsFor->second, jobs);
    }
    if (jobs != incident->status.jobs) {
      records.push_back({name, std::move(jobs)});
    }
  }
  return records;
}

}  // namespace mainstay::jobs
