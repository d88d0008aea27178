// The command line of mainstay-agent: node-problem-detector's flags with its defaults, and a few of ours.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/node_publisher.h"
#include "base/capabilities.h"
#include "base/file_system.h"
#include "base/flags.h"
#include "base/http_server.h"
#include "kube/config.h"

namespace mainstay::agent {

struct Options {
  // node-problem-detector's.
  std::vector<std::string> systemLogMonitors;
  std::vector<std::string> oldSystemLogMonitors;  // --system-log-monitors, deprecated
  std::vector<std::string> customPluginMonitors;
  std::vector<std::string> oldCustomPluginMonitors;
  std::vector<std::string> systemStatsMonitors;
  std::string stackdriver;
  bool enableK8sExporter = true;
  std::string eventNamespace;
  std::string apiserverOverride;
  Duration apiserverWaitTimeout = std::chrono::minutes(5);
  Duration apiserverWaitInterval = std::chrono::seconds(5);
  Duration heartbeatPeriod = std::chrono::minutes(5);
  bool writeEvents = true;
  bool updateNodeConditions = true;
  double kubeApiQps = 500;
  int kubeApiBurst = 500;
  std::string hostnameOverride;
  std::string address = "127.0.0.1";
  int port = 20256;
  std::string prometheusAddress = "127.0.0.1";
  int prometheusPort = 20257;
  // Accepted without effect: the log is ours.
  int verbosity = 0;
  std::string vmodule;
  bool logtostderr = true;
  // Ours.
  std::string kubeconfig;
  std::vector<std::string> rulePacks;  // "shipped", names of ours, files
  std::string kmsgPath = "/dev/kmsg";
  std::string stateFile;
  std::string bootIdPath = "/proc/sys/kernel/random/boot_id";
  std::vector<std::string> probes;
  std::string probeConfig;
  std::string hostRoot = "/";
  std::string nvmlProgram = "mainstay-nvml";
  bool takeConditions = false;
  std::vector<std::string> alsoConditions;  // vocabularies beside ours: hyperpod, eks
  bool npdStatsCompatibility = false;
  TlsFiles tls;  // of both servers; the client CA is the metrics server's only: the kubelet probes without
  std::string logFormat = "logfmt";
  std::string logLevel = "info";
};

void addFlags(Flags& flags, Options& options);

// What contradicts itself, is missing, or is not in this release.
Result<> checkOptions(const Options& options);

// A variable of the environment; "" when it is not set.
using Environment = std::function<std::string(const std::string& name)>;

// --hostname-override, else NODE_NAME, else the machine's name.
std::string nodeName(const Options& options, const Environment& environment);

// Where the API server is: --apiserver-override
// (scheme://host[:port]?inClusterConfig=false&auth=FILE&insecure=true& useServiceAccount=true), else
// --kubeconfig, else the cluster that we run in. What is named explicitly is final.
Result<kube::Config> apiConfig(const Options& options, const Environment& environment,
                               const FileSystem& files);

// The status server's and the metrics server's; a port <= 0 is off.
HttpServerOptions statusServer(const Options& options);
HttpServerOptions metricsServer(const Options& options);

PublisherSettings publisherSettings(const Options& options, const std::string& nodeName);

// What its sources take, also to be opened again later. All of them where custom plugins run: what a check needs only
// its author knows.
Capabilities neededCapabilities(const Options& options);

}  // namespace mainstay::agent
