#include "jobs/planner.h"

#include <algorithm>

#include "api/names.h"
#include "jobs/records.h"

namespace mainstay::jobs {
namespace {

using Kind = Step::Kind;

class Planner {
 public:
  Planner(const Facts& facts, TimePoint now) : facts_(facts), now_(now) {}

  std::vector<Step> run() {
    const std::vector<Group> groups = readGroups(facts_);
    for (const Group& group : groups) {
      tellOfBadAnnotations(group);
      tellOfLostJob(group);
      if (!group.job->finished && !group.job->meta.deleted && group.stateError.empty()) {
        planGroup(group);
      }
    }
    startInTurn(groups);
    for (Record& record : planRecords(facts_, groups, waiting_)) {
      steps_.push_back(
          {.kind = Kind::kRecord, .recovery = std::move(record.recovery), .touched = std::move(record.jobs)});
    }
    return std::move(steps_);
  }

 private:
  void tellOfBadAnnotations(const Group& group) {
    if (!group.optIn.error.empty()) {
      tell(group, kJobAnnotationInvalid,
           group.optIn.error + "; the job is not resumed automatically until it is mended");
    }
    if (!group.stateError.empty()) {
      tell(group, kJobAnnotationInvalid,
           std::string("annotation ") + api::kResumeAnnotation + " cannot be read (" + group.stateError +
               "); the job is left alone. Remove the annotation to let Mainstay begin anew");
    }
  }

  // A job that Failed cannot be revived: all that is left is to say how not to lose the next one.
  void tellOfLostJob(const Group& group) {
    const bool byUs = group.state && group.state->phase == ResumePhase::kExhausted;
    const std::string why =
        group.job->failed && group.optIn.enabled && !byUs ? group.adapter->whyFailed(*group.job) : "";
    if (why.empty()) {
      return;
    }
    for (const auto& [name, incident] : facts_.recoveries) {
      if (acts(*incident) && group.touches(facts_, *incident)) {
        tell(group, kJobNotResumable,
             "the job Failed before it could be stopped for " + incident->node.name + " (" +
                 incident->status.fault + ", incident " + name + "): " + why);
      }
    }
  }

  void planGroup(const Group& group) {
    const bool held = group.state && group.state->holds();
    if (!group.job->suspended && held) {
      mark(group, ResumePhase::kResumed, kJobStartedByOther,
           "somebody started the job while Mainstay had it stopped; it is left running");
    } else if (!group.job->suspended) {
      planStop(group);
    } else if (held && group.state->phase == ResumePhase::kExhausted && !givenBack(group)) {
      planFailure(group);
    } else if (held) {
      stopped_.push_back(&group);
    }
    // Any other suspend is somebody else's.
  }

  void planStop(const Group& group) {
    const std::vector<const api::NodeRecovery*> fresh = newIncidents(group);
    if (fresh.empty() || !group.optIn.enabled) {
      return;
    }
    const std::string reason = whyStopped(group, fresh);
    if (leftToKueue(group)) {
      tell(group, kJobLeftToKueue,
           reason + "; Kueue queues this job, and Mainstay does not resume such jobs yet");
      return;
    }
    if (const std::string obstacle = group.adapter->obstacle(*group.job); !obstacle.empty()) {
      tell(group, kJobNotResumable, reason + "; the job is not resumed: " + obstacle);
      return;
    }
    ResumeState next = group.state.value_or(ResumeState{});
    for (const api::NodeRecovery* incident : fresh) {
      next.incidents.push_back(incident->meta.name);
    }
    next.since = now_;
    const int limit = group.retryLimit(facts_, next.incidents);
    const bool exhausted = next.retry >= limit;
    next.phase = exhausted ? ResumePhase::kExhausted : ResumePhase::kStopped;
    next.retry += exhausted ? 0 : 1;
    const std::string count = exhausted
                                  ? "all " + std::to_string(limit) + " retries are used: the job ends Failed"
                                  : "retry " + std::to_string(next.retry) + " of " + std::to_string(limit);
    act(Kind::kStop, group, next, kJobStopped,
        "stopped as one group (" + std::to_string(group.pods.size()) + " pods): " + reason + "; " + count);
  }

  // Whether the incident stops jobs.
  bool acts(const api::NodeRecovery& incident) const {
    const auto policy = facts_.policies.find(incident.policy);
    return policy != facts_.policies.end() && policy->second->mode == api::Mode::kEnforce &&
           policy->second->resume && incident.status.mode == api::Mode::kEnforce &&
           api::isolatedOrLater(incident.status.phase);
  }

  // Incidents that keep a pod of the group on a node out of service, and have not stopped it before.
  std::vector<const api::NodeRecovery*> newIncidents(const Group& group) const {
    std::vector<const api::NodeRecovery*> fresh;
    for (const auto& [name, incident] : facts_.recoveries) {
      if (acts(*incident) && !(group.state && group.state->knows(name)) &&
          !group.podsOn(facts_, *incident).empty()) {
        fresh.push_back(incident.get());
      }
    }
    return fresh;
  }

  std::string whyStopped(const Group& group, const std::vector<const api::NodeRecovery*>& incidents) const {
    std::string text;
    for (const api::NodeRecovery* incident : incidents) {
      const std::vector<const api::Pod*> lost = group.podsOn(facts_, *incident);
      text += (text.empty() ? "" : "; ") + group.nameOf(*lost.front()) +
              (lost.size() > 1 ? " and " + std::to_string(lost.size() - 1) + " more" : "") + " ran on " +
              incident->node.name + " (" + incident->status.fault + ", incident " + incident->meta.name + ")";
    }
    return text;
  }

