// Steps: what a plan asks for, as values. The executor carries them out; tests, dry runs and explanations
// read them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/node_recovery.h"
#include "api/recovery_policy.h"
#include "kube/events.h"

namespace mainstay::recovery {

// --- Our own objects ---
struct OpenIncident {
  api::NodeIdentity node;
  api::Resources allocatable;
  std::string policy;
};
// The whole status, but for `jobs`. Guarded: the incident is as it was last seen, and the way between phases
// exists.
struct UpdateIncident {
  api::NodeRecoveryStatus status;
};
struct DeleteIncident {
  std::string uid;
};
// Guarded by the policy's resourceVersion, and by the limits: how many may be taken, ours among them.
struct TakeSlots {
  std::string policy;
  std::map<api::Slot, int> limits;  // the slots to take
  TimePoint since{};
};
struct ReleaseSlots {
  std::string policy;
  std::vector<api::Slot> slots;
};

// --- The node ---
// One patch: label, taint, cordon, fault labels, fault details, our annotation. Refused when the node is not
// this one.
struct IsolateNode {
  api::NodeIdentity node;
  std::vector<fault::Finding> faults;
};
// Takes off what is ours: annotations, fault labels, taint, and the cordon if we set it.
struct RestoreNode {
  std::string uid;
  // The health label afterwards; nullopt removes it, if it is ours.
  std::optional<std::string> label = std::nullopt;
};
struct SetSchedulable {
  std::string uid;
};
struct DeleteNode {
  std::string uid;
};

// --- Its pods ---
struct PodRef {
  std::string ns;
  std::string name;
  std::string uid;
};
struct EvictPod {
  PodRef pod;
};
// Past the drain's deadline, whatever a disruption budget says. The Event DrainBlocked names the budgets over
// it.
struct DeletePod {
  PodRef pod;
};
// The instance is confirmed gone: nobody is left to end this pod.
struct ForceDeletePod {
  PodRef pod;
};

// --- The provider ---
struct MarkUnhealthy {
  std::string provider;
  std::string providerId;
  std::string token;
};
struct MarkHealthy {
  std::string provider;
  std::string providerId;
};

// --- People ---
struct PostEvent {
  kube::EventSubject subject;
  bool warning = false;
  std::string reason;
  std::string message;
};

using Action = std::variant<OpenIncident, UpdateIncident, DeleteIncident, TakeSlots, ReleaseSlots,
                            IsolateNode, RestoreNode, SetSchedulable, DeleteNode, EvictPod, DeletePod,
                            ForceDeletePod, MarkUnhealthy, MarkHealthy, PostEvent>;

struct Step {
  std::string incident;  // NodeRecovery; "" when the step belongs to none
  std::string node;      // "" when the step belongs to none
  Action action;
  std::string reason;
};

// "IsolateNode", for metrics.
std::string_view stepName(const Step& step);
// "IsolateNode node-b", "EvictPod ns/web-1": the same text is the same deed.
std::string describe(const Step& step);
// The later steps of the same incident and node are left out when this one fails.
bool isBarrier(const Step& step);

}  // namespace mainstay::recovery
