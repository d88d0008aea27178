// RecoveryPolicy (mainstay.dev/v1alpha1): what may be done to which nodes, and how much of it at once. Its
// status holds the places that are taken: the lock that two leaders share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/object.h"
#include "fault/finding.h"

namespace mainstay::api {

// Observe changes nothing but our own objects. Stricter is greater.
enum class Mode { kObserve, kEnforce };
std::string_view modeName(Mode mode);

// A share of the selected nodes ("20%") or a plain number, and never less than `atLeast`.
struct Limit {
  int max = 0;
  bool percent = false;
  int atLeast = 0;
  int of(int nodes) const;
};

// The condition type that stands for a node whose Ready is not True.
inline constexpr char kNodeLost[] = "NodeLost";

struct FaultRule {
  std::string type;          // condition type, whole
  std::string reason = "*";  // glob: * any text, ? any character
  Duration confirm{};        // how long it must have stood
  fault::RepairAction action = fault::RepairAction::kReplace;
  bool matches(std::string_view faultType, std::string_view faultReason) const;
};

// What a policy without `faults` acts on: the Neuron rules of AWS, and a node that does not answer for two
// minutes.
std::vector<FaultRule> defaultFaults();

enum class Slot { kIsolated, kInRecovery };
std::string_view slotName(Slot slot);

// One place taken by one incident.
struct TakenSlot {
  Slot slot = Slot::kIsolated;
  std::string recovery;  // NodeRecovery
  std::string node;
  TimePoint since{};
  bool operator==(const TakenSlot&) const = default;
};

struct RecoveryPolicy {
  ObjectMeta meta;
  LabelSelector nodes;
  Mode mode = Mode::kObserve;
  std::string provider;  // "local", "aws"; needed to enforce
  Limit isolated{20, true, 1};
  Limit inRecovery{5, true, 1};
  std::optional<int> perHour;  // recoveries begun; absent: see recovery/budget.h
  std::vector<FaultRule> faults = defaultFaults();
  Duration drainDeadline = std::chrono::minutes(10);
  bool resume = true;             // resume.enabled: jobs that opted in are stopped and started as one group
  std::optional<int> maxRetries;  // resume.maxRetries: caps what a job asks for
  std::vector<TakenSlot> active;
};

// Refuses what this release does not implement, by path, as the schema does (deploy/crds).
Result<RecoveryPolicy> decodeRecoveryPolicy(const Json& object);
// status.active.
Json encodeSlots(const std::vector<TakenSlot>& slots);

}  // namespace mainstay::api
