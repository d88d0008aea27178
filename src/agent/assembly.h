// The monitors that the command line asks for, built.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "agent/monitor.h"
#include "agent/options.h"
#include "base/file_system.h"
#include "base/metrics.h"

namespace mainstay::agent {

// What monitors use of the machine; all outlive them.
struct Surroundings {
  const FileSystem& files;  // outlives the process's threads too: a probe that hangs is left with it
  const Clock& clock;
  Metrics& metrics;
  Duration uptime{};                       // including suspend
  std::optional<LogMark> kernelLogTold{};  // by an earlier run of the agent, in this boot

  // How far back records of the kernel log count: nothing is too old that was not told.
  Duration kernelLookback(Duration usual) const { return kernelLogTold ? uptime : usual; }
};

// Reads every config file, a path that is named twice once, and builds one monitor per source. Files that cannot be used
// are told in the log and by a monitor of their own (agent/bad_files.h), and the others run. The error says what the
// command line contradicts or, with every file and place, that nothing is left to run.
Result<std::vector<std::unique_ptr<Monitor>>> assembleMonitors(const Options& options,
                                                               const Surroundings& surroundings);

}  // namespace mainstay::agent
