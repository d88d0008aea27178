#include "jobs/resume_state.h"

#include <algorithm>
#include <array>

namespace mainstay::jobs {
namespace {

constexpr std::array<std::string_view, 5> kResumePhaseNames = {"Stopped", "Resumed", "Exhausted", "Released",
                                                               "Unsupported"};
constexpr std::int64_t kMostRetriesUsed = 1'000'000;

ResumePhase decodePhase(const Cursor& in) {
  const std::string name = in.string();
  const auto at = std::ranges::find(kResumePhaseNames, name);
  if (at == kResumePhaseNames.end()) {
    in.error("\"" + name.substr(0, 64) + "\" is not a phase that this release knows");
    return ResumePhase::kResumed;
  }
  return static_cast<ResumePhase>(at - kResumePhaseNames.begin());
}

}  // namespace

std::string_view resumePhaseName(ResumePhase phase) {
  return kResumePhaseNames[static_cast<std::size_t>(phase)];
}

bool ResumeState::knows(const std::string& incident) const {
  return std::ranges::find(incidents, incident) != incidents.end();
}

std::string encodeResume(const ResumeState& state) {
  const std::size_t count = std::min(state.incidents.size(), kMaxIncidentsOnJob);
  return toText(JsonObject{{"retry", state.retry},
                           {"incidents", JsonArray(state.incidents.end() - static_cast<std::ptrdiff_t>(count),
                                                   state.incidents.end())},
                           {"phase", resumePhaseName(state.phase)},
                           {"since", formatMicroTime(state.since)}});
}

Result<ResumeState> decodeResume(std::string_view annotation) {
  MAINSTAY_ASSIGN(const Json document, parseJson(annotation));
  DecodeErrors errors;
  const Cursor root(document, errors);
  ResumeState state;
  const std::int64_t retry = root.at("retry").integer();
  if (retry < 0 || retry > kMostRetriesUsed) {
    root.at("retry").error("expected 0 to " + std::to_string(kMostRetriesUsed));
  }
  state.retry = static_cast<int>(std::clamp<std::int64_t>(retry, 0, kMostRetriesUsed));
  for (const Cursor& incident : root.at("incidents").elements()) {
    state.incidents.push_back(incident.string());
  }
  state.phase = decodePhase(root.at("phase"));
  state.since = root.at("since").time().value_or(TimePoint{});
  MAINSTAY_TRY(errors.result());
  return state;
}

}  // namespace mainstay::jobs
