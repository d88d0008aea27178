// Which faults of a node stand now and are to be acted on: from the agent's findings, from conditions that
// another detector set, from a node that does not answer, and from a person's label.
#pragma once

#include <string>
#include <vector>

#include "api/core.h"
#include "api/node_recovery.h"
#include "api/recovery_policy.h"

namespace mainstay::recovery {

// The type of the evidence that stands for a person's request.
inline constexpr char kPersonRequest[] = "PersonRequest";

struct Standing {
  std::vector<fault::Finding> faults;
  TimePoint wake = kNever;  // when a fault that has not yet been confirmed will be
  std::string trouble;      // the findings annotation could not be read; conditions were
};

// Faults of `node` that `policy` acts on, confirmed as it asks.
Standing standingFaults(const api::Node& node, const api::RecoveryPolicy& policy, TimePoint now);

// The health label asks for a replacement, and our annotation is not there: a person's request, as HyperPod
// documents it.
std::optional<fault::Finding> personRequest(const api::Node& node, TimePoint now);

// What an incident already knows about is not new: same fault, not seen again since.
bool covers(const std::vector<fault::Finding>& evidence, const fault::Finding& fault);

// Adds what is new, in the order of its record and within its bounds. True when something was added.
bool addEvidence(std::vector<fault::Finding>& evidence, const std::vector<fault::Finding>& standing);

// Brings what is known up to what stands now, and adds what is new: afterwards it covers every standing fault.
void refreshEvidence(std::vector<fault::Finding>& evidence, const std::vector<fault::Finding>& standing);

// "NeuronHealth/NeuronHasError_DMA_ERROR on device 3".
std::string describeFault(const fault::Finding& finding);

}  // namespace mainstay::recovery
