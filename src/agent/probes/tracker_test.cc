#include "agent/probes/tracker.h"

#include <gtest/gtest.h>

#include <array>

namespace mainstay::agent::probes {
namespace {

using namespace std::chrono_literals;

constexpr Check trackerCheck(const char* reason, ClearOn clearOn, Patience patience) {
  return {reason, Severity::kFatal, "GPUFault", "gpu", RepairAction::kReset, clearOn, {}, patience, "", "",
          ""};
}

constexpr std::array kTrackerChecks = {trackerCheck("Once", ClearOn::kEvidence, {1, 0s, 0s}),
                                       trackerCheck("Slow", ClearOn::kEvidence, {3, 60s, 300s}),
                                       trackerCheck("Learned", ClearOn::kBoot, {1, 0s, 0s}),
                                       trackerCheck("Chip", ClearOn::kInstance, {1, 0s, 0s})};
const ProbeKind kTrackerKind{"test", "Test", "", "", 30s, 30s, kTrackerChecks, nullptr};
const TimePoint kTrackerStart = *parseTime("2026-11-29T20:14:07Z");

// One look and what comes of it.
struct Step {
  Duration at;
  std::vector<std::string> seen;  // reasons, of device "d"; "+" behind it: again
  std::string expected;           // "begins Once; over Slow"
  std::string held = "";
  bool blind = false;
  std::vector<std::string> fine = {};
};

std::string textOf(const std::vector<Change>& changes) {
  constexpr std::array kNames = {"begins", "again", "over", "held"};
  std::string text;
  for (const Change& change : changes) {
    text += (text.empty() ? "" : "; ") + std::string(kNames.at(static_cast<std::size_t>(change.kind))) + " " +
            change.check->reason;
  }
  return text;
}

void play(Tracker tracker, const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    Look look;
    for (std::string reason : step.seen) {
      const bool again = reason.ends_with('+');
      look.see(reason.substr(0, reason.size() - (again ? 1 : 0)), "d", "seen", again);
    }
    for (const std::string& reason : step.fine) {
      look.fine(reason, "d");
    }
    look.blind = step.blind ? "no" : "";
    EXPECT_EQ(textOf(tracker.take(look, step.held, kTrackerStart + step.at)), step.expected)
        << formatDuration(step.at);
  }
}

Tracker fresh() {
  return {kTrackerKind, kTrackerKind.defaults()};
}

TEST(TrackerTest, RaisesOnceAndTakesBackWhenItIsNotSeen) {
  play(fresh(), {{0s, {"Once"}, "begins Once"},
                 {30s, {"Once"}, ""},
                 {60s, {"Once+"}, "again Once"},
                 {90s, {}, "over Once"},
                 {120s, {}, ""},
                 {150s, {"Once"}, "begins Once"}});
}

TEST(TrackerTest, WaitsForLooksInARowAndForTheSpan) {
  play(fresh(), {{0s, {"Slow"}, ""}, {30s, {"Slow"}, ""}, {60s, {"Slow"}, "begins Slow"}});
  play(fresh(),
       {{0s, {"Slow"}, ""}, {10s, {"Slow"}, ""}, {20s, {"Slow"}, ""}, {60s, {"Slow"}, "begins Slow"}});
  play(fresh(),
       {{0s, {"Slow"}, ""}, {30s, {"Slow"}, ""}, {60s, {}, ""}, {90s, {"Slow"}, ""}, {180s, {"Slow"}, ""}});
}

TEST(TrackerTest, IsOverWhenItWasQuietForLongEnough) {
  play(fresh(), {{0s, {"Slow"}, ""},
                 {30s, {"Slow"}, ""},
                 {60s, {"Slow"}, "begins Slow"},
                 {300s, {}, ""},
                 {330s, {"Slow"}, ""},
                 {600s, {}, ""},
                 {630s, {}, "over Slow"}});
}

TEST(TrackerTest, ABlindLookIsNoEvidenceButWhatItSeesCounts) {
  play(fresh(), {{0s, {"Once"}, "begins Once"},
                 {30s, {}, "", "", true},
                 {60s, {"Learned"}, "begins Learned", "", true},
                 {90s, {}, "over Once"}});
}

TEST(TrackerTest, WhatAProbeLearnedIsOverOnlyWhenItIsSeenToBeWell) {
  play(fresh(), {{0s, {"Learned"}, "begins Learned"},
                 {30s, {}, ""},
                 {60s, {}, "over Learned", "", false, {"Learned"}}});
}

TEST(TrackerTest, NothingTakesBackWhatOnlyANewInstanceCures) {
  play(fresh(), {{0s, {"Chip"}, "begins Chip"}, {30s, {}, ""}, {24h, {}, "", "", false, {"Chip"}}});
}

TEST(TrackerTest, PlannedWorkIsToldOnceAndRaisedOnlyIfItOutlastsIt) {
  play(fresh(), {{0s, {"Once"}, "held Once", "reboot"},
                 {30s, {"Once"}, "", "reboot"},
                 {60s, {}, "", "reboot"},
                 {90s, {"Once"}, "held Once", "reboot"},
                 {120s, {"Once"}, "begins Once"}});
}

TEST(TrackerTest, GoesOnWithWhatAnEarlierRunRaised) {
  Tracker tracker = fresh();
  EXPECT_TRUE(tracker.adopt("Slow", "d", kTrackerStart));
  EXPECT_TRUE(tracker.adopt("Learned", "d", kTrackerStart));
  EXPECT_FALSE(tracker.adopt("Removed", "d", kTrackerStart));
  EXPECT_EQ(tracker.raised().at("Slow"), 1);
  EXPECT_EQ(tracker.raised().at("Once"), 0);
  play(std::move(tracker), {{30s, {}, ""}, {60s, {"Slow"}, ""}, {360s, {}, "over Slow"}});
}

TEST(TrackerTest, ACheckThatIsOffIsNotThere) {
  ProbeSettings settings = kTrackerKind.defaults();
  settings.checks.find("Once")->second.on = false;
  play({kTrackerKind, settings}, {{0s, {"Once", "Unknown", "Chip"}, "begins Chip"}});
}

TEST(LookTest, HoldsSoManySightingsAndIsBlindToMore) {
  Look look;
  for (std::size_t i = 0; i < kMaxSightings; ++i) {
    look.see("Once", std::to_string(i), "");
  }
  EXPECT_EQ(look.blind, "");
  look.see("Once", "more", "");
  EXPECT_EQ(look.sightings.size(), kMaxSightings);
  EXPECT_NE(look.blind, "");
}

}  // namespace
}  // namespace mainstay::agent::probes
