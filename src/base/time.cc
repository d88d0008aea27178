#include "base/time.h"

#include <ctime>

#include <charconv>
#include <cmath>
#include <cstdio>

namespace mainstay {

namespace {

using namespace std::chrono_literals;

Duration readBootClock() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) +
         std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(now.tv_nsec));
}

struct CalendarTime {
  int year;
  unsigned month;
  unsigned day;
  std::chrono::hh_mm_ss<Duration> clock;
};

CalendarTime calendar(TimePoint time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  return {static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
          static_cast<unsigned>(date.day()), std::chrono::hh_mm_ss<Duration>(time - day)};
}

// Reads exactly `digits` decimal digits from the front of `text`.
std::optional<int> takeNumber(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) {
    return std::nullopt;
  }
  int value = 0;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') {
      return std::nullopt;
    }
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool takeChar(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

// Microseconds of ".123456789"; further digits are cut. nullopt when a dot has no digit behind it.
std::optional<Duration> takeFraction(std::string_view& text) {
  if (!takeChar(text, '.')) {
    return Duration(0);
  }
  std::int64_t micros = 0;
  std::int64_t unit = 100000;
  bool any = false;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    micros += unit * (text.front() - '0');
    unit /= 10;
    any = true;
    text.remove_prefix(1);
  }
  return any ? std::optional(Duration(micros)) : std::nullopt;
}

// "Z", "+02:00", "-0700" is not RFC 3339 and refused.
std::optional<Duration> takeOffset(std::string_view text) {
  if (text == "Z" || text == "z") {
    return Duration(0);
  }
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') {
    return std::nullopt;
  }
  const bool west = text[0] == '-';
  text.remove_prefix(1);
  const auto hours = takeNumber(text, 2);
  takeChar(text, ':');
  const auto minutes = takeNumber(text, 2);
  if (!hours || !minutes || *hours > 23 || *minutes > 59) {
    return std::nullopt;
  }
  const Duration offset = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
  return west ? -offset : offset;
}

struct Unit {
  std::string_view name;
  double micros;
};

// Longest names first, so that "ms" is not read as "m".
constexpr Unit kUnits[] = {{"ns", 1e-3}, {"us", 1},  {"\xc2\xb5s", 1}, {"\xce\xbcs", 1},
                           {"ms", 1e3},  {"s", 1e6}, {"m", 6e7},       {"h", 3.6e9}};

// One "12.5ms" from the front of `text`, in microseconds.
std::optional<double> takeSpan(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && ((text[length] >= '0' && text[length] <= '9') || text[length] == '.')) {
    ++length;
  }
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + length, number, std::chars_format::fixed);
  if (length == 0 || error != std::errc() || end != text.data() + length) {
    return std::nullopt;
  }
  text.remove_prefix(length);
  for (const Unit& unit : kUnits) {
    if (text.starts_with(unit.name)) {
      text.remove_prefix(unit.name.size());
      return number * unit.micros;
    }
  }
  return std::nullopt;
}

// "1.5" from 1500000 millionths: no trailing zeros.
std::string decimal(std::int64_t millionths) {
  std::string text = std::to_string(millionths / 1000000);
  std::string fraction = std::to_string(1000000 + millionths % 1000000).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return fraction.empty() ? text : text + "." + fraction;
}

}  // namespace

SteadyWallClock::SteadyWallClock()
    : wallAtStart_(std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now())),
      bootAtStart_(readBootClock()) {}

TimePoint SteadyWallClock::now() const {
  return wallAtStart_ + (readBootClock() - bootAtStart_);
}

Duration timeSinceBoot() {
  return readBootClock();
}

Deadline Deadline::after(Duration span) {
  const auto now = std::chrono::steady_clock::now();
  const bool beyond = span > std::chrono::floor<Duration>(std::chrono::steady_clock::time_point::max() - now);
  return beyond ? never() : Deadline(now + span);
}

Deadline Deadline::never() {
  return Deadline(std::chrono::steady_clock::time_point::max());
}

bool Deadline::expired() const {
  return left() == Duration(0);
}

