// The health checker that node-problem-detector's custom plugins run: is a component of the node well? One
// that is not, and has run for long enough, is killed for systemd to start it again.
#pragma once

#include <string>
#include <vector>

#include "agent/options.h"
#include "base/flags.h"

namespace mainstay::agent {

struct HealthCheckerOptions {
  std::string component = "kubelet";  // kubelet, docker, cri, kube-proxy
  std::string service;                // systemd's name of it; "" = as the component, containerd for cri
  std::string oldService;             // --systemd-service, deprecated
  bool enableRepair = true;
  std::string crictlPath = "/usr/bin/crictl";
  std::string criSocketPath = "unix:///var/run/containerd/containerd.sock";
  Duration criTimeout = std::chrono::seconds(2);
  Duration cooldownTime = std::chrono::minutes(2);
  Duration loopbackTime{};  // how far back its log is searched; 0 = to its start
  Duration healthCheckTimeout = std::chrono::seconds(10);
  std::vector<std::string> logPatterns;  // "<count>:<pattern>"
};

void addFlags(Flags& flags, HealthCheckerOptions& options);

// Where kubelet or kube-proxy says how it is, by HOST_ADDRESS, KUBELET_PORT and KUBEPROXY_PORT.
std::string healthEndpoint(const std::string& component, const Environment& environment);

struct HealthReport {
  int exitCode = 0;  // 0 healthy, 1 unhealthy, 2 not known
  std::string text;  // for standard output; "" when healthy
};
// Asks the component and its log, and repairs. Blocks: for healthCheckTimeout, and 10 s per helper program
// (systemctl, journalctl, pkill).
HealthReport checkHealth(HealthCheckerOptions options, const Environment& environment, TimePoint now);

}  // namespace mainstay::agent
