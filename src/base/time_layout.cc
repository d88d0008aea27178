#include "base/time_layout.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <span>
#include <utility>

namespace mainstay {

namespace {

using namespace std::chrono_literals;

// What a text says of a time, and Go's defaults for what it leaves out.
struct TimeReading {
  int year = -1;       // -1: not said
  int shortYear = -1;  // of "06"
  int month = 1;
  int day = 1;
  int yearDay = -1;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int half = -1;     // 0 = before noon, 1 = after
  int weekday = -1;  // Go reads it and makes nothing of it, and so do we
  Duration fraction{};
  std::optional<Duration> offset;  // from UTC; not said: local time
};

enum class ElementKind { kNumber, kName, kHalf, kFraction, kOffset, kZone };

constexpr std::array<std::string_view, 12> kMonths = {"January",   "February", "March",    "April",
                                                      "May",       "June",     "July",     "August",
                                                      "September", "October",  "November", "December"};
constexpr std::array<std::string_view, 7> kWeekdays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                       "Thursday", "Friday", "Saturday"};
constexpr std::size_t kShortName = 3;
constexpr std::size_t kWholeName = std::string_view::npos;

struct TimeElement {
  std::string_view spelling;
  ElementKind kind;
  int TimeReading::*field = nullptr;
  int low = 0;  // the least number; that of the first name
  int high = 0;
  std::size_t least = 0;  // digits
  std::size_t most = 0;
  std::size_t padding = 0;  // spaces that may stand for leading digits
  std::span<const std::string_view> names = {};
  std::size_t nameLength = kWholeName;
};

// Where one spelling begins with another, the longer one is first.
constexpr TimeElement kElements[] = {
    {"January", ElementKind::kName, &TimeReading::month, 1, 0, 0, 0, 0, kMonths, kWholeName},
    {"Jan", ElementKind::kName, &TimeReading::month, 1, 0, 0, 0, 0, kMonths, kShortName},
    {"Monday", ElementKind::kName, &TimeReading::weekday, 0, 0, 0, 0, 0, kWeekdays, kWholeName},
    {"Mon", ElementKind::kName, &TimeReading::weekday, 0, 0, 0, 0, 0, kWeekdays, kShortName},
    {"2006", ElementKind::kNumber, &TimeReading::year, 0, 9999, 4, 4},
    {"002", ElementKind::kNumber, &TimeReading::yearDay, 1, 366, 3, 3},
    {"__2", ElementKind::kNumber, &TimeReading::yearDay, 1, 366, 1, 3, 2},
    {"01", ElementKind::kNumber, &TimeReading::month, 1, 12, 2, 2},
    {"02", ElementKind::kNumber, &TimeReading::day, 1, 31, 2, 2},
    {"03", ElementKind::kNumber, &TimeReading::hour, 0, 12, 2, 2},
    {"04", ElementKind::kNumber, &TimeReading::minute, 0, 59, 2, 2},
    {"05", ElementKind::kNumber, &TimeReading::second, 0, 59, 2, 2},
    {"06", ElementKind::kNumber, &TimeReading::shortYear, 0, 99, 2, 2},
    {"15", ElementKind::kNumber, &TimeReading::hour, 0, 23, 1, 2},
    {"_2", ElementKind::kNumber, &TimeReading::day, 1, 31, 1, 2, 1},
    {"1", ElementKind::kNumber, &TimeReading::month, 1, 12, 1, 2},
    {"2", ElementKind::kNumber, &TimeReading::day, 1, 31, 1, 2},
    {"3", ElementKind::kNumber, &TimeReading::hour, 0, 12, 1, 2},
    {"4", ElementKind::kNumber, &TimeReading::minute, 0, 59, 1, 2},
    {"5", ElementKind::kNumber, &TimeReading::second, 0, 59, 1, 2},
    {"PM", ElementKind::kHalf},
    {"pm", ElementKind::kHalf},
    {"-07:00:00", ElementKind::kOffset},
    {"-070000", ElementKind::kOffset},
    {"-07:00", ElementKind::kOffset},
    {"-0700", ElementKind::kOffset},
    {"-07", ElementKind::kOffset},
    {"Z07:00:00", ElementKind::kOffset},
    {"Z070000", ElementKind::kOffset},
    {"Z07:00", ElementKind::kOffset},
    {"Z0700", ElementKind::kOffset},
    {"Z07", ElementKind::kOffset},
    {"MST", ElementKind::kZone},
    {"", ElementKind::kFraction},  // ".000", ",999" and so on, of any length
};
constexpr std::size_t kFractionElement = std::size(kElements) - 1;

constexpr Duration kAhead = 24h;     // clocks that disagree, and zones that a log does not tell
constexpr int kYearsBack = 8;        // how long ago 29 February was at the most
constexpr int kShortYearPivot = 69;  // 69 is 1969, 68 is 2068

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

char lowered(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool takePrefix(std::string_view& text, std::string_view prefix) {
  const bool there = text.starts_with(prefix);
  text.remove_prefix(there ? prefix.size() : 0);
  return there;
}

std::size_t digitsOf(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, isDigit) - text.begin());
}

