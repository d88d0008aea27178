// A child process that goes on printing, such as neuron-monitor, read piece by piece.
#pragma once

#include "agent/probes/host_calls.h"

namespace mainstay::agent::probes {

// A name without a folder is looked for in PATH, then in the folder of AWS's Neuron tools.
Result<ReadStream> startStream(const std::string& program);

}  // namespace mainstay::agent::probes
