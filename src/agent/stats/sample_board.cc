#include "agent/stats/sample_board.h"

#include <algorithm>

namespace mainstay::agent::stats {

SampleBoard::SampleBoard(const StatsConfig& config, bool sums, Metrics& metrics)
    : sums_(sums), metrics_(metrics) {
  for (const Component& component : components()) {
    for (const MetricSpec& spec : component.metrics) {
      if (const auto name = config.names.find(spec.id); name != config.names.end()) {
        shown_.emplace(spec.id, Shown{name->second, &spec});
      }
    }
  }
}

bool SampleBoard::wants(std::string_view source) const {
  return std::ranges::any_of(shown_, [&](const auto& entry) { return entry.second.spec->source == source; });
}

void SampleBoard::show(std::string_view source, const Samples& samples) {
  Series fresh;
  for (const Sample& sample : samples) {
    const auto at = shown_.find(sample.metric);
    if (at == shown_.end()) {
      continue;
    }
    const auto& [name, spec] = at->second;
    const std::string help(spec->help);
    if (spec->kind == MetricKind::kGauge) {
      metrics_.set(name, help, sample.labels, sample.value);
    } else if (spec->kind == MetricKind::kSummedCounter && sums_) {
      metrics_.count(name, help, sample.labels, sample.value);
    } else {
      metrics_.setTotal(name, help, sample.labels, sample.value);
    }
    fresh.emplace(name, sample.labels);
  }
  Series& before = series_[source];
  for (const auto& [name, labels] : before) {
    if (!fresh.contains({name, labels})) {
      metrics_.remove(name, labels);
    }
  }
  before = std::move(fresh);
}

}  // namespace mainstay::agent::stats