// The first `digits` of the text, which are digits.
int takeDigits(std::string_view& text, std::size_t digits) {
  int value = 0;
  for (const char c : text.substr(0, digits)) {
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

// Bytes of a fraction of seconds at the front of a layout; 0 = there is none.
std::size_t fractionLength(std::string_view layout) {
  if (layout.size() < 2 || (layout[0] != '.' && layout[0] != ',') || (layout[1] != '0' && layout[1] != '9')) {
    return 0;
  }
  const std::size_t end = std::min(layout.find_first_not_of(layout[1], 1), layout.size());
  return end < layout.size() && isDigit(layout[end]) ? 0 : end;
}

struct FoundElement {
  std::size_t row = 0;
  std::size_t length = 0;  // 0 = none
};

// The element that the layout begins with, if any.
FoundElement elementAt(std::string_view layout) {
  if (const std::size_t length = fractionLength(layout); length > 0) {
    return {kFractionElement, length};
  }
  if (layout.starts_with("_2006")) {
    return {};  // an underscore, and the year
  }
  for (std::size_t row = 0; row < kFractionElement; ++row) {
    const TimeElement& element = kElements[row];
    const std::size_t length = element.spelling.size();
    const bool word = element.nameLength == kShortName && layout.size() > length && layout[length] >= 'a' &&
                      layout[length] <= 'z';
    if (layout.starts_with(element.spelling) && !word) {  // "Jan" of "Janet" is none
      return {row, length};
    }
  }
  return {};
}

// A run of spaces takes in any run of spaces, and none at the end of the text.
bool takeLiteral(std::string_view& text, std::string_view literal) {
  while (!literal.empty()) {
    if (literal.front() == ' ') {
      if (!text.empty() && text.front() != ' ') {
        return false;
      }
      literal.remove_prefix(std::min(literal.find_first_not_of(' '), literal.size()));
      text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    } else if (!takePrefix(text, literal.substr(0, 1))) {
      return false;
    } else {
      literal.remove_prefix(1);
    }
  }
  return true;
}

bool readNumber(const TimeElement& element, std::string_view& text, TimeReading& reading) {
  for (std::size_t i = 0; i < element.padding; ++i) {
    takePrefix(text, " ");
  }
  const std::size_t digits = std::min(digitsOf(text), element.most);
  if (digits < element.least) {
    return false;
  }
  const int value = takeDigits(text, digits);
  reading.*element.field = value;
  return value >= element.low && value <= element.high;
}

bool readName(const TimeElement& element, std::string_view& text, TimeReading& reading) {
  for (std::size_t i = 0; i < element.names.size(); ++i) {
    const std::string_view name = element.names[i].substr(0, element.nameLength);
    if (std::ranges::equal(text.substr(0, name.size()), name, {}, lowered, lowered)) {
      text.remove_prefix(name.size());
      reading.*element.field = element.low + static_cast<int>(i);
      return true;
    }
  }
  return false;
}

bool readHalf(std::string_view spelling, std::string_view& text, TimeReading& reading) {
  const bool upper = spelling == "PM";
  if (takePrefix(text, upper ? "PM" : "pm")) {
    reading.half = 1;
  } else if (takePrefix(text, upper ? "AM" : "am")) {
    reading.half = 0;
  }
  return reading.half >= 0;
}

// A point or comma and `digits` digits.
void takeFraction(std::string_view& text, std::size_t digits, TimeReading& reading) {
  std::int64_t unit = 100000;
  for (const char c : text.substr(1, digits)) {
    reading.fraction += Duration(unit * (c - '0'));
    unit /= 10;
  }
  text.remove_prefix(digits + 1);
}

// How many digits of a fraction the text begins with.
std::size_t fractionDigits(std::string_view text) {
  const bool point = !text.empty() && (text.front() == '.' || text.front() == ',');
  return point ? digitsOf(text.substr(1)) : 0;
}

// Zeros want exactly as many digits, nines any number or no fraction at all.
bool readFraction(std::string_view spelling, std::string_view& text, TimeReading& reading) {
  const std::size_t there = fractionDigits(text);
  const bool exact = spelling[1] == '0';
  const std::size_t wanted = exact ? spelling.size() - 1 : there;
  if (there < wanted) {
    return false;
  }
  if (wanted > 0) {
    takeFraction(text, wanted, reading);
  }
  return true;
}

bool readOffset(std::string_view spelling, std::string_view& text, TimeReading& reading) {
  if (spelling.front() == 'Z' && takePrefix(text, "Z")) {
    reading.offset = Duration{};
    return true;
  }
  const bool west = takePrefix(text, "-");
  if (!west && !takePrefix(text, "+")) {
    return false;
  }
  spelling.remove_prefix(1);
  Duration offset{};
  for (const Duration unit : {Duration(1h), Duration(1min), Duration(1s)}) {
    if (spelling.empty()) {
      break;
    }
    if (takePrefix(spelling, ":") && !takePrefix(text, ":")) {
      return false;
    }
    spelling.remove_prefix(2);
    if (digitsOf(text) < 2) {
      return false;
    }
    const int value = takeDigits(text, 2);
    if (value > (unit == Duration(1h) ? 24 : 60)) {
      return false;
    }
    offset += value * unit;
  }
  reading.offset = west ? -offset : offset;
  return true;
}

// An abbreviation is the local zone's, or UTC: what it means elsewhere cannot be known, and Go takes it so.
bool readZone(std::string_view& text, TimeReading& reading) {
  const auto length = static_cast<std::size_t>(
      std::ranges::find_if_not(text, [](char c) { return c >= 'A' && c <= 'Z'; }) - text.begin());
  if (length < 3 || length > 5) {
    return false;
  }
  ::tzset();
  const std::string_view name = text.substr(0, length);
  if (name != ::tzname[0] && name != ::tzname[1]) {
    reading.offset = Duration{};
  }
  text.remove_prefix(length);
  return true;
}

bool readElement(const TimeElement& element, std::string_view spelling, std::string_view& text,
                 TimeReading& reading) {
  switch (element.kind) {
    case ElementKind::kNumber:
      return readNumber(element, text, reading);
    case ElementKind::kName:
      return readName(element, text, reading);
    case ElementKind::kHalf:
      return readHalf(spelling, text, reading);
    case ElementKind::kFraction:
      return readFraction(spelling, text, reading);
    case ElementKind::kOffset:
      return readOffset(spelling, text, reading);
    case ElementKind::kZone:
      return readZone(text, reading);
  }
  return false;
}

// What the local clocks showed as `shown`, as an instant.
TimePoint fromLocalTime(TimePoint shown) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(shown);
  const std::time_t seconds = std::chrono::system_clock::to_time_t(whole);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  parts.tm_isdst = -1;  // the zone's rules tell
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::from_time_t(::mktime(&parts))) +
         (shown - whole);
}

