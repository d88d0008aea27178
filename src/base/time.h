// Time as values: instants, spans, their text forms, and the one clock that programs read.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace mainstay {

using Duration = std::chrono::microseconds;
using TimePoint = std::chrono::sys_time<Duration>;

// "Not before something wakes me": the wake-up time of a loop with nothing scheduled.
inline constexpr TimePoint kNever = TimePoint::max();

// The door to time. Only apps and drivers hold one; everything else is given `now`.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
};

// Wall time at construction plus CLOCK_BOOTTIME since: it never jumps when someone sets the machine's clock,
// and it goes on while the process is stopped or the machine sleeps, so a lease that ended meanwhile is seen
// to have ended.
class SteadyWallClock final : public Clock {
 public:
  SteadyWallClock();
  TimePoint now() const override;

 private:
  TimePoint wallAtStart_;
  Duration bootAtStart_;
};

// Time since boot including suspend (CLOCK_BOOTTIME).
Duration timeSinceBoot();

// An instant after which a blocking call gives up (CLOCK_MONOTONIC underneath).
class Deadline {
 public:
  static Deadline after(Duration span);
  static Deadline never();
  bool expired() const;
  // What is left, at least zero; Duration::max() for never().
  Duration left() const;

 private:
  explicit Deadline(std::chrono::steady_clock::time_point at) : at_(at) {}
  std::chrono::steady_clock::time_point at_;
};

// RFC 3339 in UTC. formatTime: whole seconds, as Kubernetes' metav1.Time ("2026-11-29T20:14:07Z");
// formatMicroTime: six digits, as metav1.MicroTime. parseTime takes any fraction and offset; nullopt when it
// is not a time.
std::string formatTime(TimePoint time);
std::string formatMicroTime(TimePoint time);
std::optional<TimePoint> parseTime(std::string_view text);

// Go's time.ParseDuration: signed decimals with ns, us, µs, ms, s, m, h, concatenated ("1h30m", "1.5h");
// plain "0".
std::optional<Duration> parseDuration(std::string_view text);
// Go's Duration.String to the microsecond: "5m0s", "1.5s", "300ms", "0s".
std::string formatDuration(Duration span);
// For people: "0.310 s", "14 s", "3 min", "2 h 5 min", "4 d".
std::string humanDuration(Duration span);

}  // namespace mainstay
