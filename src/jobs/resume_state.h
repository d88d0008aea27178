// ResumeState: what we did to a job, kept on the job itself in the annotation mainstay.dev/resume. With it a
// suspend is ours; a suspend without it is somebody else's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace mainstay::jobs {

enum class ResumePhase {
  kStopped,      // suspended by us; starts again as one group when it fits
  kResumed,      // runs again
  kExhausted,    // suspended by us at its limit; ends Failed when its pods are gone
  kReleased,     // a person, or a policy that only observes, gave it back
  kUnsupported,  // the API server dropped the suspend: hands off
};
std::string_view resumePhaseName(ResumePhase phase);

struct ResumeState {
  int retry = 0;                       // restarts used
  std::vector<std::string> incidents;  // NodeRecoveries that stopped it, oldest first; each counts once
  ResumePhase phase = ResumePhase::kResumed;
  TimePoint since{};  // of the phase

  bool knows(const std::string& incident) const;
  // While true and the job is suspended, the suspend is ours.
  bool holds() const { return phase == ResumePhase::kStopped || phase == ResumePhase::kExhausted; }
  bool operator==(const ResumeState&) const = default;
};

// The oldest incidents are dropped above it: they are closed for long, and closed ones stop nothing.
inline constexpr std::size_t kMaxIncidentsOnJob = 64;

std::string encodeResume(const ResumeState& state);
// The error says which key.
Result<ResumeState> decodeResume(std::string_view annotation);

}  // namespace mainstay::jobs
