#include "agent/probes/assemble.h"

#include "agent/probes/instance_type.h"
#include "agent/probes/probe_monitor.h"
#include "base/log.h"

namespace mainstay::agent::probes {
namespace {

constexpr std::size_t kMaxProbesConfig = 1u << 20;

}  // namespace

Result<ProbesConfig> readProbesConfig(const std::string& path, const FileSystem& files) {
  if (path.empty()) {
    return defaultProbesConfig();
  }
  MAINSTAY_ASSIGN(const std::string text, files.read(path, kMaxProbesConfig));
  return parseProbesConfig(text, path);
}

Result<std::vector<std::unique_ptr<Monitor>>> assembleProbes(const ProbesConfig& config,
                                                             const Options& options,
                                                             const Surroundings& surroundings) {
  MAINSTAY_ASSIGN(const auto kinds, chooseProbes(options.probes));
  Host host{HostFiles(surroundings.files, options.hostRoot),
            realHostCalls({options.nvmlProgram, options.hostRoot}), config.instanceType};
  if (host.instanceType.empty()) {
    host.instanceType = instanceTypeOf(host.files);
  }
  const TimePoint booted = surroundings.clock.now() - surroundings.uptime;
  std::vector<std::unique_ptr<Monitor>> monitors;
  for (const ProbeKind* kind : kinds) {
    const ProbeSettings& settings = config.probes.at(kind->name);
    if (settings.on) {
      monitors.push_back(std::make_unique<ProbeMonitor>(*kind, settings, host, booted, surroundings.metrics));
    }
  }
  if (!monitors.empty()) {
    logInfo("probes", {{"number", monitors.size()},
                       {"hostRoot", options.hostRoot},
                       {"instanceType", host.instanceType.empty() ? "unknown" : host.instanceType}});
  }
  return monitors;
}

}  // namespace mainstay::agent::probes
