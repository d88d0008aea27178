#include <array>
#include <map>

#include "agent/proc_text.h"
#include "agent/stats/collectors.h"

namespace mainstay::agent::stats {
namespace {

constexpr double kBytesPerKiB = 1024;

struct MemoryRow {
  std::string_view metric;
  const char* state;  // nullptr: the metric has no labels
  std::string_view key;
};
constexpr std::array<MemoryRow, 11> kMemoryRows = {{{"memory/bytes_used", "free", "MemFree"},
                                                    {"memory/bytes_used", "buffered", "Buffers"},
                                                    {"memory/bytes_used", "cached", "Cached"},
                                                    {"memory/bytes_used", "slab", "Slab"},
                                                    {"memory/anonymous_used", "active", "Active(anon)"},
                                                    {"memory/anonymous_used", "inactive", "Inactive(anon)"},
                                                    {"memory/page_cache_used", "active", "Active(file)"},
                                                    {"memory/page_cache_used", "inactive", "Inactive(file)"},
                                                    {"memory/unevictable_used", nullptr, "Unevictable"},
                                                    {"memory/dirty_used", "dirty", "Dirty"},
                                                    {"memory/dirty_used", "writeback", "Writeback"}}};

// "MemTotal:       24683652 kB".
std::map<std::string_view, double> kibibytesOf(std::string_view meminfo) {
  std::map<std::string_view, double> values;
  for (const std::string_view line : linesOf(meminfo)) {
    const auto words = wordsOf(line);
    const auto value = words.size() >= 2 ? numberOf(words[1]) : std::nullopt;
    if (value && words[0].ends_with(':')) {
      values[words[0].substr(0, words[0].size() - 1)] = *value;
    }
  }
  return values;
}

// What is left of the total; nullopt when a part of it is not told.
std::optional<double> usedOf(const std::map<std::string_view, double>& values, double total) {
  for (const std::string_view part : {"MemFree", "Buffers", "Cached", "Slab"}) {
    const auto at = values.find(part);
    if (at == values.end()) {
      return std::nullopt;
    }
    total -= at->second;
  }
  return total;
}

}  // namespace

Result<Samples> memorySamples(std::string_view meminfo) {
  const auto values = kibibytesOf(meminfo);
  const auto total = values.find("MemTotal");
  if (total == values.end() || total->second <= 0) {
    return notAsExpected("meminfo", "a line MemTotal", meminfo);
  }
  Samples samples;
  for (const MemoryRow& row : kMemoryRows) {
    if (const auto at = values.find(row.key); at != values.end()) {
      const MetricLabels labels = row.state ? MetricLabels{{"state", row.state}} : MetricLabels();
      samples.push_back({row.metric, labels, at->second * kBytesPerKiB});
    }
  }
  if (const auto used = usedOf(values, total->second)) {
    samples.push_back({"memory/bytes_used", {{"state", "used"}}, *used * kBytesPerKiB});
    samples.push_back({"memory/percent_used", {{"state", "used"}}, *used / total->second * 100});
  }
  return samples;
}

}  // namespace mainstay::agent::stats
