#include "agent/probes/probe.h"

#include <algorithm>

namespace mainstay::agent::probes {

void Look::see(std::string_view reason, std::string device, std::string message, bool again) {
  if (sightings.size() == kMaxSightings) {
    blind = "more than " + std::to_string(kMaxSightings) + " findings in one look, the others are left out";
    return;
  }
  sightings.push_back({std::string(reason), std::move(device), std::move(message), again});
}

const Check* ProbeKind::find(std::string_view reason) const {
  const auto at = std::ranges::find_if(checks, [&](const Check& check) { return check.reason == reason; });
  return at == checks.end() ? nullptr : &*at;
}

ProbeSettings ProbeKind::defaults() const {
  ProbeSettings settings{.interval = interval, .deadline = deadline, .program = program};
  for (const Check& check : checks) {
    settings.checks.emplace(check.reason, CheckSettings{true, check.limit, check.patience});
  }
  return settings;
}

}  // namespace mainstay::agent::probes
