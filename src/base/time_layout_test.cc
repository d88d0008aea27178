#include "base/time_layout.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace mainstay {
namespace {

const TimePoint kReadAt = *parseTime("2026-11-29T20:14:07Z");

// "" when the text does not fit.
std::string readTime(const std::string& layout, const std::string& text, TimePoint now = kReadAt) {
  const auto time = TimeLayout(layout).parse(text, now);
  return time ? formatMicroTime(*time) : "";
}

// The zone of the process, for as long as it lives.
class LocalZone {
 public:
  explicit LocalZone(const char* name) {
    ::setenv("TZ", name, 1);
    ::tzset();
  }
  ~LocalZone() {
    ::unsetenv("TZ");
    ::tzset();
  }
};

class TimeLayoutTest : public ::testing::Test {
  LocalZone utc_{"UTC"};
};

TEST_F(TimeLayoutTest, ReadsEveryElementOfTheReferenceTime) {
  struct Case {
    const char *layout, *text, *expected;
  };
  for (const Case& c : {
           Case{"Jan _2 15:04:05", "May  1 12:23:45", "2026-05-01T12:23:45.000000Z"},
           {"Jan _2 15:04:05", "nov 29 01:02:03", "2026-11-29T01:02:03.000000Z"},
           {"2006-01-02T15:04:05.999999999-07:00", "2017-02-01T17:58:34.999999999-08:00",
            "2017-02-02T01:58:34.999999Z"},
           {"2006-01-02T15:04:05.999999999-07:00", "2017-02-01T17:58:34+00:00",
            "2017-02-01T17:58:34.000000Z"},
           {"2006-01-02T15:04:05.999999999Z", "2017-02-01T17:58:34.5Z", "2017-02-01T17:58:34.500000Z"},
           {"2006-01-02T15:04:05Z07:00", "2017-02-01T17:58:34Z", "2017-02-01T17:58:34.000000Z"},
           {"2006-01-02T15:04:05Z0700", "2017-02-01T17:58:34+0130", "2017-02-01T16:28:34.000000Z"},
           {"2006/01/02 15:04:05.000", "2026/11/29 01:02:03.123", "2026-11-29T01:02:03.123000Z"},
           {"2006/01/02 15:04:05,000", "2026/11/29 01:02:03,123", "2026-11-29T01:02:03.123000Z"},
           {"2006/1/2 15:4:5", "2026/3/4 5:6:7", "2026-03-04T05:06:07.000000Z"},
           {"Monday, January 2 2006 3:04PM", "Sunday, November 29 2026 8:14PM",
            "2026-11-29T20:14:00.000000Z"},
           {"02 Jan 06 03:04:05 pm", "29 Nov 26 12:14:05 am", "2026-11-29T00:14:05.000000Z"},
           {"Mon Jan _2 15:04:05 MST 2006", "Sun Nov 29 20:14:07 UTC 2026", "2026-11-29T20:14:07.000000Z"},
           {"2006-002", "2024-366", "2024-12-31T00:00:00.000000Z"},
           {"2006 __2", "2026   1", "2026-01-01T00:00:00.000000Z"},
           {"06 (15)", "70 (23)", "1970-01-01T23:00:00.000000Z"},
           {"20060102_2006", "20261129_2026", "2026-11-29T00:00:00.000000Z"},
           {"15:04:05 -07", "01:00:00 -02", "2026-01-01T03:00:00.000000Z"},
           {"15:04:05 -07:00:00", "01:00:00 +00:00:30", "2026-01-01T00:59:30.000000Z"},
       }) {
    EXPECT_EQ(readTime(c.layout, c.text), c.expected) << c.layout << " of " << c.text;
  }
}

TEST_F(TimeLayoutTest, RefusesWhatDoesNotFit) {
  struct Case {
    const char *layout, *text;
  };
  for (const Case& c : {Case{"Jan _2 15:04:05", ""},
                        {"Jan _2 15:04:05", "Mai  1 12:23:45"},
                        {"Jan _2 15:04:05", "May  1 12:23:4"},
                        {"Jan _2 15:04:05", "May  1 12:60:45"},
                        {"Jan _2 15:04:05", "May  1 12:23:45 x"},
                        {"Jan _2 15:04:05", "Feb 30 12:23:45"},
                        {"2006-01-02", "2026-02-29"},
                        {"2006-01-02", "26-02-01"},
                        {"2006-002", "2026-366"},
                        {"15:04:05.000", "01:02:03.12"},
                        {"15:04:05 -0700", "01:02:03 0100"},
                        {"15:04:05 -0700", "01:02:03 +2500"},
                        {"15:04:05Z07:00", "01:02:03+01"},
                        {"3PM", "13PM"},
                        {"3PM", "1pm"},
                        {"MST", "utc"},
                        {"", "x"}}) {
    EXPECT_EQ(readTime(c.layout, c.text), "") << c.layout << " of " << c.text;
  }
}

TEST_F(TimeLayoutTest, SecondsMayHaveAFractionThatTheLayoutDoesNotMention) {
  EXPECT_EQ(readTime("2006 15:04:05", "2026 01:02:03.25"), "2026-01-01T01:02:03.250000Z");
  EXPECT_EQ(readTime("2006 15:04:05 .000", "2026 01:02:03 .250"), "2026-01-01T01:02:03.250000Z");
  EXPECT_EQ(readTime("2006 15:04:05 .000", "2026 01:02:03.5 .250"), "") << "but not two";
}

TEST_F(TimeLayoutTest, WordsThatOnlyBeginLikeAnElementAreWords) {
  EXPECT_EQ(readTime("Janet 2006", "Janet 2026"), "2026-01-01T00:00:00.000000Z");
  EXPECT_EQ(readTime("Months 2006", "Months 2026"), "2026-01-01T00:00:00.000000Z");
  EXPECT_EQ(readTime("2006 .0001", "2026 .0001"), "2026-01-01T00:00:00.000000Z")
      << "a literal point and zeros, and a month";
}

TEST_F(TimeLayoutTest, ARunOfSpacesTakesInAnyRun) {
  EXPECT_EQ(readTime("2006 15", "2026    07"), "2026-01-01T07:00:00.000000Z");
  EXPECT_EQ(readTime("2006   15", "2026 07"), "2026-01-01T07:00:00.000000Z");
  EXPECT_EQ(readTime("2006 ", "2026"), "2026-01-01T00:00:00.000000Z");
  EXPECT_EQ(readTime("2006 15", "202607"), "");
}

TEST_F(TimeLayoutTest, WithoutAYearItIsTheLatestTimeThatIsNotAhead) {
  const auto readOn = [](const char* now, const char* text) {
    return readTime("Jan _2 15:04:05", text, *parseTime(now)).substr(0, 10);
  };
  EXPECT_EQ(readOn("2027-01-01T00:00:10Z", "Dec 31 23:59:59"), "2026-12-31");
  EXPECT_EQ(readOn("2026-12-31T23:59:59Z", "Jan  1 00:00:01"), "2027-01-01")
      << "a clock that is a little ahead";
  EXPECT_EQ(readOn("2026-11-29T20:14:07Z", "Nov 30 12:00:00"), "2026-11-30");
  EXPECT_EQ(readOn("2026-11-29T20:14:07Z", "Dec  1 00:00:00"), "2025-12-01");
  EXPECT_EQ(readOn("2026-11-29T20:14:07Z", "Feb 29 12:00:00"), "2024-02-29");
}

TEST(TimeLayoutZoneTest, LocalTimeWhereNoZoneIsSaid) {
  const LocalZone berlin("CET-1CEST,M3.5.0,M10.5.0/3");
  EXPECT_EQ(readTime("2006-01-02 15:04:05", "2026-11-29 20:14:07"), "2026-11-29T19:14:07.000000Z");
  EXPECT_EQ(readTime("2006-01-02 15:04:05", "2026-07-01 20:14:07"), "2026-07-01T18:14:07.000000Z");
  EXPECT_EQ(readTime("2006-01-02 15:04 MST", "2026-07-01 20:14 CEST"), "2026-07-01T18:14:00.000000Z");
  EXPECT_EQ(readTime("2006-01-02 15:04 MST", "2026-07-01 20:14 EST"), "2026-07-01T20:14:00.000000Z")
      << "as Go takes a zone that it does not know";
}

}  // namespace
}  // namespace mainstay
