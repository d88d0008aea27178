#include "agent/assembly.h"

#include <algorithm>
#include <map>
#include <set>

#include "agent/log_monitor.h"
#include "agent/probes/assemble.h"
#include "agent/sources/kmsg_thread.h"
#include "base/log.h"

namespace mainstay::agent {
namespace {

constexpr std::size_t kMaxConfigFile = 4u << 20;

using Readers = std::vector<std::unique_ptr<RecordMonitor>>;

tl::unexpected<Error> doesNotStart(const Error& error) {
  return fail(error.code(),
              error.toString() +
                  "\n  The agent does not start with a file that it cannot read: mend it, or leave it "
                  "out.");
}

// The paths of a flag, each once.
class Paths {
 public:
  std::vector<std::string> once(const std::vector<std::string>& paths) {
    std::vector<std::string> fresh;
    for (const std::string& path : paths) {
      if (seen_.insert(path).second) {
        fresh.push_back(path);
      } else {
        logWarning("config file named twice, used once", {{"file", path}});
      }
    }
    return fresh;
  }

 private:
  std::set<std::string> seen_;
};

Result<fault::LogMonitorConfig> readLogMonitor(const std::string& path, const FileSystem& files) {
  MAINSTAY_ASSIGN(const std::string text, files.read(path, kMaxConfigFile));
  auto config = fault::parseLogMonitorConfig(text, path);
  if (!config) {
    return doesNotStart(config.error());
  }
  for (const std::string& warning : config->warnings) {
    logWarning("config accepted, but probably a mistake", {{"file", path}, {"what", warning}});
  }
  return config;
}

std::unique_ptr<Monitor> kernelLogFeed(const std::string& path, Readers readers,
                                       const Surroundings& surroundings) {
  auto make = [path, &clock = surroundings.clock](Signal& signal) -> std::unique_ptr<Source> {
    return std::make_unique<KmsgThread>(
        std::make_unique<KmsgReader>([path] { return openKernelLog(path); }, monotonicTime), clock, signal);
  };
  return std::make_unique<LogFeed>(kernelLogName(), std::move(make), std::move(readers),
                                   surroundings.metrics);
}

}  // namespace

Result<std::vector<std::unique_ptr<Monitor>>> assembleMonitors(const Options& options,
                                                               const Surroundings& surroundings) {
  const TimePoint now = surroundings.clock.now();
  Paths paths;
  Readers kernelLog;
  const auto& logMonitors =
      options.systemLogMonitors.empty() ? options.oldSystemLogMonitors : options.systemLogMonitors;
  for (const std::string& path : paths.once(logMonitors)) {
    MAINSTAY_ASSIGN(fault::LogMonitorConfig config, readLogMonitor(path, surroundings.files));
    if (config.plugin != "kmsg") {
      return fail(Code::kInvalidArgument,
                  path + ": plugin: expected \"kmsg\", the one that this release has, found \"" +
                      config.plugin + "\"");
    }
    const TimePoint start = startTime(now, surroundings.uptime, config.lookback, config.delay);
    MAINSTAY_ASSIGN(LogMonitor monitor, LogMonitor::create(std::move(config), start));
    kernelLog.push_back(std::make_unique<LogMonitor>(std::move(monitor)));
  }
  std::vector<std::unique_ptr<Monitor>> monitors;
  if (!kernelLog.empty()) {
    monitors.push_back(kernelLogFeed(options.kmsgPath, std::move(kernelLog), surroundings));
  }
  MAINSTAY_ASSIGN(auto probes, probes::assembleProbes(options, surroundings));
  std::ranges::move(probes, std::back_inserter(monitors));
  return monitors;
}

}  // namespace mainstay::agent
