// Facts and Group: the world as last read, and in it each job together with its pods and what its annotations
// say.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/node_recovery.h"
#include "api/recovery_policy.h"
#include "jobs/adapter.h"
#include "jobs/fit.h"
#include "jobs/resume_state.h"

namespace mainstay::jobs {

// By name or "ns/name", as the watch caches keep them.
struct Facts {
  const Objects<api::Node>& nodes;
  const Objects<api::Pod>& pods;
  const Objects<api::NodeRecovery>& recoveries;
  const Objects<api::RecoveryPolicy>& policies;
  struct Kind {
    const Adapter* adapter;
    const Objects<Job>* jobs;
  };
  std::vector<Kind> kinds;
};

struct Group {
  const Adapter* adapter;
  std::shared_ptr<const Job> job;
  std::vector<std::shared_ptr<const api::Pod>> pods;  // all that bear its name, whatever their phase
  OptIn optIn;
  std::optional<ResumeState> state;  // nullopt: never touched by us, or unreadable
  std::string stateError;            // why the annotation cannot be read

  // Its unfinished pods on the very node of the incident; a node that came back under the same name is
  // another one.
  std::vector<const api::Pod*> podsOn(const Facts& facts, const api::NodeRecovery& incident) const;
  // Whether one of its pods is there, finished or not.
  bool touches(const Facts& facts, const api::NodeRecovery& incident) const;
  // "llama-mini-worker-0 (rank 1)".
  std::string nameOf(const api::Pod& pod) const;
  // Pods that are not on a node yet, by replica.
  std::vector<int> missingPods() const;
  // The retries that the annotation and the policies of `incidents` allow.
  int retryLimit(const Facts& facts, const std::vector<std::string>& incidents) const;
};

std::vector<Group> readGroups(const Facts& facts);

}  // namespace mainstay::jobs
