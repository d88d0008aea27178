#include "agent/options.h"

#include <linux/capability.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "agent/vocabulary.h"
#include "base/tls_flags.h"

namespace mainstay::agent {
namespace {

constexpr char kServiceAccountToken[] = "/var/run/secrets/kubernetes.io/serviceaccount/token";

tl::unexpected<Error> wrong(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

struct Override {
  std::string server;  // scheme://host[:port]
  bool inCluster = true;
  bool insecure = false;
  bool useServiceAccount = false;
  std::string auth;  // a kubeconfig
};

Result<bool> boolParameter(const Query& query, const char* key, bool fallback) {
  const std::string text = queryValue(query, key);
  if (text.empty()) {
    return fallback;
  }
  if (text == "true" || text == "false" || text == "1" || text == "0") {
    return text == "true" || text == "1";
  }
  return wrong(std::string("--apiserver-override: ") + key + " must be true or false, found \"" + text +
               "\"");
}

Result<Override> parseOverride(const std::string& uri) {
  Override result;
  const std::size_t question = uri.find('?');
  result.server = uri.substr(0, question);
  while (result.server.ends_with('/')) {
    result.server.pop_back();
  }
  const std::size_t scheme = result.server.find("://");
  const bool known = result.server.starts_with("http://") || result.server.starts_with("https://");
  if (!result.server.empty() && (!known || scheme + 3 >= result.server.size())) {
    return wrong("--apiserver-override: expected http[s]://host[:port], found \"" + result.server + "\"");
  }
  const Query query = parseQuery(question == std::string::npos ? "" : uri.substr(question + 1));
  MAINSTAY_ASSIGN(result.inCluster, boolParameter(query, "inClusterConfig", true));
  MAINSTAY_ASSIGN(result.insecure, boolParameter(query, "insecure", false));
  MAINSTAY_ASSIGN(result.useServiceAccount, boolParameter(query, "useServiceAccount", false));
  result.auth = queryValue(query, "auth");
  if (!result.auth.empty() && result.inCluster) {
    return wrong("--apiserver-override: auth is only used together with inClusterConfig=false");
  }
  return result;
}

Result<kube::Config> inCluster(const Environment& environment, const FileSystem& files) {
  const std::string host = environment("KUBERNETES_SERVICE_HOST");
  if (host.empty()) {
    return wrong(
        "this is not a pod of a cluster (KUBERNETES_SERVICE_HOST is not set): name the API server with "
        "--kubeconfig "
        "or --apiserver-override, or switch the exporter off with --enable-k8s-exporter=false");
  }
  return kube::inClusterConfig(files, host, environment("KUBERNETES_SERVICE_PORT"));
}

Result<kube::Config> overriddenConfig(const Override& choice, const Environment& environment,
                                      const FileSystem& files) {
  kube::Config config;
  if (choice.inCluster) {
    MAINSTAY_ASSIGN(config, inCluster(environment, files));
  } else if (!choice.auth.empty()) {
    MAINSTAY_ASSIGN(config, kube::loadKubeconfig(files, choice.auth));
  } else if (choice.server.empty()) {
    return wrong("--apiserver-override: inClusterConfig=false needs a server or auth=FILE");
  }
  if (!choice.server.empty()) {
    config.server = choice.server;
  }
  if (choice.insecure) {
    config.verifyTls = false;
  }
  if (choice.useServiceAccount) {
    config.tokenFile = kServiceAccountToken;
  }
  config.origin = "--apiserver-override";
  return config;
}

}  // namespace

void addFlags(Flags& flags, Options& options) {
  flags.add("config.system-log-monitor", options.systemLogMonitors, "config files of log monitors")
      .add("system-log-monitors", options.oldSystemLogMonitors, "deprecated: --config.system-log-monitor")
      .add("config.custom-plugin-monitor", options.customPluginMonitors,
           "config files of custom-plugin monitors")
      .add("custom-plugin-monitors", options.oldCustomPluginMonitors,
           "deprecated: --config.custom-plugin-monitor")
      .add("config.system-stats-monitor", options.systemStatsMonitors,
           "config files of system stats monitors")
      .add("enable-k8s-exporter", options.enableK8sExporter, "report to the Kubernetes API")
      .add("event-namespace", options.eventNamespace, "namespace of Events; empty: default")
      .add("apiserver-override", options.apiserverOverride,
           "scheme://host[:port]?inClusterConfig=false&auth=KUBECONFIG&insecure=true&useServiceAccount=true")
      .add("apiserver-wait-timeout", options.apiserverWaitTimeout,
           "when an API server that does not answer at the start is an error (it is tried on)")
      .add("apiserver-wait-interval", options.apiserverWaitInterval,
           "how often it is tried meanwhile, at least")
      .add("k8s-exporter-heartbeat-period", options.heartbeatPeriod,
           "conditions are written at least so often")
      .add("k8s-exporter-write-events", options.writeEvents, "write Events")
      .add("k8s-exporter-update-node-conditions", options.updateNodeConditions, "write node conditions")
      .add("kube-api-qps", options.kubeApiQps, "requests per second to the API server")
      .add("kube-api-burst", options.kubeApiBurst, "requests at once to the API server")
      .add("hostname-override", options.hostnameOverride, "node name; else NODE_NAME, else the host name")
      .add("address", options.address, "address of the status server (/healthz, /readyz, /conditions)")
      .add("port", options.port, "its port; <= 0 switches it off")
      .add("prometheus-address", options.prometheusAddress,
           "address of the metrics server (/metrics, /healthz, /readyz)")
      .add("prometheus-port", options.prometheusPort, "its port; <= 0 switches it off")
      .addHidden("exporter.stackdriver", options.stackdriver)
      .add("v", options.verbosity, "accepted without effect, see --log-level")
      .addHidden("vmodule", options.vmodule)
      .add("logtostderr", options.logtostderr, "accepted without effect: the log goes to standard error")
      .add("kubeconfig", options.kubeconfig, "how to reach the API server, instead of the cluster we run in")
      .add("rule-packs", options.rulePacks,
           "our own rules for the kernel log: shipped, the name of one pack, or files; later ones are laid "
           "over earlier")
      .add("kmsg-path", options.kmsgPath, "the kernel log: a device, or the socket of a stand-in")
      .add("state-file", options.stateFile,
           "file in which a run leaves to the next one of the same boot how far it read the kernel log, and "
           "what "
           "stands; empty: none")
      .add("boot-id-path", options.bootIdPath, "file that holds the id of this boot")
      .add("probes", options.probes, "probes of devices to run: names, or all; help lists what each finds")
      .add("probe-config", options.probeConfig, "YAML file of thresholds and intervals of probes")
      .add("host-root", options.hostRoot, "where probes find the host's files")
      .add("nvml-program", options.nvmlProgram, "the child in which the probe nvidia asks the NVIDIA driver")
      .add("take-conditions", options.takeConditions,
           "also write conditions that another field manager owns, such as a node-problem-detector before us")
      .add("also-conditions", options.alsoConditions,
           "publish what is found as conditions of these vocabularies, too: hyperpod, eks")
      .add("npd-stats-compatibility", options.npdStatsCompatibility,
           "counters of system stats monitors with node-problem-detector's values: sums of all samples, and "
           "ticks for seconds")
      .addChoice("log-format", options.logFormat, {"logfmt", "json"}, "form of the log")
      .addChoice("log-level", options.logLevel, {"debug", "info", "warning", "error"}, "least level logged");
  addTlsFlags(flags, options.tls, "the status and the metrics server", "may read the metrics");
}

Result<> checkOptions(const Options& options) {
  if (!options.systemLogMonitors.empty() && !options.oldSystemLogMonitors.empty()) {
    return wrong(
        "--system-log-monitors is the deprecated name of --config.system-log-monitor: give only one of them");
  }
  if (!options.customPluginMonitors.empty() && !options.oldCustomPluginMonitors.empty()) {
    return wrong(
        "--custom-plugin-monitors is the deprecated name of --config.custom-plugin-monitor: give only one of "
        "them");
  }
  if (!options.stackdriver.empty()) {
    return wrong("--exporter.stackdriver: the Stackdriver exporter is not in this release");
  }
  if (options.systemLogMonitors.empty() && options.oldSystemLogMonitors.empty() &&
      options.systemStatsMonitors.empty() && options.rulePacks.empty() &&
      options.customPluginMonitors.empty() && options.oldCustomPluginMonitors.empty() &&
      options.probes.empty()) {
    return wrong(
        "no monitor is configured: use our rules with --rule-packs=shipped, or name a rule file with "
        "--config.system-log-monitor=FILE, for example rules/neuron/kernel-monitor.json, or a file of checks "
        "with --config.custom-plugin-monitor=FILE, or name probes with --probes");
  }
  if (!options.enableK8sExporter && options.prometheusPort <= 0) {
    return wrong(
        "no exporter is on: what is found would go nowhere. Leave out --enable-k8s-exporter=false, or give "
        "--prometheus-port");
  }
  if (!options.kubeconfig.empty() && !options.apiserverOverride.empty()) {
    return wrong("--kubeconfig and --apiserver-override both name the API server: give only one of them");
  }
  MAINSTAY_TRY(checkVocabularies(options.alsoConditions));
  MAINSTAY_TRY(checkTlsFiles(options.tls));
  if (options.heartbeatPeriod < std::chrono::seconds(1)) {
    return wrong("--k8s-exporter-heartbeat-period must be at least 1s");
  }
  return {};
}

std::string nodeName(const Options& options, const Environment& environment) {
  if (!options.hostnameOverride.empty()) {
    return options.hostnameOverride;
  }
  if (std::string name = environment("NODE_NAME"); !name.empty()) {
    return name;
  }
  std::array<char, 256> host{};
  return ::gethostname(host.data(), host.size() - 1) == 0 ? std::string(host.data()) : "localhost";
}

Result<kube::Config> apiConfig(const Options& options, const Environment& environment,
                               const FileSystem& files) {
  if (!options.apiserverOverride.empty()) {
    MAINSTAY_ASSIGN(const Override choice, parseOverride(options.apiserverOverride));
    return overriddenConfig(choice, environment, files);
  }
  if (!options.kubeconfig.empty()) {
    return kube::loadKubeconfig(files, options.kubeconfig);
  }
  return inCluster(environment, files);
}

HttpServerOptions statusServer(const Options& options) {
  // The status server is part of the Kubernetes exporter, as in node-problem-detector.
  return {.address = options.address,
          .port = options.enableK8sExporter ? options.port : 0,
          .tls = {options.tls.certificate, options.tls.key, ""}};
}

HttpServerOptions metricsServer(const Options& options) {
  return {.address = options.prometheusAddress, .port = options.prometheusPort, .tls = options.tls};
}

PublisherSettings publisherSettings(const Options& options, const std::string& nodeName) {
  PublisherSettings settings;
  settings.nodeName = nodeName;
  settings.eventNamespace = options.eventNamespace;
  settings.heartbeat = options.heartbeatPeriod;
  settings.writeEvents = options.writeEvents;
  settings.updateConditions = options.updateNodeConditions;
  settings.takeConditions = options.takeConditions;
  settings.waitInterval = options.apiserverWaitInterval;
  settings.waitTimeout = options.apiserverWaitTimeout;
  return settings;
}

Capabilities neededCapabilities(const Options& options) {
  if (!options.customPluginMonitors.empty() || !options.oldCustomPluginMonitors.empty()) {
    return kAllCapabilities;
  }
  // Logs, certificates and kubeconfigs may belong to other users.
  Capabilities needed = capability(CAP_DAC_READ_SEARCH);
  if (!options.rulePacks.empty() || !options.systemLogMonitors.empty() ||
      !options.oldSystemLogMonitors.empty()) {
    needed |= capability(CAP_SYSLOG);
  }
  if (!options.probes.empty()) {
    needed |= capability(CAP_SYS_ADMIN) | capability(CAP_SYS_PTRACE) | capability(CAP_SYS_RAWIO);
  }
  const auto isLow = [](int port) { return port > 0 && port < 1024; };
  if (isLow(options.port) || isLow(options.prometheusPort)) {
    needed |= capability(CAP_NET_BIND_SERVICE);
  }
  return needed;
}

}  // namespace mainstay::agent
