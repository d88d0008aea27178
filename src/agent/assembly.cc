#include "agent/assembly.h"

#include <set>

#include "agent/log_feeds.h"
#include "base/log.h"

namespace mainstay::agent {
namespace {

constexpr std::size_t kMaxConfigFile = 4u << 20;

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

}  // namespace

Result<std::vector<std::unique_ptr<Monitor>>> assembleMonitors(const Options& options,
                                                               const Surroundings& surroundings) {
  Paths paths;
  std::vector<fault::LogMonitorConfig> logMonitors;
  for (const std::string& path : paths.once(options.systemLogMonitors.empty() ? options.oldSystemLogMonitors
                                                                              : options.systemLogMonitors)) {
    MAINSTAY_ASSIGN(fault::LogMonitorConfig config, readLogMonitor(path, surroundings.files));
    logMonitors.push_back(std::move(config));
  }
  return makeLogFeeds(std::move(logMonitors), options.kmsgPath, surroundings);
}

}  // namespace mainstay::agent
