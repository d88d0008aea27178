// The command line and environment of mainstay-recovery: those of AWS's Neuron recovery agent, and a few of ours.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/flags.h"
#include "sidecar/plan.h"

namespace mainstay::sidecar {

struct Options {
  // AWS's.
  std::string startupDelay = "60";
  std::vector<std::string> counters = {
      "NeuronHasError_DMA_ERROR", "NeuronHasError_HANG_ON_COLLECTIVES", "NeuronHasError_HBM_UNCORRECTABLE_ERROR",
      "NeuronHasError_NC_UNCORRECTABLE_ERROR", "NeuronHasError_SRAM_UNCORRECTABLE_ERROR"};
  // Ours.
  std::string metricsUrl = "http://127.0.0.1:20257/metrics";
  Duration interval = Settings().interval;
  Duration publishInterval = Settings().publishInterval;
  Duration groupInterval = Settings().groupInterval;
  bool publishZeros = false;
  int maxUnhealthy = Settings().maxUnhealthy;
  std::string metricNamespace = "NeuronHealthCheck";
  std::vector<std::string> dimensions;
  std::string instanceId;
  std::string logFormat = "logfmt";
  std::string logLevel = "info";
};

void addFlags(Flags& flags, Options& options);

// A variable of the environment; "" when it is not set.
using Environment = std::function<std::string(const std::string& name)>;

// ENABLE_RECOVERY allows marking. What contradicts itself or is out of bounds is an error.
Result<Settings> settingsOf(const Options& options, const Environment& environment);

// A plain number counts seconds, as AWS's chart has it; else a Go duration.
Result<Duration> startupDelayOf(const Options& options);

}  // namespace mainstay::sidecar
