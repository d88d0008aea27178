#include "base/metrics.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <set>
#include <type_traits>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "base/log.h"

namespace mainstay {

namespace {

// Label values may come from log lines: a metric takes this many sets of them and no more. The largest honest
// one is the time of each of 1,920 processors in ten stages.
constexpr std::size_t kMaxSeriesPerMetric = 20'000;

// 1 ms to 30 min, about three to a decade: from a patch sent to an instance replaced.
const prometheus::Histogram::BucketBoundaries kSecondsBuckets = {
    0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 60, 120, 300, 600, 1200, 1800};

}  // namespace

struct Metrics::Impl {
  struct Series {
    std::set<MetricLabels> known = {};
    std::function<void(const MetricLabels&)> remove = {};
  };

  prometheus::Registry registry;
  std::mutex mutex = {};                      // also for a series' life: the library's references end with it
  std::map<std::string, Series> series = {};  // by metric; guarded by mutex

  // False when the metric has as many series as it may have, and this would be one more.
  static bool admits(const std::string& name, const Series& all, const MetricLabels& labels) {
    if (all.known.size() < kMaxSeriesPerMetric || all.known.contains(labels)) {
      return true;
    }
    logWarning("a metric has too many series, a new one is left out",
               {{"metric", name}, {"limit", all.known.size()}});
    return false;
  }

  // Gives `use` the metric's family. The library throws on a name that Prometheus does not allow, and on a
  // second kind for one name.
  template <class Builder, class Use>
  void withFamily(Builder builder, const std::string& name, const std::string& help,
                  const MetricLabels& labels, Use use) {
    const std::lock_guard lock(mutex);
    Series& all = series[name];
    if (!admits(name, all, labels)) {
      return;
    }
    try {
      auto& family = builder.Name(name).Help(help).Register(registry);
      use(family);
      all.known.insert(labels);
      if (!all.remove) {
        all.remove = [&family](const MetricLabels& which) { removeFrom(family, which); };
      }
    } catch (const std::exception& error) {
      logError("a metric cannot be kept", {{"metric", name}, {"error", error.what()}});
    }
  }

  // The library finds a series by making it, if it is not there.
  template <class Family>
  static void removeFrom(Family& family, const MetricLabels& labels) {
    if constexpr (std::is_same_v<Family, prometheus::Family<prometheus::Histogram>>) {
      family.Remove(&family.Add(labels, kSecondsBuckets));
    } else {
      family.Remove(&family.Add(labels));
    }
  }
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}

Metrics::~Metrics() = default;

void Metrics::count(const std::string& name, const std::string& help, const MetricLabels& labels,
                    double add) {
  impl_->withFamily(prometheus::BuildCounter(), name, help, labels,
                    [&](auto& family) { family.Add(labels).Increment(add); });
}

void Metrics::set(const std::string& name, const std::string& help, const MetricLabels& labels,
                  double value) {
  impl_->withFamily(prometheus::BuildGauge(), name, help, labels,
                    [&](auto& family) { family.Add(labels).Set(value); });
}

void Metrics::setTotal(const std::string& name, const std::string& help, const MetricLabels& labels,
                       double total) {
  impl_->withFamily(prometheus::BuildCounter(), name, help, labels, [&](auto& family) {
    prometheus::Counter* counter = &family.Add(labels);
    if (total < counter->Value()) {  // a counter of the library only rises
      family.Remove(counter);
      counter = &family.Add(labels);
    }
    counter->Increment(total - counter->Value());
  });
}

void Metrics::observe(const std::string& name, const std::string& help, const MetricLabels& labels,
                      double seconds) {
  impl_->withFamily(prometheus::BuildHistogram(), name, help, labels,
                    [&](auto& family) { family.Add(labels, kSecondsBuckets).Observe(seconds); });
}

void Metrics::remove(const std::string& name, const MetricLabels& labels) {
  const std::lock_guard lock(impl_->mutex);
  const auto at = impl_->series.find(name);
  if (at != impl_->series.end() && at->second.known.erase(labels) > 0) {
    at->second.remove(labels);
  }
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
