// What the texts of /proc, /sys and os-release say, as samples of node-problem-detector's metrics. Pure. They
// take valid UTF-8. A text that is not what the kernel writes is an error that quotes it; a value that an
// older kernel does not have is left out.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/stats/metric_table.h"
#include "base/result.h"
#include "fault/pattern.h"

namespace mainstay::agent::stats {

// /proc/loadavg.
Result<Samples> loadSamples(std::string_view loadavg);

// The kernel's unit of time in /proc/stat, on every architecture.
inline constexpr double kTicksPerSecond = 100;
// /proc/stat. cpu/usage_time is in units of `usageTicks` ticks: 100 for seconds.
Result<Samples> cpuSamples(std::string_view stat, double usageTicks = kTicksPerSecond);

// /proc/meminfo.
Result<Samples> memorySamples(std::string_view meminfo);

// /proc/net/dev, without the interfaces whose name `exclude` matches somewhere; nullptr excludes none.
Result<Samples> netSamples(std::string_view netDev, const fault::Pattern* exclude);

// /proc/uptime.
Result<Samples> hostSamples(std::string_view uptime, const std::string& kernelVersion,
                            const std::string& osVersion);
// "debian 12 (bookworm)" of os-release. A distribution that node-problem-detector does not know is told the
// same way; "unknown" when the text names none.
std::string osVersion(std::string_view osRelease);

// /proc/cmdline and /proc/modules. The modules that are `known` may be out of tree or proprietary.
Samples osFeatureSamples(std::string_view cmdline, std::string_view modules,
                         const std::set<std::string, std::less<>>& known);
// A list of {"moduleName": ...}.
Result<std::set<std::string, std::less<>>> parseKnownModules(std::string_view json, const std::string& file);

}  // namespace mainstay::agent::stats