Duration Deadline::left() const {
  if (at_ == std::chrono::steady_clock::time_point::max()) {
    return Duration::max();
  }
  const auto left = std::chrono::ceil<Duration>(at_ - std::chrono::steady_clock::now());
  return std::max(left, Duration(0));
}

std::string formatTime(TimePoint time) {
  const CalendarTime c = calendar(time);
  char text[40];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", c.year, c.month, c.day,
                static_cast<int>(c.clock.hours().count()), static_cast<int>(c.clock.minutes().count()),
                static_cast<int>(c.clock.seconds().count()));
  return text;
}

std::string formatMicroTime(TimePoint time) {
  std::string text = formatTime(time);
  text.pop_back();
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%06dZ",
                static_cast<int>(calendar(time).clock.subseconds().count()));
  return text + fraction;
}

std::optional<TimePoint> parseTime(std::string_view text) {
  const auto year = takeNumber(text, 4);
  const bool dash1 = takeChar(text, '-');
  const auto month = takeNumber(text, 2);
  const bool dash2 = takeChar(text, '-');
  const auto day = takeNumber(text, 2);
  const bool separator = takeChar(text, 'T') || takeChar(text, 't') || takeChar(text, ' ');
  const auto hour = takeNumber(text, 2);
  const bool colon1 = takeChar(text, ':');
  const auto minute = takeNumber(text, 2);
  const bool colon2 = takeChar(text, ':');
  const auto second = takeNumber(text, 2);
  if (!year || !month || !day || !hour || !minute || !second || !dash1 || !dash2 || !separator || !colon1 ||
      !colon2) {
    return std::nullopt;
  }
  const auto fraction = takeFraction(text);
  const auto offset = takeOffset(text);
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!fraction || !offset || !date.ok() || *hour > 23 || *minute > 59 || *second > 60) {
    return std::nullopt;
  }
  return TimePoint(std::chrono::sys_days(date)) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         std::chrono::seconds(*second) + *fraction - *offset;
}

std::optional<Duration> parseDuration(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  if (negative || (!text.empty() && text.front() == '+')) {
    text.remove_prefix(1);
  }
  if (text == "0") {
    return Duration(0);
  }
  if (text.empty()) {
    return std::nullopt;
  }
  double micros = 0;
  while (!text.empty()) {
    const auto span = takeSpan(text);
    if (!span) {
      return std::nullopt;
    }
    micros += *span;
  }
  if (micros > 9.2e15) {  // Go's limit of 2^63 ns, in microseconds
    return std::nullopt;
  }
  const auto whole = static_cast<std::int64_t>(std::llround(micros));
  return Duration(negative ? -whole : whole);
}

std::string formatDuration(Duration span) {
  if (span < Duration(0)) {
    return "-" + formatDuration(-span);
  }
  const std::int64_t micros = span.count();
  if (micros == 0) {
    return "0s";
  }
  if (micros < 1000) {
    return std::to_string(micros) + "\xc2\xb5s";
  }
  if (micros < 1000000) {
    return decimal(micros * 1000) + "ms";
  }
  const std::int64_t hours = micros / 3600000000;
  const std::int64_t minutes = micros / 60000000 % 60;
  std::string text = hours > 0 ? std::to_string(hours) + "h" : "";
  if (hours > 0 || minutes > 0) {
    text += std::to_string(minutes) + "m";
  }
  return text + decimal(micros % 60000000) + "s";
}

std::string humanDuration(Duration span) {
  if (span < Duration(0)) {
    return "-" + humanDuration(-span);
  }
  if (span < 10s) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f s", static_cast<double>(span.count()) / 1e6);
    return text;
  }
  const auto count = [](auto unit) { return std::to_string(unit.count()); };
  if (span < 2min) {
    return count(std::chrono::floor<std::chrono::seconds>(span)) + " s";
  }
  if (span < 1h) {
    return count(std::chrono::floor<std::chrono::minutes>(span)) + " min";
  }
  if (span < 48h) {
    const auto hours = std::chrono::floor<std::chrono::hours>(span);
    const auto minutes = std::chrono::floor<std::chrono::minutes>(span - hours);
    return count(hours) + " h" + (minutes > 0min ? " " + count(minutes) + " min" : "");
  }
  return count(std::chrono::floor<std::chrono::days>(span)) + " d";
}

}  // namespace mainstay
