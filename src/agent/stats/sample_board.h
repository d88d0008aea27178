// SampleBoard: samples as Prometheus metrics, under the names that a config gives them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "agent/stats/config.h"
#include "agent/stats/metric_table.h"
#include "base/metrics.h"

namespace mainstay::agent::stats {

// Owned and used by one loop.
class SampleBoard {
 public:
  // `metrics` outlives it. `sums`: counters that node-problem-detector sums up show the sum of all samples,
  // as there.
  SampleBoard(const StatsConfig& config, bool sums, Metrics& metrics);

  // Whether the config names a metric of this source.
  bool wants(std::string_view source) const;
  // Shows what the source says now. What it said before and does not say any more (a disk that was removed,
  // everything when it cannot be read) goes.
  void show(std::string_view source, const Samples& samples);

 private:
  struct Shown {
    std::string name;
    const MetricSpec* spec;
  };
  using Series = std::set<std::pair<std::string, MetricLabels>>;

  const bool sums_;
  Metrics& metrics_;
  std::map<std::string_view, Shown> shown_;                 // by metric id
  std::map<std::string_view, Series, std::less<>> series_;  // by source
};

}  // namespace mainstay::agent::stats
