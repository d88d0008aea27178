// The agent of one node of a simulation: the core of mainstay-agent with the shipped Neuron rules, reading
// the node's kernel log.
#pragma once

#include <memory>

#include "base/loop.h"
#include "local/cluster/cluster.h"

namespace mainstay::local {

// `api` and `clock` outlive it. Fails when the shipped rules cannot be read.
Result<std::shared_ptr<Loop>> simulatedAgent(kube::Api& api, const Boot& boot, const Clock& clock);

}  // namespace mainstay::local
