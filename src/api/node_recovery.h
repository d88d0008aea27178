// NodeRecovery (mainstay.dev/v1alpha1): one incident of one node, from the first sight of a fault to its end.
// The record that people read, and all the memory that the recovery has.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/core.h"
#include "api/recovery_policy.h"
#include "fault/finding.h"

namespace mainstay::api {

// kNew: the status was never written. Held waits for a place, or only observes; from Isolated on the node is
// out of service and has a place in recovery. Escalated is still watched. Resolved and Stale are the ends.
enum class Phase {
  kNew,
  kHeld,
  kIsolated,
  kDraining,
  kReplacing,
  kValidating,
  kEscalated,
  kResolved,
  kStale
};
std::string_view phaseName(Phase phase);  // "" for kNew
std::optional<Phase> parsePhase(std::string_view name);
// Jobs with a pod on such a node are stopped.
inline bool isolatedOrLater(Phase phase) {
  return phase >= Phase::kIsolated && phase <= Phase::kEscalated;
}

struct Transition {
  Phase phase = Phase::kNew;
  TimePoint at{};
  std::string reason;
};

// What the provider was asked and has said about the old instance.
struct ProviderRecord {
  std::string name;                 // the policy's provider
  std::string instance;             // "i-0b41"
  std::string group;                // as first seen
  std::string token;                // the incident's UID, written before the call that uses it
  std::optional<TimePoint> intent;  // decided to have it replaced
  std::optional<TimePoint> marked;  // the provider took the mark
  std::optional<TimePoint> gone;    // terminated or absent
  std::string message;              // what stands in the way of a replacement, in the provider's words
};

struct Replacement {
  std::string name;
  std::string uid;
  std::string providerId;
  std::optional<TimePoint> claimed;
};

// Written by the jobs side alone.
struct TouchedJob {
  std::string ns;
  std::string name;
  std::string kind;  // PyTorchJob
  std::string uid;
  int retry = 0;
  std::string state;  // Stopped Resumed Failed, ...
  std::string message;
  std::vector<std::string>
      lost;  // its pods on the node, with their ranks: "llama-mini-worker-0 (rank 1)"; bounded
  std::optional<TimePoint> stopped;
  std::optional<TimePoint> resumed;
  bool operator==(const TouchedJob&) const = default;
};

struct NodeRecoveryStatus {
  Phase phase = Phase::kNew;
  std::string message;  // what it waits for, or why it ended: one sentence
  std::string outcome;  // how it ended: Replaced, Cleared, Released, Stale, ...; "" while open
  Mode mode = Mode::kObserve;
  std::string action;                    // replace
  std::string fault;                     // the first evidence's reason, for tables
  std::vector<fault::Finding> evidence;  // at most kMaxFindings, oldest first
  std::vector<Transition> transitions;   // at most kMaxTransitions, oldest first
  std::optional<TimePoint> since;        // of the phase
  std::optional<TimePoint> isolated;     // our marks were put on the node
  std::optional<TimePoint> started;      // a place in recovery was taken: counts for perHour
  std::optional<TimePoint> deadline;     // of the phase: drain, replacement
  std::optional<TimePoint> closed;
  ProviderRecord provider;
  Replacement replacement;
  std::map<std::string, double> phaseSeconds;  // time per phase, by name; written at the end
  std::vector<TouchedJob> jobs;
};

inline constexpr std::size_t kMaxTransitions = 64;
inline constexpr std::size_t kMaxTouchedJobs = 64;
inline constexpr std::size_t kMaxLostPods = 16;  // one node's worth

struct NodeRecovery {
  ObjectMeta meta;
  NodeIdentity node;      // spec: as it was when the incident was opened; never changes
  Resources allocatable;  // spec
  std::string policy;     // spec
  NodeRecoveryStatus status;

  bool open() const { return status.phase != Phase::kResolved && status.phase != Phase::kStale; }
};

Result<NodeRecovery> decodeNodeRecovery(const Json& object);
// apiVersion, kind, metadata.name and spec: what is created.
Json encodeNodeRecovery(const std::string& name, const NodeIdentity& node, const Resources& allocatable,
                        const std::string& policy);
// The recovery side's status: all of it but `jobs`, absent values as null, so that it can be merged over the
// present one.
JsonObject encodeStatus(const NodeRecoveryStatus& status);
// status.jobs, for the jobs side.
Json encodeTouchedJobs(const std::vector<TouchedJob>& jobs);

}  // namespace mainstay::api
