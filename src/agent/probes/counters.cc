#include "agent/probes/counters.h"

#include <algorithm>
#include <cmath>

namespace mainstay::agent::probes {
namespace {

// A counter that nobody fed for so long belongs to a device that is gone.
constexpr Duration kForgetAfter = std::chrono::hours(1);

std::string limitWords(const Limit& limit) {
  if (limit.count <= 0) {
    return "any growth";
  }
  return std::to_string(std::llround(limit.count)) +
         (limit.per > Duration{} ? " in " + humanDuration(limit.per) : " in one look");
}

}  // namespace

Counters::Growth Counters::watch(const std::string& key, std::uint64_t value, const Limit& limit,
                                 TimePoint now) {
  forgetOld(now);
  const auto [at, isNew] = watched_.try_emplace(key, Watched{value, 0, now});
  Watched& watched = at->second;
  Growth growth;
  if (!isNew && value > watched.value) {
    growth.by = value - watched.value;
  }
  const auto by = static_cast<double>(growth.by);
  if (limit.count <= 0 || limit.per <= Duration{}) {
    growth.over = by > limit.count;
  } else {
    const double drained = limit.count * std::chrono::duration<double>(now - watched.at) / limit.per;
    watched.level = std::max(0.0, watched.level - drained) + by;
    // However large the burst: it is over within `per` of its end.
    watched.level = std::min(watched.level, 2 * limit.count);
    growth.over = watched.level > limit.count;
  }
  watched.value = value;
  watched.at = now;
  return growth;
}

void Counters::forgetOld(TimePoint now) {
  if (now - swept_ >= kForgetAfter) {
    std::erase_if(watched_, [&](const auto& entry) { return now - entry.second.at >= kForgetAfter; });
    swept_ = now;
  }
}

std::string riseText(std::string_view name, const Counters::Growth& growth, std::uint64_t value,
                     const Limit& limit) {
  return std::string(name) + " rose by " + std::to_string(growth.by) + " to " + std::to_string(value) +
         " (limit: " + limitWords(limit) + ")";
}

}  // namespace mainstay::agent::probes