  void planFailure(const Group& group) {
    if (group.pods.empty()) {
      act(Kind::kFail, group, *group.state, kRetriesExhausted,
          "a node of the job failed again after " + std::to_string(group.state->retry) +
              " automatic restarts, as many as it may have (" + api::kMaxRetryAnnotation +
              ", policy resume.maxRetries); its checkpoints are untouched, create it anew to go on");
    }
  }

  // Those that were stopped first come first; what one takes, the next does not get.
  void startInTurn(const std::vector<Group>& groups) {
    if (stopped_.empty()) {
      return;
    }
    std::ranges::stable_sort(stopped_, {}, [](const Group* group) { return group->state->since; });
    Fit fit(facts_.nodes, facts_.pods);
    for (const Group& group : groups) {
      if (group.state && group.state->phase == ResumePhase::kResumed && !group.job->suspended &&
          !group.job->finished && !group.job->meta.deleted) {
        fit.reserve(*group.job, group.missingPods());
      }
    }
    for (const Group* group : stopped_) {
      planStart(*group, fit);
    }
  }

  void planStart(const Group& group, Fit& fit) {
    if (leftToKueue(group)) {
      wait(group, kJobLeftToKueue, "Kueue queues this job: let Kueue start it, or remove its queue label");
      return;
    }
    if (const std::string blocker = oldPods(group); !blocker.empty()) {
      waiting_[group.job->meta.uid] = blocker;
      return;
    }
    if (givenBack(group)) {
      start(group, ResumePhase::kReleased, kJobGivenBack,
            "the policy of the incident no longer resumes jobs; the job is given back as it was");
      return;
    }
    std::string why;
    if (!fit.place(*group.job, why)) {
      wait(group, kJobWaitingForNodes,
           "waits for room for the whole group: " + why + "; no retry is used while it waits");
      return;
    }
    start(group, ResumePhase::kResumed, kJobResumed,
          "started as one group (" + std::to_string(group.job->podCount()) +
              " pods) on healthy nodes, after retry " + std::to_string(group.state->retry));
  }

  // Why the old group is not certainly over; "" = it is. Two groups that train at once would spoil the
  // checkpoints.
  std::string oldPods(const Group& group) const {
    if (!group.pods.empty()) {
      return "waits for " + std::to_string(group.pods.size()) + " old pod(s) to end, first " +
             group.pods.front()->meta.name;
    }
    for (const std::string& name : group.state->incidents) {
      const auto incident = facts_.recoveries.find(name);
      if (incident != facts_.recoveries.end() && !answersOrGone(*incident->second)) {
        return "waits until " + incident->second->node.name +
               " answers or is confirmed gone: an old rank could still run there";
      }
    }
    return "";
  }

  bool answersOrGone(const api::NodeRecovery& incident) const {
    const auto node = facts_.nodes.find(incident.node.name);
    const bool answers =
        node != facts_.nodes.end() && node->second->meta.uid == incident.node.uid && node->second->ready();
    return answers || !incident.open() || incident.status.provider.gone.has_value();
  }

  bool givenBack(const Group& group) const {
    const auto incident =
        facts_.recoveries.find(group.state->incidents.empty() ? "" : group.state->incidents.back());
    if (incident == facts_.recoveries.end()) {
      return false;
    }
    const auto policy = facts_.policies.find(incident->second->policy);
    return policy != facts_.policies.end() &&
           (policy->second->mode == api::Mode::kObserve || !policy->second->resume);
  }

  static bool leftToKueue(const Group& group) {
    return group.job->meta.labels.contains(api::kKueueQueueLabel);
  }

  void wait(const Group& group, const char* reason, const std::string& why) {
    waiting_[group.job->meta.uid] = why;
    tell(group, reason, why);
  }
  void start(const Group& group, ResumePhase phase, const char* reason, const std::string& why) {
    ResumeState next = *group.state;
    next.phase = phase;
    next.since = now_;
    act(Kind::kStart, group, next, reason, why);
  }
  void mark(const Group& group, ResumePhase phase, const char* reason, const std::string& why) {
    ResumeState next = *group.state;
    next.phase = phase;
    next.since = now_;
    act(Kind::kMark, group, next, reason, why);
  }
  void tell(const Group& group, const char* reason, std::string why) {
    steps_.push_back({.kind = Kind::kEvent,
                      .adapter = group.adapter,
                      .job = group.job,
                      .reason = reason,
                      .why = std::move(why)});
  }
  void act(Kind kind, const Group& group, ResumeState next, const char* reason, std::string why) {
    steps_.push_back({.kind = kind,
                      .adapter = group.adapter,
                      .job = group.job,
                      .resume = std::move(next),
                      .reason = reason,
                      .why = std::move(why)});
  }

  const Facts& facts_;
  const TimePoint now_;
  std::vector<Step> steps_;
  std::vector<const Group*> stopped_;           // ours, waiting to start
  std::map<std::string, std::string> waiting_;  // job UID -> for what
};

}  // namespace

std::vector<Step> plan(const Facts& facts, TimePoint now) {
  return Planner(facts, now).run();
}

}  // namespace mainstay::jobs
