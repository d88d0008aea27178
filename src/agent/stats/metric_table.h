// The metrics of a system-stats monitor: node-problem-detector's ids, kinds and help texts.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/metrics.h"

namespace mainstay::agent::stats {

enum class MetricKind {
  kGauge,
  kCounter,
  // A counter, too. node-problem-detector adds what it reads each time, which counts from the boot already,
  // to what it shows, so that its value is the sum of all samples.
  kSummedCounter,
};

struct MetricSpec {
  std::string_view id;  // in a config: "cpu/load_1m"
  MetricKind kind;
  std::string_view source;  // the file of /proc that tells it, or "statvfs"
  std::string_view help;
};

// What one object of a config ("cpu") can name.
struct Component {
  std::string_view key;
  std::span<const MetricSpec> metrics;
};
std::span<const Component> components();

// One value of a metric. What the labels do not tell apart is one series.
struct Sample {
  std::string_view metric;  // its id
  MetricLabels labels;
  double value = 0;
};
using Samples = std::vector<Sample>;

// The name that Prometheus gets to see of a config's `displayName`, as node-problem-detector's exporter makes
// it: "cpu/load_1m" is cpu_load_1m.
std::string prometheusName(std::string_view displayName);

}  // namespace mainstay::agent::stats
