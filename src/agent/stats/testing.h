// Samples in tests.
#pragma once

#include <optional>
#include <string_view>

#include "agent/stats/metric_table.h"

namespace mainstay::agent::stats {

// nullopt when there is no such sample.
inline std::optional<double> valueOf(const Samples& samples, std::string_view metric,
                                     const MetricLabels& labels = {}) {
  for (const Sample& sample : samples) {
    if (sample.metric == metric && sample.labels == labels) {
      return sample.value;
    }
  }
  return std::nullopt;
}

}  // namespace mainstay::agent::stats
