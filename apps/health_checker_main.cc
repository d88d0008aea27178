// health-checker: the check of kubelet, kube-proxy and the container runtime that node-problem-detector's
// configs run.
#include <iostream>

#include "environment.h"

#include "agent/tools/health_checker.h"
#include "base/log.h"

int main(int argc, char** argv) {
  using namespace mainstay;
  agent::HealthCheckerOptions options;
  Flags flags("health-checker",
              "Exits with 0 when a component of this node is healthy, 1 when it is not, 2 when that is not "
              "known.");
  agent::addFlags(flags, options);
  int verbosity = 0;
  std::string vmodule;
  bool logtostderr = true;
  flags.add("v", verbosity, "accepted without effect")
      .addHidden("vmodule", vmodule)
      .add("logtostderr", logtostderr, "accepted without effect: the log goes to standard error");
  if (const auto code = flags.parse(argc, argv)) {
    return *code;
  }
  configureLog(LogFormat::kLogfmt, LogLevel::kInfo);
  const agent::HealthReport report = agent::checkHealth(options, environmentOf, SteadyWallClock().now());
  if (!report.text.empty()) {
    std::cout << report.text << "\n";
  }
  return report.exitCode;
}
