// Every probe there is, and the settings that a file gives them.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/probes/probe.h"

namespace mainstay::agent::probes {

std::span<const ProbeKind* const> allProbes();

// "all", or names: each must exist. In the order of allProbes(), each once.
Result<std::vector<const ProbeKind*>> chooseProbes(const std::vector<std::string>& names);

struct ProbesConfig {
  std::string instanceType;                     // "" = as the firmware tells it
  std::map<std::string, ProbeSettings> probes;  // all of them, by name
};

ProbesConfig defaultProbesConfig();
// The file of --probe-config over the defaults. Unknown names and values out of bounds are errors, with their
// places.
Result<ProbesConfig> parseProbesConfig(std::string_view text, const std::string& file);

// A Markdown table of all that they can find, for --probes=help and the documentation.
std::string describeProbes();

}  // namespace mainstay::agent::probes
