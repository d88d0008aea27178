// The probes that the command line asks for, built.
#pragma once

#include "agent/assembly.h"
#include "agent/probes/catalog.h"

namespace mainstay::agent::probes {

// The file of --probe-config; "" = the defaults. The error names file and place.
Result<ProbesConfig> readProbesConfig(const std::string& path, const FileSystem& files);

// One monitor per probe; none without --probes. The error names the flag.
Result<std::vector<std::unique_ptr<Monitor>>> assembleProbes(const ProbesConfig& config,
                                                             const Options& options,
                                                             const Surroundings& surroundings);

}  // namespace mainstay::agent::probes