std::optional<std::chrono::sys_days> dateOf(const TimeReading& reading, int year) {
  using namespace std::chrono;
  if (reading.yearDay >= 0) {
    const sys_days date = sys_days(std::chrono::year(year) / January / 1) + days(reading.yearDay - 1);
    return year_month_day(date).year() == std::chrono::year(year) ? std::optional(date) : std::nullopt;
  }
  const year_month_day date = std::chrono::year(year) / reading.month / reading.day;
  return date.ok() ? std::optional(sys_days(date)) : std::nullopt;
}

std::optional<TimePoint> instantOf(const TimeReading& reading, int year) {
  const auto date = dateOf(reading, year);
  if (!date) {
    return std::nullopt;
  }
  int hour = reading.hour;
  if (reading.half >= 0) {
    hour = hour % 12 + 12 * reading.half;
  }
  const TimePoint shown = TimePoint(*date) + std::chrono::hours(hour) + std::chrono::minutes(reading.minute) +
                          std::chrono::seconds(reading.second) + reading.fraction;
  return reading.offset ? shown - *reading.offset : fromLocalTime(shown);
}

std::optional<TimePoint> instantOf(const TimeReading& reading, TimePoint now) {
  if (reading.year >= 0) {
    return instantOf(reading, reading.year);
  }
  if (reading.shortYear >= 0) {
    return instantOf(reading, reading.shortYear + (reading.shortYear < kShortYearPivot ? 2000 : 1900));
  }
  const auto today = std::chrono::floor<std::chrono::days>(now);
  const int next = static_cast<int>(std::chrono::year_month_day(today).year()) + 1;
  for (int year = next; year >= next - 1 - kYearsBack; --year) {
    const auto time = instantOf(reading, year);
    if (time && *time <= now + kAhead) {
      return time;
    }
  }
  return std::nullopt;
}

}  // namespace

TimeLayout::TimeLayout(std::string_view layout) {
  while (!layout.empty()) {
    const FoundElement found = elementAt(layout);
    const std::size_t length = std::max<std::size_t>(found.length, 1);
    if (found.length > 0) {
      parts_.push_back({std::exchange(rest_, ""), found.row, std::string(layout.substr(0, length))});
    } else {
      rest_ += layout.front();
    }
    layout.remove_prefix(length);
  }
}

std::optional<TimePoint> TimeLayout::parse(std::string_view text, TimePoint now) const {
  TimeReading reading;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const TimeElement& element = kElements[parts_[i].element];
    if (!takeLiteral(text, parts_[i].literal) || !readElement(element, parts_[i].spelling, text, reading)) {
      return std::nullopt;
    }
    // Seconds may have a fraction that the layout does not mention.
    const bool mentioned = i + 1 < parts_.size() && parts_[i + 1].element == kFractionElement;
    if (const std::size_t digits = fractionDigits(text);
        element.field == &TimeReading::second && !mentioned && digits > 0) {
      takeFraction(text, digits, reading);
    }
  }
  if (!takeLiteral(text, rest_) || !text.empty()) {
    return std::nullopt;
  }
  return instantOf(reading, now);
}

}  // namespace mainstay
