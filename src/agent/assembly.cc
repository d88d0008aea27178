#include "agent/assembly.h"

#include <algorithm>
#include <set>

#include "agent/log_feeds.h"
#include "agent/log_monitor.h"
#include "agent/monitors/plugin/plugin_monitor.h"
#include "agent/pack_monitor.h"
#include "agent/probes/assemble.h"
#include "agent/probes/neuron_witness.h"
#include "agent/stats/stats_monitor.h"
#include "base/log.h"
#include "fault/shipped_packs.h"

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

void warn(const std::string& path, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    logWarning("config accepted, but probably a mistake", {{"file", path}, {"what", warning}});
  }
}

// Any of node-problem-detector's config files: `parse` reads its text.
template <class Parse>
auto readConfig(const std::string& path, const FileSystem& files, Parse parse) -> decltype(parse(path)) {
  MAINSTAY_ASSIGN(const std::string text, files.read(path, kMaxConfigFile));
  auto config = parse(text);
  if (!config) {
    return doesNotStart(config.error());
  }
  warn(path, config->warnings);
  return config;
}

// The lookback of node-problem-detector's own kernel rules: what an agent that was restarted may have missed.
constexpr Duration kPackLookback = std::chrono::minutes(5);

Result<std::unique_ptr<RecordMonitor>> packMonitor(const Options& options, const Surroundings& surroundings) {
  auto packs = fault::loadPacks(options.rulePacks, surroundings.files);
  if (!packs) {
    return doesNotStart(packs.error());
  }
  const TimePoint start = startTime(surroundings.clock.now(), surroundings.uptime,
                                    surroundings.kernelLookback(kPackLookback), Duration{});
  return std::make_unique<PackMonitor>(
      *std::move(packs), start, logOutcome,
      probes::neuronWitness(probes::HostFiles(surroundings.files, options.hostRoot)));
}

Result<std::unique_ptr<Monitor>> statsMonitor(const std::string& path, const Options& options,
                                              const Surroundings& surroundings) {
  MAINSTAY_ASSIGN(const stats::StatsConfig config,
                  readConfig(path, surroundings.files,
                             [&](const std::string& text) { return stats::parseStatsConfig(text, path); }));
  const auto counters =
      options.npdStatsCompatibility ? stats::Counters::kAsNodeProblemDetector : stats::Counters::kTrue;
  auto monitor = stats::StatsMonitor::create(config, counters, surroundings.files, surroundings.metrics,
                                             stats::UsageWatch(config.usageTimeout));
  if (!monitor) {
    return doesNotStart(monitor.error());
  }
  return *std::move(monitor);
}

}  // namespace

Result<std::vector<std::unique_ptr<Monitor>>> assembleMonitors(const Options& options,
                                                               const Surroundings& surroundings) {
  Paths paths;
  std::vector<fault::LogMonitorConfig> logMonitors;
  for (const std::string& path : paths.once(options.systemLogMonitors.empty() ? options.oldSystemLogMonitors
                                                                              : options.systemLogMonitors)) {
    MAINSTAY_ASSIGN(fault::LogMonitorConfig config,
                    readConfig(path, surroundings.files, [&](const std::string& text) {
                      return fault::parseLogMonitorConfig(text, path);
                    }));
    logMonitors.push_back(std::move(config));
  }
  std::vector<std::unique_ptr<RecordMonitor>> packs;
  if (!options.rulePacks.empty()) {
    MAINSTAY_ASSIGN(auto monitor, packMonitor(options, surroundings));
    packs.push_back(std::move(monitor));
  }
  MAINSTAY_ASSIGN(auto monitors,
                  makeLogFeeds(std::move(logMonitors), std::move(packs), options.kmsgPath, surroundings));
  for (const std::string& path : paths.once(options.systemStatsMonitors)) {
    MAINSTAY_ASSIGN(auto monitor, statsMonitor(path, options, surroundings));
    monitors.push_back(std::move(monitor));
  }
  const auto& pluginMonitors =
      options.customPluginMonitors.empty() ? options.oldCustomPluginMonitors : options.customPluginMonitors;
  for (const std::string& path : paths.once(pluginMonitors)) {
    MAINSTAY_ASSIGN(PluginConfig config, readConfig(path, surroundings.files, [&](const std::string& text) {
                      return parsePluginConfig(text, path, surroundings.files);
                    }));
    monitors.push_back(std::make_unique<PluginMonitor>(std::move(config)));
  }
  MAINSTAY_ASSIGN(auto probes, probes::assembleProbes(options, surroundings));
  std::ranges::move(probes, std::back_inserter(monitors));
  return monitors;
}

}  // namespace mainstay::agent
