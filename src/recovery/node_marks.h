// The marks of an incident on its Node, in HyperPod's words: what is put on, and what is taken off. Pure.
#pragma once

#include <string>
#include <vector>

#include "fault/finding.h"
#include "kube/node_patch.h"

namespace mainstay::recovery {

// The annotation sagemaker.amazonaws.com/fault-details: an array of {timestamp, type, reason, message},
// oldest first.
std::string faultDetails(const std::vector<fault::Finding>& faults);

// Label, taint, cordon, fault labels, fault details, and our annotation naming the incident. `node` as it is
// now: a cordon that is there already is not ours.
kube::NodeChange isolation(const Json& node, const std::string& incident,
                           const std::vector<fault::Finding>& faults);

// All of it back, but only what is ours. `label`: the health label afterwards; nullopt removes it if we wrote
// it.
kube::NodeChange restoration(const Json& node, const std::optional<std::string>& label);

// Our annotation is there, or we wrote the health label.
bool bearsOurMarks(const Json& node);

}  // namespace mainstay::recovery
