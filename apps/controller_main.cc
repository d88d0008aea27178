// mainstay-controller: takes faulty nodes out of service, has them replaced, and brings jobs back as one
// group.
#include <unistd.h>

#include <iostream>
#include <random>

#include "environment.h"

#include "base/crash_point.h"
#include "base/flags.h"
#include "base/http_server.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "base/tls_flags.h"
#include "cloud/aws/aws_provider.h"
#include "cloud/local/local_provider.h"
#include "cloud/testing.h"
#include "jobs/controller.h"
#include "kube/http_api.h"
#include "kube/lease.h"
#include "kube/testing.h"
#include "recovery/controller.h"

namespace mainstay {
namespace {

constexpr int kBadInput = 2;
// Incidents written about at a time. A write takes 5 to 10 ms, three of them isolate a node: eight reach the goal of 100
// nodes a second with room, and are few for an API server that takes hundreds.
constexpr int kWriters = 8;
// A step is many calls of up to ten seconds each while an API server hangs; its lease is lost long before that.
constexpr Duration kStuckAfter = std::chrono::minutes(10);

struct Options {
  std::string kubeconfig;
  std::string context;
  kube::LeaderElector::Options lease;
  std::string metricsAddress = "127.0.0.1";
  int metricsPort = 0;
  TlsFiles tls;
  std::string localCloud;
  cloud::aws::AwsProviderOptions aws;
  std::string logFormat = "logfmt";
  std::string logLevel = "info";
};

void addFlags(Flags& flags, Options& options) {
  flags
      .add("kubeconfig", options.kubeconfig,
           "file that says how to reach the API server; else KUBECONFIG, else the pod's")
      .add("context", options.context, "context of the kubeconfig; else its current one")
      .add("lease-namespace", options.lease.ns, "namespace of the leader lease")
      .add("lease-name", options.lease.name, "name of the leader lease")
      .add("lease-duration", options.lease.leaseDuration, "how long a silent leader keeps the lease")
      .add("lease-renew-deadline", options.lease.renewDeadline, "how long a leader that cannot renew goes on")
      .add("lease-retry-period", options.lease.retryPeriod, "how often the lease is renewed, or asked for")
      .add("metrics-address", options.metricsAddress, "address of the metrics server")
      .add("metrics-port", options.metricsPort, "port of the metrics server; 0 is off")
      .add("local-cloud", options.localCloud,
           "URL of the local cluster's cloud, for policies with provider: local; such a controller reaches "
           "no other")
      .add("aws-respect-grace-period", options.aws.respectGracePeriod,
           "leave an instance alone until its group's health check grace period is over (provider: aws)")
      .addChoice("log-format", options.logFormat, {"logfmt", "json"}, "form of the log on standard error")
      .addChoice("log-level", options.logLevel, {"debug", "info", "warning", "error"},
                 "least level that is logged");
  addTlsFlags(flags, options.tls, "the metrics server", "it lets in, probes of /healthz too");
}

std::string hostName() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

Result<kube::Config> apiConfig(const Options& options, const FileSystem& files) {
  kube::ConfigChoice choice;
  choice.kubeconfig = options.kubeconfig.empty() ? environmentOf("KUBECONFIG") : options.kubeconfig;
  choice.context = options.context;
  choice.serviceHost = environmentOf("KUBERNETES_SERVICE_HOST");
  choice.servicePort = environmentOf("KUBERNETES_SERVICE_PORT");
  return kube::chooseConfig(files, choice);
}

// The provider that policies may name. Both addresses of the local one are loopback: `provider: local` never acts on a
// real cluster. AWS is asked for nothing until a policy names it.
Result<std::unique_ptr<cloud::Provider>> chooseCloud(const Options& options, const std::string& apiServer,
                                                     const FileSystem& files, const Clock& clock,
                                                     std::stop_token stop) {
  if (options.localCloud.empty()) {
    return std::make_unique<cloud::aws::AwsProvider>(
        cloud::aws::realSurroundings(environmentOf, files, clock, std::move(stop)), options.aws);
  }
  MAINSTAY_TRY(cloud::LocalProvider::create(apiServer));
  MAINSTAY_ASSIGN(auto provider, cloud::LocalProvider::create(options.localCloud));
  return provider;
}

// /healthz: 200 "ok" while every loop runs, 503 and why when one hangs.
Result<std::unique_ptr<HttpServer>> serveMetrics(const Options& options, const Metrics& metrics,
                                                 const RealDriver& driver, const Clock& clock) {
  MAINSTAY_TRY(checkTlsFiles(options.tls));
  if (options.metricsPort <= 0) {
    return nullptr;
  }
  return HttpServer::listen(
      {.address = options.metricsAddress, .port = options.metricsPort, .tls = options.tls},
      [&](const HttpRequest& request, HttpReply& reply) {
        const auto text = [&](int status, std::string body) {
          reply.send({status, {{"Content-Type", "text/plain; version=0.0.4"}}, std::move(body)});
        };
        if (request.target == "/metrics") {
          return text(200, metrics.text());
        }
        if (request.target != "/healthz") {
          return text(404, "not found\n");
        }
        const std::string stuck = driver.stuck(clock.now(), kStuckAfter);
        return stuck.empty() ? text(200, "ok\n") : text(503, stuck + "\n");
      });
}

// The doors to the outside, each with the crash point before it that the crash proof asks for.
struct Doors {
  std::unique_ptr<CrashPoint> crash;
  std::optional<kube::CrashingApi> crashingApi;
  std::optional<cloud::CrashingProvider> crashingProvider;
  kube::Api* api = nullptr;
  recovery::Providers providers;
};

Result<> openDoors(Doors& doors, kube::Api& api, cloud::Provider& cloud) {
  doors.api = &api;
  cloud::Provider* provider = &cloud;
  if (const std::string crashAt = environmentOf(kCrashAtVariable); !crashAt.empty()) {
    MAINSTAY_ASSIGN(doors.crash, CrashPoint::parse(crashAt));
    doors.api = &doors.crashingApi.emplace(api, *doors.crash);
    provider = &doors.crashingProvider.emplace(cloud, *doors.crash);
  }
  doors.providers[provider->name()] = provider;
  return {};
}

Result<> runController(Options options) {
  blockInterrupts();
  const SteadyWallClock clock;
  const RealFileSystem files;
  MAINSTAY_ASSIGN(kube::Config config, apiConfig(options, files));
  std::stop_source stopping;
  MAINSTAY_ASSIGN(const auto provider,
                  chooseCloud(options, config.server, files, clock, stopping.get_token()));
  logInfo("using the Kubernetes API", {{"server", config.server}, {"config", config.origin}});
  kube::HttpApi http(std::move(config), files, clock, {.userAgent = "mainstay-controller/" MAINSTAY_VERSION});
  Doors doors;
  MAINSTAY_TRY(openDoors(doors, http, *provider));

  const std::string host = hostName();
  options.lease.identity = host + "_" + std::to_string(std::random_device()());
  kube::LeaderElector elector(http, clock, options.lease);
  kube::LeaderOnlyApi api(*doors.api, elector);
  const auto leading = [&elector] { return elector.leading(); };
  Metrics metrics;
  {
    RealDriver driver(clock);
    MAINSTAY_ASSIGN(const auto server, serveMetrics(options, metrics, driver, clock));
    // The crash proof counts writes: there they come one after another.
    const recovery::Concurrency concurrency{.writers = doors.crash ? 1 : kWriters, .asksAside = !doors.crash};
    const auto nodes =
        std::make_shared<recovery::Controller>(api, doors.providers, host, leading, metrics, concurrency);
    const auto jobs = std::make_shared<jobs::Controller>(api, host, leading);
    driver.start(nodes);
    driver.start(jobs);
    driver.start(std::make_shared<kube::Election>(elector, std::vector<Loop*>{nodes.get(), jobs.get()}));
    logInfo("started", {{"version", MAINSTAY_VERSION}, {"identity", options.lease.identity}});
    logInfo("stopping", {{"signal", waitForInterrupt()}});
    stopping.request_stop();  // a call to AWS under way would hold up the end of its loop
  }
  // Every loop has ended: the next leader need not wait for the lease to run out.
  elector.release();
  return {};
}

}  // namespace
}  // namespace mainstay

int main(int argc, char** argv) {
  using namespace mainstay;
  Options options;
  Flags flags("mainstay-controller",
              "Takes faulty nodes out of service, has them replaced, and brings jobs back as one group.");
  addFlags(flags, options);
  if (const auto code = flags.parse(argc, argv)) {
    return *code;
  }
  configureLog(options.logFormat, options.logLevel);
  if (const Result<> ran = runController(options); !ran) {
    std::cerr << "mainstay-controller: " << ran.error().toString() << "\n";
    return kBadInput;
  }
  return 0;
}
