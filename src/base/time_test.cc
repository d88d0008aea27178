#include "base/time.h"

#include <gtest/gtest.h>

namespace mainstay {
namespace {

using namespace std::chrono_literals;

TEST(TimeTest, ParsesAndFormatsRfc3339) {
  const auto time = parseTime("2026-11-29T20:14:07.123456789+02:00");

  ASSERT_TRUE(time);
  EXPECT_EQ(formatTime(*time), "2026-11-29T18:14:07Z");
  EXPECT_EQ(formatMicroTime(*time), "2026-11-29T18:14:07.123456Z");
  EXPECT_EQ(parseTime(formatMicroTime(*time)), time);
}

TEST(TimeTest, RefusesWhatIsNotATime) {
  for (const char* text :
       {"", "2026-11-29", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-11-29T20:14:07",
        "2026-11-29T20:14:07.Z", "2026-11-29T25:14:07Z", "2026-11-29T20:14:07Zx", "x026-11-29T20:14:07Z"}) {
    EXPECT_FALSE(parseTime(text)) << text;
  }
}

TEST(TimeTest, FormatsBeforeTheEpoch) {
  EXPECT_EQ(formatTime(TimePoint(-1s)), "1969-12-31T23:59:59Z");
}

struct DurationCase {
  const char* text;
  Duration span;
};

TEST(DurationTest, ReadsGoDurations) {
  for (const auto& [text, span] : {DurationCase{"0", 0us},
                                   {"1h30m", 90min},
                                   {"1.5h", 90min},
                                   {"300ms", 300ms},
                                   {"5us", 5us},
                                   {"5\xc2\xb5s", 5us},
                                   {"-2s", -2s},
                                   {"+2s", 2s},
                                   {"1500ns", 2us},
                                   {"0s", 0us}}) {
    EXPECT_EQ(parseDuration(text), span) << text;
  }
}

TEST(DurationTest, RefusesWhatGoRefuses) {
  for (const char* text : {"", "5", "abc", "1x", "s", "1h2", ".", "-", "1..5s", "300000000000h"}) {
    EXPECT_FALSE(parseDuration(text)) << text;
  }
}

TEST(DurationTest, PrintsAsGo) {
  EXPECT_EQ(formatDuration(5min), "5m0s");
  EXPECT_EQ(formatDuration(1500ms), "1.5s");
  EXPECT_EQ(formatDuration(300ms), "300ms");
  EXPECT_EQ(formatDuration(0s), "0s");
  EXPECT_EQ(formatDuration(-90min), "-1h30m0s");
}

TEST(DurationTest, PrintsForPeople) {
  EXPECT_EQ(humanDuration(310ms), "0.310 s");
  EXPECT_EQ(humanDuration(14s), "14 s");
  EXPECT_EQ(humanDuration(3min), "3 min");
  EXPECT_EQ(humanDuration(2h + 5min), "2 h 5 min");
  EXPECT_EQ(humanDuration(96h), "4 d");
}

TEST(DeadlineTest, NeverDoesNotExpireAndZeroHasExpired) {
  EXPECT_FALSE(Deadline::never().expired());
  EXPECT_EQ(Deadline::never().left(), Duration::max());
  EXPECT_TRUE(Deadline::after(0s).expired());
  EXPECT_FALSE(Deadline::after(Duration::max() / 2).expired());
}

TEST(ClockTest, StartsAtTheWallAndNeverRunsBack) {
  const SteadyWallClock clock;
  const TimePoint first = clock.now();

  EXPECT_LE(first, clock.now());
  EXPECT_LT(std::chrono::abs(first - std::chrono::system_clock::now()), 5s);
}

}  // namespace
}  // namespace mainstay
