#include "sidecar/options.h"

#include <algorithm>
#include <array>

namespace mainstay::sidecar {
namespace {

// PutMetricData takes 1000 values in one call, and each reason is one or two.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricData.html
constexpr std::size_t kMaxCounters = 500;
constexpr Duration kLeastInterval = std::chrono::milliseconds(100);
constexpr Duration kLongestStartupDelay = std::chrono::hours(24);
constexpr std::array<std::string_view, 2> kDimensions = {"InstanceId", "NodeName"};

tl::unexpected<Error> wrong(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

Result<bool> recoveryEnabled(const std::string& text) {
  if (text == "true" || text == "True" || text == "TRUE") {
    return true;
  }
  if (text.empty() || text == "false" || text == "False" || text == "FALSE") {
    return false;
  }
  return wrong("ENABLE_RECOVERY must be \"true\" or \"false\", found \"" + text + "\"");
}

}  // namespace

void addFlags(Flags& flags, Options& options) {
  flags
      .add("startup-delay", options.startupDelay,
           "wait before the first look; a number counts seconds, 1m30s is understood too")
      .addWords("counters", options.counters, "reasons of problem_counter that are errors of the hardware")
      .add("metrics-url", options.metricsUrl, "where the detector serves its metrics")
      .add("interval", options.interval, "between two looks at the metrics")
      .add("publish-interval", options.publishInterval, "between two values of a CloudWatch metric that stays")
      .add("group-interval", options.groupInterval,
           "between two looks at the Auto Scaling group, while the instance has an error")
      .add("publish-zeros", options.publishZeros,
           "also publish 0 for reasons that have not been seen, so that alarms always have data")
      .add("metric-namespace", options.metricNamespace, "namespace of the CloudWatch metrics")
      .add("dimensions", options.dimensions,
           "publish each value with these dimensions as well as without: InstanceId, NodeName")
      .add("max-unhealthy", options.maxUnhealthy,
           "instances of the Auto Scaling group that may be out of service at once, this one included")
      .add("instance-id", options.instanceId,
           "the EC2 instance; else asked of the instance metadata service, else found by NODE_NAME")
      .addChoice("log-format", options.logFormat, {"logfmt", "json"}, "form of the log on standard error")
      .addChoice("log-level", options.logLevel, {"debug", "info", "warning", "error"}, "least level that is logged");
}

Result<Settings> settingsOf(const Options& options, const Environment& environment) {
  Settings settings;
  MAINSTAY_ASSIGN(settings.recover, recoveryEnabled(environment("ENABLE_RECOVERY")));
  settings.counters = {options.counters.begin(), options.counters.end()};
  settings.maxUnhealthy = options.maxUnhealthy;
  settings.publishZeros = options.publishZeros;
  settings.interval = options.interval;
  settings.publishInterval = options.publishInterval;
  settings.groupInterval = options.groupInterval;
  if (settings.counters.empty() || settings.counters.size() > kMaxCounters || settings.counters.contains("")) {
    return wrong("--counters: expected 1 to " + std::to_string(kMaxCounters) +
                 " reasons such as NeuronHasError_DMA_ERROR, none of them empty");
  }
  if (settings.maxUnhealthy < 1) {
    return wrong("--max-unhealthy must be at least 1, which is this instance itself; to mark nothing set "
                 "ENABLE_RECOVERY to \"false\"");
  }
  if (std::min({settings.interval, settings.publishInterval, settings.groupInterval}) < kLeastInterval) {
    return wrong("--interval, --publish-interval and --group-interval must be at least " +
                 formatDuration(kLeastInterval));
  }
  for (const std::string& dimension : options.dimensions) {
    if (std::ranges::find(kDimensions, dimension) == kDimensions.end()) {
      return wrong("--dimensions: expected InstanceId or NodeName, found \"" + dimension + "\"");
    }
  }
  return settings;
}

Result<Duration> startupDelayOf(const Options& options) {
  auto delay = parseDuration(options.startupDelay);
  if (!delay) {
    delay = parseDuration(options.startupDelay + "s");
  }
  if (!delay || *delay < Duration::zero() || *delay > kLongestStartupDelay) {
    return wrong("--startup-delay: expected seconds such as 60, or a duration such as 1m30s, of at most a day; found \"" +
                 options.startupDelay + "\"");
  }
  return *delay;
}

}  // namespace mainstay::sidecar
