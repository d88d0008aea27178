// Finding: one fault of one node as the agent understood it, and what should be done about it. Travels from
// the agent to the controller in the node annotation `mainstay.dev/findings`, in the same patch as its
// condition.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace mainstay::fault {

// What cures a fault, mildest first. The order is the escalation order.
enum class RepairAction { kNone, kRestartApp, kReset, kReboot, kReplace };
std::string_view actionName(RepairAction action);  // none restart-app reset reboot replace
std::optional<RepairAction> parseAction(std::string_view name);

// How bad. Unknown is its own value: it is kept and shown, never acted on, never healthy. Info is for the record,
// a warning is worth a trend, an error hurts a workload, and fatal says that a device or a node cannot be used.
enum class Severity { kUnknown, kInfo, kWarning, kError, kFatal };
std::string_view severityName(Severity severity);
std::optional<Severity> parseSeverity(std::string_view name);

// What makes a condition False again: evidence of recovery (or a new boot, where evidence is gathered anew),
// a new boot, or only a new instance. The Neuron rules say kInstance: a reboot does not launder a bad chip.
enum class ClearOn { kEvidence, kBoot, kInstance };
std::string_view clearOnName(ClearOn clearOn);  // evidence boot instance
std::optional<ClearOn> parseClearOn(std::string_view name);

// What another system calls a fault: its condition type and its reason. "" = it has no word for it.
struct ForeignName {
  std::string type;
  std::string reason;
  bool operator==(const ForeignName&) const = default;
};

// EKS' node conditions, which are True while all is well; every other condition but the kubelet's Ready is True while
// something is not.
bool isReadyCondition(std::string_view type);

struct Finding {
  std::string id;                             // stable over repetitions: "<rule>@<device>"
  std::string type;                           // node condition type, "NeuronHealth"
  std::string reason;                         // "NeuronHasError_DMA_ERROR"
  std::string faultClass;                     // "neuron", "gpu", ...; JSON key `class`; "" = not told
  std::string device;                         // "3", "0000:4e:00.0"; "" = the node
  RepairAction action = RepairAction::kNone;  // what the rule proposes
  std::string rule;                           // "neuron-monitor.json#rules[3]"
  std::uint64_t seq = 0;                      // kernel log record of the first sight
  std::string bootId;
  std::string instance;  // whose fault it is: Node.spec.providerID, or the Node's UID where there is none
  TimePoint first{};
  TimePoint last{};
  std::uint64_t count = 1;
  std::string line;  // at most 256 bytes, valid UTF-8
  // The same fault in the node conditions of other vocabularies: one fault, however many conditions tell it.
  std::vector<ForeignName> also = {};

  // Whether a condition of this type tells of it.
  bool isToldBy(std::string_view conditionType) const;
};

// Which of two findings of one condition it speaks of: the strongest action, of equals the one that came first, so
// that a condition does not change its words for every sibling of a fault.
bool isWorse(const Finding& a, const Finding& b);

std::string findingId(const std::string& rule, const std::string& device);

// Bounds of the annotation: the newest 20 findings, at most 16 KiB of JSON.
inline constexpr std::size_t kMaxFindings = 20;
inline constexpr std::size_t kMaxFindingsBytes = 16 << 10;
inline constexpr std::size_t kMaxFindingLine = 256;

// One of them, as it stands in the annotation. Strict about types, lenient about unknown keys; mistakes go to the cursor.
JsonObject encodeFinding(const Finding& finding);
Finding decodeFinding(const Cursor& element);

// The annotation's text: a JSON array, oldest first, cut to the bounds by dropping the oldest.
std::string encodeFindings(std::vector<Finding> findings);
// The error says which element and key.
Result<std::vector<Finding>> decodeFindings(std::string_view annotation);

}  // namespace mainstay::fault
