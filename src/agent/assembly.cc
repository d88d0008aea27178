#include "agent/assembly.h"

#include <algorithm>
#include <set>

#include "agent/bad_files.h"
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
  if (config) {
    warn(path, config->warnings);
  }
  return config;
}

// The lookback of node-problem-detector's own kernel rules: what an agent that was restarted may have missed.
constexpr Duration kPackLookback = std::chrono::minutes(5);

// What the files of each flag give, and which of them give nothing.
class Assembly {
 public:
  Assembly(const Options& options, const Surroundings& surroundings)
      : options_(options), around_(surroundings) {}

  void addLogFeeds();
  void addStats();
  void addPlugins();
  Result<> addProbes();
  Result<std::vector<std::unique_ptr<Monitor>>> take();

 private:
  Result<> addLogConfig(const std::string& path, LogFeeds& feeds);
  std::vector<fault::Pack> loadPacks();
  Result<> addStatsConfig(const std::string& path);
  Result<> addPluginConfig(const std::string& path);
  // Notes the file as bad when this is an error.
  void note(const std::string& path, const Result<>& used, const std::string& instead);
  tl::unexpected<Error> nothingLeft() const;

  const Options& options_;
  const Surroundings& around_;
  Paths paths_;
  std::vector<std::unique_ptr<Monitor>> monitors_;
  std::vector<BadFile> bad_;
};

void Assembly::note(const std::string& path, const Result<>& used, const std::string& instead) {
  if (!used) {
    bad_.push_back({path, used.error().toString(), instead});
  }
}

void Assembly::addLogFeeds() {
  LogFeeds feeds(options_.kmsgPath, around_);
  for (const std::string& path : paths_.once(
           options_.systemLogMonitors.empty() ? options_.oldSystemLogMonitors : options_.systemLogMonitors)) {
    note(path, addLogConfig(path, feeds), "none of its rules runs");
  }
  if (auto packs = loadPacks(); !packs.empty()) {
    const TimePoint start =
        startTime(around_.clock.now(), around_.uptime, around_.kernelLookback(kPackLookback), Duration{});
    feeds.addKernelLogReader(std::make_unique<PackMonitor>(
        std::move(packs), start, logOutcome,
        probes::neuronWitness(probes::HostFiles(around_.files, options_.hostRoot))));
  }
  std::ranges::move(feeds.build(), std::back_inserter(monitors_));
}

Result<> Assembly::addLogConfig(const std::string& path, LogFeeds& feeds) {
  MAINSTAY_ASSIGN(fault::LogMonitorConfig config,
                  readConfig(path, around_.files, [&](const std::string& text) {
                    return fault::parseLogMonitorConfig(text, path);
                  }));
  return feeds.add(std::move(config));
}

std::vector<fault::Pack> Assembly::loadPacks() {
  std::vector<fault::Pack> packs;
  for (const std::string& name : options_.rulePacks) {
    note(name, fault::layOver(packs, name, around_.files), "the rule packs run without it");
  }
  return packs;
}

void Assembly::addStats() {
  for (const std::string& path : paths_.once(options_.systemStatsMonitors)) {
    note(path, addStatsConfig(path), "none of its statistics is shown");
  }
}

Result<> Assembly::addStatsConfig(const std::string& path) {
  MAINSTAY_ASSIGN(const stats::StatsConfig config,
                  readConfig(path, around_.files,
                             [&](const std::string& text) { return stats::parseStatsConfig(text, path); }));
  const auto counters =
      options_.npdStatsCompatibility ? stats::Counters::kAsNodeProblemDetector : stats::Counters::kTrue;
  MAINSTAY_ASSIGN(auto monitor, stats::StatsMonitor::create(config, counters, around_.files, around_.metrics,
                                                            stats::UsageWatch(config.usageTimeout)));
  monitors_.push_back(std::move(monitor));
  return {};
}

void Assembly::addPlugins() {
  const auto& all = options_.customPluginMonitors.empty() ? options_.oldCustomPluginMonitors
                                                          : options_.customPluginMonitors;
  for (const std::string& path : paths_.once(all)) {
    note(path, addPluginConfig(path), "none of its checks runs");
  }
}

Result<> Assembly::addPluginConfig(const std::string& path) {
  MAINSTAY_ASSIGN(PluginConfig config, readConfig(path, around_.files, [&](const std::string& text) {
                    return parsePluginConfig(text, path, around_.files);
                  }));
  monitors_.push_back(std::make_unique<PluginMonitor>(std::move(config)));
  return {};
}

// Without what their file says, probes look with their own limits: not at all would be blind.
Result<> Assembly::addProbes() {
  auto config = probes::readProbesConfig(options_.probeConfig, around_.files);
  if (!config) {
    note(options_.probeConfig, fail(config.error()), "the probes look as they do without a file");
    config = probes::defaultProbesConfig();
  }
  MAINSTAY_ASSIGN(auto probes, probes::assembleProbes(*config, options_, around_));
  std::ranges::move(probes, std::back_inserter(monitors_));
  return {};
}

tl::unexpected<Error> Assembly::nothingLeft() const {
  std::string all;
  for (const BadFile& file : bad_) {
    all += file.why + "\n";
  }
  return fail(Code::kInvalidArgument,
              all + "  Nothing is left to run, so the agent does not start: mend the file, or leave it out.");
}

Result<std::vector<std::unique_ptr<Monitor>>> Assembly::take() {
  if (bad_.empty()) {
    return std::move(monitors_);
  }
  if (monitors_.empty()) {
    return nothingLeft();
  }
  for (const BadFile& file : bad_) {
    logError("a config file cannot be used",
             {{"file", file.path}, {"error", file.why}, {"meanwhile", file.instead}});
  }
  monitors_.push_back(std::make_unique<BadFilesMonitor>(std::move(bad_)));
  return std::move(monitors_);
}

}  // namespace

Result<std::vector<std::unique_ptr<Monitor>>> assembleMonitors(const Options& options,
                                                               const Surroundings& surroundings) {
  Assembly assembly(options, surroundings);
  assembly.addLogFeeds();
  assembly.addStats();
  assembly.addPlugins();
  MAINSTAY_TRY(assembly.addProbes());
  return assembly.take();
}

}  // namespace mainstay::agent
