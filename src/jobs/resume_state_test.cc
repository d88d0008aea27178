#include "jobs/resume_state.h"

#include <gtest/gtest.h>

namespace mainstay::jobs {
namespace {

ResumeState sample() {
  return {.retry = 2,
          .incidents = {"b-5f21-1", "c-77aa-1"},
          .phase = ResumePhase::kStopped,
          .since = TimePoint(std::chrono::microseconds(1234567))};
}

TEST(ResumeStateTest, ReadsBackWhatItWrote) {
  EXPECT_EQ(
      encodeResume(sample()),
      R"({"retry":2,"incidents":["b-5f21-1","c-77aa-1"],"phase":"Stopped","since":"1970-01-01T00:00:01.234567Z"})");
  EXPECT_EQ(decodeResume(encodeResume(sample())).value(), sample());
}

TEST(ResumeStateTest, EveryPhaseHasAName) {
  ResumeState state = sample();
  for (const ResumePhase phase : {ResumePhase::kStopped, ResumePhase::kResumed, ResumePhase::kExhausted,
                                  ResumePhase::kReleased, ResumePhase::kUnsupported}) {
    state.phase = phase;
    EXPECT_EQ(decodeResume(encodeResume(state)).value().phase, phase);
  }
}

TEST(ResumeStateTest, KeepsTheNewestIncidentsWithinItsBound) {
  ResumeState state = sample();
  for (std::size_t i = 0; i < kMaxIncidentsOnJob; ++i) {
    state.incidents.push_back("i" + std::to_string(i));
  }
  const ResumeState back = decodeResume(encodeResume(state)).value();
  EXPECT_EQ(back.incidents.size(), kMaxIncidentsOnJob);
  EXPECT_EQ(back.incidents.front(), "i0");
}

TEST(ResumeStateTest, WrongValuesAreNamed) {
  const auto state =
      decodeResume(R"({"retry": "one", "incidents": [7], "phase": "Paused", "since": "soon"})");
  ASSERT_FALSE(state);
  for (const char* part : {"retry", "incidents[0]", "Paused", "since"}) {
    EXPECT_NE(state.error().toString().find(part), std::string::npos) << state.error().toString();
  }
}

TEST(ResumeStateTest, EveryPrefixIsRefusedWithoutACrash) {
  const std::string text = encodeResume(sample());
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(decodeResume(text.substr(0, size))) << size;
  }
}

}  // namespace
}  // namespace mainstay::jobs
