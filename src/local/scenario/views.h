// Views: what expectations may say about a thing, as a small document each. Pure projections of a World. What
// stands in each is listed in docs/scenarios.md.
#pragma once

#include <string>
#include <vector>

#include "local/scenario/recording.h"

namespace mainstay::local {

// exists, ready, phase, outcome, label, annotation, condition, taint(s), cordoned, instance.
JsonObject nodeView(const World& world, const std::string& name);
// exists, phase, on.
JsonObject podView(const World& world, const std::string& key);
// exists, suspended, retry, condition, pods, on.
JsonObject jobView(const World& world, const std::string& key);

// One per NodeRecovery: node, phase, outcome, mode, fault, evidence, message, policy.
std::vector<JsonObject> recoveryRows(const World& world);
// One per call or deed: cloud, instance, status, effect, message.
std::vector<JsonObject> cloudRows(const World& world);
// One per Event: event, on, message, component, times.
std::vector<JsonObject> eventRows(const World& world);

// Does a view show what is wanted? Objects: each wanted member (null: absent). A wanted text is a glob;
// against a list, one element must match; a wanted list must be the whole list, in any order.
bool shows(const Json& seen, const Json& wanted);

}  // namespace mainstay::local
