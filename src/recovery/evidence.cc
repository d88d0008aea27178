#include "recovery/evidence.h"

#include <algorithm>

#include "api/names.h"
#include "fault/text.h"

namespace mainstay::recovery {
namespace {

const api::FaultRule* ruleFor(const api::RecoveryPolicy& policy, const fault::Finding& finding) {
  const auto rule = std::ranges::find_if(policy.faults, [&](const api::FaultRule& candidate) {
    return candidate.matches(finding.type, finding.reason) ||
           std::ranges::any_of(finding.also, [&](const fault::ForeignName& name) {
             return candidate.matches(name.type, name.reason);
           });
  });
  return rule == policy.faults.end() ? nullptr : &*rule;
}

fault::Finding fromCondition(const api::Node& node, const api::Condition& condition, std::string type) {
  fault::Finding finding;
  finding.id = type + "/" + condition.reason;
  finding.type = std::move(type);
  finding.reason = condition.reason;
  finding.bootId = node.bootId;
  finding.instance = node.providerId.empty() ? node.meta.uid : node.providerId;
  finding.first = finding.last = condition.lastTransition;
  finding.line = fault::cutUtf8(condition.message, fault::kMaxFindingLine);
  return finding;
}

// A finding of another machine that once had this Node object says nothing about this one.
bool isOf(const fault::Finding& finding, const api::Node& node) {
  return finding.instance.empty() || finding.instance == node.providerId || finding.instance == node.meta.uid;
}

bool conditionStands(const api::Node& node, const std::string& type) {
  const api::Condition* condition = node.condition(type);
  return condition && condition->status == "True";
}

// A node that never was Ready is still starting. We know it was when it carries the health label.
std::optional<fault::Finding> nodeLost(const api::Node& node, const api::RecoveryPolicy& policy) {
  const api::Condition* ready = node.condition("Ready");
  const bool wasReady =
      policy.mode == api::Mode::kObserve || node.meta.labels.contains(api::kHealthStatusLabel);
  if (!ready || ready->status == "True" || !wasReady) {
    return std::nullopt;
  }
  return fromCondition(node, *ready, api::kNodeLost);
}

// Every fault of the node, whatever the policy says about it.
std::vector<fault::Finding> allFaults(const api::Node& node, const api::RecoveryPolicy& policy,
                                      std::string& trouble) {
  std::vector<fault::Finding> faults;
  Result<std::vector<fault::Finding>> findings =
      fault::decodeFindings(node.meta.annotation(api::kFindingsAnnotation));
  if (findings) {
    for (fault::Finding& finding : *findings) {
      if (isOf(finding, node) && conditionStands(node, finding.type)) {
        faults.push_back(std::move(finding));
      }
    }
  } else {
    trouble = findings.error().with(std::string("annotation ") + api::kFindingsAnnotation).toString();
  }
  for (const api::Condition& condition : node.conditions) {
    const bool told = std::ranges::any_of(
        faults, [&](const fault::Finding& finding) { return finding.isToldBy(condition.type); });
    if (api::tellsFault(condition) && !told) {
      faults.push_back(fromCondition(node, condition, condition.type));
    }
  }
  if (std::optional<fault::Finding> lost = nodeLost(node, policy)) {
    faults.push_back(*std::move(lost));
  }
  return faults;
}

bool sameFault(const fault::Finding& a, const fault::Finding& b) {
  return a.id == b.id && a.type == b.type && a.reason == b.reason && a.device == b.device;
}

// Past the bounds of its record an incident keeps the faults that opened it: dropping the oldest for each new
// one would write without end.
bool fitsTheRecord(const std::vector<fault::Finding>& evidence) {
  const Result<std::vector<fault::Finding>> kept = fault::decodeFindings(fault::encodeFindings(evidence));
  return kept && kept->size() == evidence.size();
}

}  // namespace

Standing standingFaults(const api::Node& node, const api::RecoveryPolicy& policy, TimePoint now) {
  Standing standing;
  for (fault::Finding& finding : allFaults(node, policy, standing.trouble)) {
    const api::FaultRule* rule = ruleFor(policy, finding);
    if (!rule) {
      continue;
    }
    if (const TimePoint confirmed = finding.first + rule->confirm; confirmed > now) {
      standing.wake = std::min(standing.wake, confirmed);
    } else {
      finding.also.clear();  // they were for the policy
      standing.faults.push_back(std::move(finding));
    }
  }
  return standing;
}

std::optional<fault::Finding> personRequest(const api::Node& node, TimePoint now) {
  if (node.meta.label(api::kHealthStatusLabel) != api::kPendingReplacement ||
      !node.meta.annotation(api::kRecoveryAnnotation).empty()) {
    return std::nullopt;
  }
  fault::Finding finding;
  finding.id = kPersonRequest;
  finding.type = kPersonRequest;
  finding.reason = api::kPendingReplacement;
  finding.bootId = node.bootId;
  finding.first = finding.last = now;
  finding.line = std::string("label ") + api::kHealthStatusLabel + "=" + api::kPendingReplacement;
  return finding;
}

bool covers(const std::vector<fault::Finding>& evidence, const fault::Finding& fault) {
  return std::ranges::any_of(evidence, [&](const fault::Finding& known) {
    return sameFault(known, fault) && known.last >= fault.last;
  });
}

bool addEvidence(std::vector<fault::Finding>& evidence, const std::vector<fault::Finding>& standing) {
  bool added = false;
  for (const fault::Finding& fault : standing) {
    const bool known = std::ranges::any_of(
        evidence, [&](const fault::Finding& present) { return sameFault(present, fault); });
    if (known) {
      continue;
    }
    std::vector<fault::Finding> more = evidence;
    more.push_back(fault);
    std::ranges::stable_sort(more, {}, &fault::Finding::last);  // as it will be read back
    if (fitsTheRecord(more)) {
      evidence = std::move(more);
      added = true;
    }
  }
  return added;
}

void refreshEvidence(std::vector<fault::Finding>& evidence, const std::vector<fault::Finding>& standing) {
  std::erase_if(evidence, [&](const fault::Finding& known) {
    return std::ranges::any_of(standing,
                               [&](const fault::Finding& fault) { return sameFault(known, fault); });
  });
  addEvidence(evidence, standing);
}

std::string describeFault(const fault::Finding& finding) {
  const std::string name = finding.reason.empty() ? finding.type : finding.type + "/" + finding.reason;
  return finding.device.empty() ? name : name + " on device " + finding.device;
}

}  // namespace mainstay::recovery
