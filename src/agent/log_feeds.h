// The feeds of log monitors: which logs the configs of node-problem-detector read, and who shares one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/assembly.h"
#include "agent/log_feed.h"
#include "fault/rule.h"

namespace mainstay::agent {

// One per log: the kernel log; the journal of one program; a text file, where configs that take its lines apart in the
// same way share it. `kernelLogReaders` read the kernel log, too. The error names the config whose plugin is not known.
// REQUIRES: the configs come from parseLogMonitorConfig.
Result<std::vector<std::unique_ptr<Monitor>>> makeLogFeeds(
    std::vector<fault::LogMonitorConfig> configs,
    std::vector<std::unique_ptr<RecordMonitor>> kernelLogReaders, const std::string& kmsgPath,
    const Surroundings& surroundings);

}  // namespace mainstay::agent
