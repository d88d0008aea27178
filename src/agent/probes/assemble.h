// The probes that the command line asks for, built.
#pragma once

#include "agent/assembly.h"

namespace mainstay::agent::probes {

// One monitor per probe; none without --probes. The error names flag, or file and place.
Result<std::vector<std::unique_ptr<Monitor>>> assembleProbes(const Options& options,
                                                             const Surroundings& surroundings);

}  // namespace mainstay::agent::probes
