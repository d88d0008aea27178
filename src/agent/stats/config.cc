#include "agent/stats/config.h"

#include <algorithm>

#include "agent/stats/metric_table.h"
#include "base/text.h"
#include "fault/npd_json.h"
#include "fault/pattern.h"

namespace mainstay::agent::stats {
namespace {

using fault::field;

// "" means the default, too.
std::string textOf(const Cursor& cursor, const std::string& fallback) {
  const std::string text = cursor.string("");
  return text.empty() ? fallback : text;
}

Duration positiveDuration(const Cursor& cursor, const std::string& fallback) {
  const std::string text = textOf(cursor, fallback);
  const auto span = parseDuration(text);
  if (!span || *span <= Duration{}) {
    cursor.error("expected a duration above 0s, such as 60s or 1h30m, found \"" + text + "\"");
  }
  return span.value_or(Duration{});
}

void readMetric(const Cursor& metric, std::string_view id, StatsConfig& config) {
  const Cursor displayName = field(metric, "displayName");
  const std::string name = prometheusName(displayName.string(""));
  if (name.empty()) {
    return;  // switched off
  }
  const auto sameName = [&](const auto& entry) { return entry.second == name; };
  if (const auto other = std::ranges::find_if(config.names, sameName); other != config.names.end()) {
    displayName.error("two metrics cannot have one name, and \"" + name + "\" is that of " + other->first);
    return;
  }
  config.names.emplace(id, name);
}

void readMetrics(const Cursor& metrics, const Component& component, StatsConfig& config) {
  std::vector<std::string_view> known;
  std::ranges::transform(component.metrics, std::back_inserter(known), &MetricSpec::id);
  for (const auto& [id, metric] : metrics.members()) {
    if (std::ranges::find(known, id) != known.end()) {
      readMetric(metric, id, config);
    } else {
      config.warnings.push_back(metric.path() + ": there is no such metric, so nothing is shown" +
                                didYouMean(id, known));
    }
  }
}

// node-problem-detector does not start with a part of them.
void requireAllOrNone(const Cursor& metrics, const Component& component, const StatsConfig& config) {
  std::string missing;
  for (const MetricSpec& spec : component.metrics) {
    if (!config.wants(spec.id)) {
      missing += (missing.empty() ? "" : ", ") + std::string(spec.id);
    }
  }
  const bool named = metrics.exists() && metrics.value().is_object() && !metrics.value().get_object().empty();
  if (named && !missing.empty()) {
    metrics.error("expected all " + std::to_string(component.metrics.size()) +
                  " metrics with a displayName, or none; missing: " + missing);
  }
}

std::string besideConfig(const std::string& configFile, const std::string& path) {
  const std::size_t folder = configFile.find_last_of('/') + 1;  // npos + 1 is 0
  return path.starts_with('/') ? path : configFile.substr(0, folder) + path;
}

void readOptions(const Cursor& root, StatsConfig& config) {
  config.interval = positiveDuration(field(root, "invokeInterval"), "60s");
  config.procPath = textOf(field(root, "procPath"), "/proc");
  const Cursor disk = field(root, "disk");
  config.rootDisks = field(disk, "includeRootBlk").boolean(false);
  config.attachedDisks = field(disk, "includeAllAttachedBlk").boolean(false);
  const Cursor timeout = field(disk, "lsblkTimeout");
  config.usageTimeout = positiveDuration(timeout, "5s");
  if (config.usageTimeout > config.interval && config.interval > Duration{}) {
    timeout.error("expected at most invokeInterval, which is " + formatDuration(config.interval) +
                  ", found " + formatDuration(config.usageTimeout));
  }
  config.knownModulesPath = besideConfig(
      config.file,
      textOf(field(field(root, "osFeature"), "knownModulesConfigPath"), "guestosconfig/known-modules.json"));
  const Cursor exclude = field(field(root, "net"), "excludeInterfaceRegexp");
  config.excludeInterfaces = exclude.string("");
  if (const auto pattern = fault::Pattern::compileAnywhere(config.excludeInterfaces); !pattern) {
    exclude.error(pattern.error().message());
  }
}

}  // namespace

Result<StatsConfig> parseStatsConfig(std::string_view text, const std::string& file) {
  MAINSTAY_ASSIGN(const fault::NpdDocument document, fault::parseNpdJson(text, file));
  DecodeErrors errors = document.errors();
  const Cursor root(document.value, errors);

  StatsConfig config;
  config.file = file;
  for (const Component& component : components()) {
    const Cursor metrics = field(field(root, component.key), "metricsConfigs");
    readMetrics(metrics, component, config);
    if (component.key == "net") {
      requireAllOrNone(metrics, component, config);
    }
  }
  readOptions(root, config);
  MAINSTAY_TRY(errors.result());
  return config;
}

}  // namespace mainstay::agent::stats
