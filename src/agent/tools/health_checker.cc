#include "agent/tools/health_checker.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "agent/tools/log_patterns.h"
#include "base/http_client.h"
#include "base/log.h"
#include "base/subprocess.h"
#include "fault/text.h"

namespace mainstay::agent {
namespace {

constexpr Duration kHelperTimeout = std::chrono::seconds(10);
constexpr std::size_t kMaxHelperOutput = 64u << 10;
constexpr std::size_t kMaxHealthAnswer = 1u << 20;

constexpr std::array<std::string_view, 4> kComponents = {"kubelet", "docker", "cri", "kube-proxy"};

Command helper(std::vector<std::string> arguments) {
  return {.arguments = std::move(arguments), .environment = wholeEnvironment()};
}

Result<> expectSuccess(const std::string& program, const Output& output) {
  if (output.status.code == 0) {
    return {};
  }
  const std::string errors = fault::sanitizeUtf8(fault::trim(output.errors));
  return fail(Code::kFailedPrecondition, program + " ended with " + std::to_string(output.status.code) +
                                             (errors.empty() ? "" : ": " + errors));
}

Result<std::string> outputOf(std::vector<std::string> arguments) {
  const std::string program = arguments.front();
  MAINSTAY_ASSIGN(Output output,
                  runApart(helper(std::move(arguments)), Deadline::after(kHelperTimeout), kMaxHelperOutput));
  MAINSTAY_TRY(expectSuccess(program, output));
  return std::move(output.text);
}

// How long ago systemd began to start the service: when it was last active would never come for one that is
// killed before it is. By the clock that nobody sets, whatever the time zone.
Result<Duration> uptimeOf(const std::string& service) {
  constexpr std::string_view kProperty = "InactiveExitTimestampMonotonic";
  MAINSTAY_ASSIGN(const std::string answer,
                  outputOf({"systemctl", "show", service, "--property=" + std::string(kProperty)}));
  std::string_view line = fault::trim(answer);
  std::int64_t started = 0;
  if (line.starts_with(std::string(kProperty) + "=")) {
    line.remove_prefix(kProperty.size() + 1);
    std::from_chars(line.data(), line.data() + line.size(), started);
  }
  if (started <= 0) {
    return fail(Code::kFailedPrecondition, "systemctl does not know when " + service +
                                               " was started (has this machine a service of that name?)");
  }
  return std::chrono::floor<Duration>(std::chrono::steady_clock::now().time_since_epoch()) -
         Duration(started);
}

// A component that answers wrongly, late or not at all is unhealthy; when it cannot be asked, its health is
// not known.
Result<bool> answersOverHttp(const std::string& endpoint, Duration timeout) {
  HttpClient client({.connectTimeout = timeout, .maxBody = kMaxHealthAnswer});
  const auto response = client.send({.target = endpoint}, Deadline::after(timeout));
  if (response) {
    logInfo("asked", {{"endpoint", endpoint}, {"status", response->status}});
    return response->status == 200;
  }
  if (response.error().code() == Code::kInvalidArgument) {
    return fail(response.error());
  }
  logInfo("no answer", {{"endpoint", endpoint}, {"error", response.error()}});
  return false;
}

Result<bool> answersToCommand(std::vector<std::string> arguments, Duration timeout) {
  const std::string program = arguments.front();
  const auto output = runApart(helper(std::move(arguments)), Deadline::after(timeout), kMaxHelperOutput);
  if (!output && output.error().code() != Code::kDeadlineExceeded) {
    return fail(output.error());
  }
  const Result<> answered = output ? expectSuccess(program, *output) : fail(output.error());
  if (!answered) {
    logInfo("no answer", {{"error", answered.error()}});
  }
  return answered.has_value();
}

Result<bool> componentAnswers(const HealthCheckerOptions& options, const Environment& environment) {
  const Duration timeout = options.healthCheckTimeout;
  if (options.component == "docker") {
    return answersToCommand({"docker", "ps"}, timeout);
  }
  if (options.component == "cri") {
    return answersToCommand({options.crictlPath, "--timeout=" + formatDuration(options.criTimeout),
                             "--runtime-endpoint=" + options.criSocketPath, "pods", "--latest"},
                            timeout);
  }
  return answersOverHttp(healthEndpoint(options.component, environment), timeout);
}

Result<bool> logIsQuiet(const HealthCheckerOptions& options, const std::vector<LogPattern>& patterns,
                        TimePoint now) {
  if (patterns.empty()) {
    return true;
  }
  MAINSTAY_ASSIGN(Duration back, uptimeOf(options.service));
  if (options.loopbackTime > Duration(0)) {
    back = std::min(back, options.loopbackTime);
  }
  const auto since = std::chrono::floor<std::chrono::seconds>(now - back).time_since_epoch().count();
  LineCounter counter(patterns);
  MAINSTAY_ASSIGN(const Output output,
                  runStreaming(
                      helper({"journalctl", "--quiet", "--unit", options.service, "--since",
                              "@" + std::to_string(since)}),
                      [&](std::string_view piece) { counter.take(piece); }, Deadline::after(kHelperTimeout)));
  MAINSTAY_TRY(expectSuccess("journalctl", output));
  counter.finish();
  const std::string complaint = counter.complaint();
  if (!complaint.empty()) {
    logInfo("the log is not quiet", {{"service", options.service}, {"pattern", complaint}});
  }
  return complaint.empty();
}

Result<bool> isHealthy(const HealthCheckerOptions& options, const std::vector<LogPattern>& patterns,
                       const Environment& environment, TimePoint now) {
  MAINSTAY_ASSIGN(const bool answers, componentAnswers(options, environment));
  return answers ? logIsQuiet(options, patterns, now) : Result<bool>(false);
}

// As well as it goes: whether it helped, the next check tells.
void repair(const HealthCheckerOptions& options) {
  const auto uptime = uptimeOf(options.service);
  if (!uptime) {
    logError("not repaired: how long it has run is not known", {{"error", uptime.error()}});
    return;
  }
  if (*uptime <= options.cooldownTime) {
    logInfo("not repaired: it has just been started",
            {{"service", options.service}, {"uptime", formatDuration(*uptime)}});
    return;
  }
  logWarning("killing it", {{"service", options.service}, {"uptime", formatDuration(*uptime)}});
  if (options.component == "docker") {  // it writes its stacks to its log
    if (const auto dumped = outputOf({"pkill", "-SIGUSR1", "dockerd"}); !dumped) {
      logError("no stack dump of dockerd", {{"error", dumped.error()}});
    }
  }
  if (const auto killed = outputOf({"systemctl", "kill", "--kill-who=main", options.service}); !killed) {
    logError("not killed", {{"error", killed.error()}});
  }
}

Result<> completeOptions(HealthCheckerOptions& options) {
  if (std::ranges::find(kComponents, options.component) == kComponents.end()) {
    return fail(Code::kInvalidArgument, "--component: expected kubelet, docker, cri or kube-proxy, found \"" +
                                            options.component + "\"");
  }
  if (options.component == "cri" && (options.crictlPath.empty() || options.criSocketPath.empty())) {
    return fail(Code::kInvalidArgument, "--crictl-path and --cri-socket-path cannot be empty for cri");
  }
  if (!options.oldService.empty()) {
    logWarning("--systemd-service is the deprecated name of --service");
  }
  if (options.service.empty()) {
    options.service = options.oldService;
  }
  if (options.service.empty()) {
    options.service = options.component == "cri" ? "containerd" : options.component;
  }
  return {};
}

}  // namespace

void addFlags(Flags& flags, HealthCheckerOptions& options) {
  flags.add("component", options.component, "what to check: kubelet, docker, cri, kube-proxy")
      .add("service", options.service, "its systemd service; else the component's name, containerd for cri")
      .add("systemd-service", options.oldService, "deprecated: --service")
      .add("enable-repair", options.enableRepair, "kill the service's main process when it is unhealthy")
      .add("crictl-path", options.crictlPath, "crictl, for cri")
      .add("cri-socket-path", options.criSocketPath, "where the container runtime listens, for cri")
      .add("cri-timeout", options.criTimeout, "crictl's own time limit")
      .add("cooldown-time", options.cooldownTime, "no repair before the service has run for so long")
      .add("loopback-time", options.loopbackTime,
           "how far back the service's log is searched; 0: to its start")
      .add("health-check-timeout", options.healthCheckTimeout, "a component that is slower is unhealthy")
      .add("log-pattern", options.logPatterns,
           "COUNT:PATTERN: unhealthy when so many lines of the service's log match (as grep -i)");
}

std::string healthEndpoint(const std::string& component, const Environment& environment) {
  const auto value = [&](const char* name, const char* fallback) {
    const std::string set = environment(name);
    return set.empty() ? std::string(fallback) : set;
  };
  const bool kubelet = component == "kubelet";
  const std::string port = kubelet ? value("KUBELET_PORT", "10248") : value("KUBEPROXY_PORT", "10256");
  std::string host = value("HOST_ADDRESS", "localhost");
  if (host.find(':') != std::string::npos) {
    host = "[" + host + "]";
  }
  return "http://" + host + ":" + port + (kubelet ? "/healthz" : "/livez");
}

HealthReport checkHealth(HealthCheckerOptions options, const Environment& environment, TimePoint now) {
  constexpr int kUnhealthy = 1;
  constexpr int kNotKnown = 2;
  if (const Result<> complete = completeOptions(options); !complete) {
    return {kNotKnown, complete.error().toString()};
  }
  const auto patterns = parseLogPatterns(options.logPatterns);
  if (!patterns) {
    return {kNotKnown, patterns.error().toString()};
  }
  const auto healthy = isHealthy(options, *patterns, environment, now);
  if (!healthy) {
    return {kNotKnown, "error checking " + options.component + " health: " + healthy.error().toString()};
  }
  if (*healthy) {
    return {};
  }
  if (options.enableRepair) {
    repair(options);
  }
  return {kUnhealthy, options.component + ":" + options.service +
                          " was found unhealthy; repair flag : " + (options.enableRepair ? "true" : "false")};
}

}  // namespace mainstay::agent
