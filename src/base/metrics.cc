#include "base/metrics.h"

#include <algorithm>
#include <mutex>
#include <set>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "base/log.h"

namespace mainstay {

namespace {

// Label values may come from log lines: a metric takes this many sets of them and no more.
constexpr std::size_t kMaxSeriesPerMetric = 2000;

// 1 ms to 30 min, about three to a decade: from a patch sent to an instance replaced.
const prometheus::Histogram::BucketBoundaries kSecondsBuckets = {
    0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 60, 120, 300, 600, 1200, 1800};

}  // namespace

struct Metrics::Impl {
  prometheus::Registry registry;
  std::mutex mutex = {};
  std::map<std::string, std::set<MetricLabels>> series = {};  // guarded by mutex

  // False when the metric has as many series as it may have, and this would be one more.
  bool admit(const std::string& name, const MetricLabels& labels) {
    const std::lock_guard lock(mutex);
    auto& known = series[name];
    if (known.contains(labels)) {
      return true;
    }
    if (known.size() == kMaxSeriesPerMetric) {
      logWarning("a metric has too many series, a new one is left out",
                 {{"metric", name}, {"limit", known.size()}});
      return false;
    }
    known.insert(labels);
    return true;
  }

  // The library throws on a name that Prometheus does not allow, and on a second kind for one name.
  template <class Use>
  void guarded(const std::string& name, const MetricLabels& labels, Use use) {
    if (!admit(name, labels)) {
      return;
    }
    try {
      use();
    } catch (const std::exception& error) {
      logError("a metric cannot be kept", {{"metric", name}, {"error", error.what()}});
    }
  }
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}

Metrics::~Metrics() = default;

void Metrics::count(const std::string& name, const std::string& help, const MetricLabels& labels,
                    double add) {
  impl_->guarded(name, labels, [&] {
    prometheus::BuildCounter().Name(name).Help(help).Register(impl_->registry).Add(labels).Increment(add);
  });
}

void Metrics::set(const std::string& name, const std::string& help, const MetricLabels& labels,
                  double value) {
  impl_->guarded(name, labels, [&] {
    prometheus::BuildGauge().Name(name).Help(help).Register(impl_->registry).Add(labels).Set(value);
  });
}

void Metrics::observe(const std::string& name, const std::string& help, const MetricLabels& labels,
                      double seconds) {
  impl_->guarded(name, labels, [&] {
    auto& family = prometheus::BuildHistogram().Name(name).Help(help).Register(impl_->registry);
    family.Add(labels, kSecondsBuckets).Observe(seconds);
  });
}

std::string Metrics::text() const {
  auto families = impl_->registry.Collect();
  for (prometheus::MetricFamily& family : families) {
    std::sort(family.metric.begin(), family.metric.end(),
              [](const auto& a, const auto& b) { return a.label < b.label; });
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace mainstay
