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
  static const RealFileSystem files;  // a probe that hangs at the end is left with it
  const TimePoint now = clock.now();
  const Duration uptime = timeSinceBoot();
  MAINSTAY_TRY(agent::checkOptions(options));

  Metrics metrics;
  agent::StatusBoard board;
  agent::AgentParts parts;
  parts.metrics = &metrics;
  parts.board = &board;
  MAINSTAY_ASSIGN(parts.monitors, agent::assembleMonitors(options, {files, clock, metrics, uptime}));
  MAINSTAY_ASSIGN(const std::string bootId, files.read(options.bootIdPath, 4096));
  parts.machine = {std::string(fault::trim(bootId)), now - uptime};
  parts.publisher = agent::publisherSettings(options, agent::nodeName(options, environmentOf));
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
  logInfo("started", {{"version", MAINSTAY_VERSION}, {"node", agent::nodeName(options, environmentOf)}});
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
