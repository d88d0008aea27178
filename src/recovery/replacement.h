// Replacement: which node takes the old one's place, and whether it may.
#pragma once

#include <string>

#include "recovery/fleet.h"

namespace mainstay::recovery {

// The instance that takes the old one's place was launched after this: after our mark, or, where the old one
// was ending before we came to mark it, after the fault was first seen.
TimePoint launchedAfter(const api::NodeRecovery& incident, const api::NodeRecoveryStatus& status);

// The first unclaimed Ready node of the same group that was launched later; nullptr when there is none yet.
// `promised`: UIDs that the plan in the making has given to others.
const api::Node* findReplacement(const Fleet& fleet, const FleetIndex& index,
                                 const api::NodeRecovery& incident, const api::NodeRecoveryStatus& status,
                                 const std::set<std::string>& promised);

// This unlabelled node may be what an open incident waits for: it is left to that incident.
bool mayBeAwaited(const Fleet& fleet, const api::Node& node);

// It has joined since an incident that waits for a replacement last had an answer: time to ask again.
bool unknownToAnswers(const Fleet& fleet, const api::Node& node);

// "aws.amazon.com/neuron: 15 of 16" for the first device that the new node offers fewer of; "" when it offers
// enough.
std::string missingDevices(const api::Resources& old, const api::Resources& now);

// Why the group launches nothing, in the provider's words: what holds the group, or the newest activity since then
// failed. "" when neither.
std::string replacementTrouble(const cloud::Group& group, TimePoint since);

}  // namespace mainstay::recovery
