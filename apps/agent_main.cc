// mainstay-agent: finds faults of a node, in its logs and devices, and tells Kubernetes.
#include <iostream>
#include <optional>

#include "environment.h"

#include "agent/agent.h"
#include "agent/assembly.h"
#include "agent/options.h"
#include "agent/probes/catalog.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/memory.h"
#include "fault/text.h"
#include "kube/http_api.h"

namespace mainstay {
namespace {

constexpr int kBadInput = 2;
// The first patch, its retries and the look back into the log are over by then.
constexpr Duration kStartup = std::chrono::seconds(30);

// Serves unless the port is off.
Result<std::unique_ptr<HttpServer>> serve(const HttpServerOptions& options, HttpServer::Handler handler) {
  if (options.port <= 0) {
    return nullptr;
  }
  return HttpServer::listen(options, std::move(handler));
}

Result<> runAgent(const agent::Options& options) {
  blockInterrupts();
  const SteadyWallClock clock;
  static RealFileSystem files;  // what hangs at the end, a probe or a write, is left with it
  const TimePoint now = clock.now();
  const Duration uptime = timeSinceBoot();
  MAINSTAY_TRY(agent::checkOptions(options));
  if (const Result<> given = keepCapabilities(agent::neededCapabilities(options)); !given) {
    logWarning("goes on with more rights than it needs", {{"error", given.error().toString()}});
  }

  MAINSTAY_ASSIGN(const std::string bootId, files.read(options.bootIdPath, 4096));
  const agent::StateOwner owner{agent::nodeName(options, environmentOf),
                                {std::string(fault::trim(bootId)), now - uptime}};
  auto saved = agent::loadState(files, options.stateFile, owner).value_or(agent::SavedState{});

  Metrics metrics;
  agent::StatusBoard board;
  agent::AgentParts parts;
  parts.metrics = &metrics;
  parts.board = &board;
  MAINSTAY_ASSIGN(parts.monitors,
                  agent::assembleMonitors(options, {files, clock, metrics, uptime, saved.kernelLog}));
  parts.machine = owner.machine;
  parts.publisher = agent::publisherSettings(options, owner.node);
  parts.saved = std::move(saved);
  if (!options.stateFile.empty()) {
    parts.keeper = std::make_unique<agent::StateKeeper>(agent::keepInFile(files, options.stateFile), owner);
  }
  parts.alsoConditions = options.alsoConditions;
  std::optional<kube::HttpApi> api;
  if (options.enableK8sExporter) {
    MAINSTAY_ASSIGN(kube::Config config, agent::apiConfig(options, environmentOf, files));
    logInfo("reporting to the Kubernetes API", {{"server", config.server}, {"config", config.origin}});
    api.emplace(std::move(config), files, clock,
                kube::HttpApiOptions{.userAgent = "mainstay-agent/" MAINSTAY_VERSION,
                                     .qps = options.kubeApiQps,
                                     .burst = options.kubeApiBurst});
    parts.api = &*api;
  }
  MAINSTAY_ASSIGN(const auto status, serve(agent::statusServer(options), statusHandler(board, clock)));
  MAINSTAY_ASSIGN(const auto exposition,
                  serve(agent::metricsServer(options), agent::metricsHandler(metrics, board, clock)));
  RealDriver driver(clock);
  driver.start(std::make_shared<agent::Agent>(std::move(parts), now));
  logInfo("started", {{"version", MAINSTAY_VERSION}, {"node", owner.node}});
  std::optional<int> signal = waitForInterrupt(kStartup);
  if (!signal) {
    releaseStartupMemory();
    signal = waitForInterrupt();
  }
  logInfo("stopping", {{"signal", *signal}});
  return {};
}

}  // namespace
}  // namespace mainstay

int main(int argc, char** argv) {
  using namespace mainstay;
  agent::Options options;
  Flags flags("mainstay-agent", "Finds faults of a node, in its logs and devices, and tells Kubernetes.");
  agent::addFlags(flags, options);
  if (const auto code = flags.parse(argc, argv)) {
    return *code;
  }
  if (options.probes == std::vector<std::string>{"help"}) {
    std::cout << agent::probes::describeProbes();
    return 0;
  }
  configureLog(options.logFormat, options.logLevel);
  if (const Result<> ran = runAgent(options); !ran) {
    std::cerr << "mainstay-agent: " << ran.error().toString() << "\n";
    return kBadInput;
  }
  return 0;
}
