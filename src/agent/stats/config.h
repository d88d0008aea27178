// The config file of a system-stats monitor, as node-problem-detector reads it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mainstay::agent::stats {

struct StatsConfig {
  std::string file;
  std::map<std::string, std::string, std::less<>> names;  // Prometheus' by metric id: what is to be shown
  Duration interval{};                                    // invokeInterval
  std::string procPath;                                   // where the kernel's /proc is
  bool rootDisks = false;                                 // includeRootBlk
  bool attachedDisks = false;                             // includeAllAttachedBlk
  Duration usageTimeout{};            // lsblkTimeout: for how long a filesystem may be asked
  std::string knownModulesPath;       // absolute, or as the config file's own path is
  std::string excludeInterfaces;      // a regular expression; "" = none
  std::vector<std::string> warnings;  // what was accepted, but is probably a mistake

  bool wants(std::string_view metricId) const { return names.contains(metricId); }
};

// With Go's tolerance (fault/npd_json.h), and node-problem-detector's defaults. Every error names file, line,
// column and path.
Result<StatsConfig> parseStatsConfig(std::string_view text, const std::string& file);

}  // namespace mainstay::agent::stats
