#include "agent/probes/tracker.h"

namespace mainstay::agent::probes {

std::vector<Change> Tracker::take(const Look& look, const std::string& heldBy, TimePoint now) {
  std::vector<Change> changes;
  for (const Sighting& sighting : look.sightings) {
    take(sighting, heldBy, now, changes);
  }
  if (look.blind.empty()) {
    endUnseen(look, now, changes);
  }
  return changes;
}

void Tracker::take(const Sighting& sighting, const std::string& heldBy, TimePoint now,
                   std::vector<Change>& changes) {
  const Check* check = kind_.find(sighting.reason);
  const auto settings = settings_.checks.find(sighting.reason);
  if (!check || settings == settings_.checks.end() || !settings->second.on) {
    return;
  }
  const auto [at, isNew] = seen_.try_emplace(Key(sighting.reason, sighting.device));
  Seen& seen = at->second;
  seen.first = isNew ? now : seen.first;
  seen.looks += seen.last == now ? 0 : 1;
  seen.last = now;
  seen.message = sighting.message;
  const auto change = [&](Change::Kind kind) {
    changes.push_back({kind, check, sighting.device, sighting.message});
  };
  if (seen.raised) {
    if (sighting.again) {
      change(Change::Kind::kAgain);
    }
    return;
  }
  const Patience& patience = settings->second.patience;
  if (seen.looks < patience.looks || now - seen.first < patience.span) {
    return;
  }
  if (heldBy.empty()) {
    seen.raised = true;
    change(Change::Kind::kBegins);
  } else if (!seen.told) {
    seen.told = true;
    change(Change::Kind::kHeldBack);
  }
}

void Tracker::endUnseen(const Look& look, TimePoint now, std::vector<Change>& changes) {
  for (auto at = seen_.begin(); at != seen_.end();) {
    const auto& [key, seen] = *at;
    const Check* check = kind_.find(key.first);
    const bool unseen = seen.last < now;
    const bool quiet = unseen && now - seen.last >= settings_.checks.find(key.first)->second.patience.quiet;
    const bool evident = check->clearOn == ClearOn::kEvidence ||
                         (check->clearOn == ClearOn::kBoot && look.isFine.contains(key));
    if (seen.raised && quiet && evident) {
      changes.push_back({Change::Kind::kOver, check, key.second, seen.message});
    }
    at = (seen.raised ? quiet && evident : unseen) ? seen_.erase(at) : std::next(at);
  }
}

bool Tracker::adopt(const std::string& reason, const std::string& device, TimePoint last) {
  if (!kind_.find(reason)) {
    return false;
  }
  Seen& seen = seen_[Key(reason, device)];
  seen.raised = true;
  seen.last = std::max(seen.last, last);
  return true;
}

std::map<std::string, int> Tracker::raised() const {
  std::map<std::string, int> counts;
  for (const Check& check : kind_.checks) {
    counts[check.reason] = 0;
  }
  for (const auto& [key, seen] : seen_) {
    counts[key.first] += seen.raised ? 1 : 0;
  }
  return counts;
}

}  // namespace mainstay::agent::probes
