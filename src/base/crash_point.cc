#include "base/crash_point.h"

#include <unistd.h>

#include <charconv>

#include "base/log.h"

namespace mainstay {

CrashPoint::CrashPoint(int write, Side side, End end) : write_(write), side_(side), end_(std::move(end)) {}

CrashPoint::CrashPoint(int write, Side side) : CrashPoint(write, side, [] { _exit(kCrashExitCode); }) {}

Result<std::unique_ptr<CrashPoint>> CrashPoint::parse(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view count = text.substr(0, colon);
  const std::string_view side = text.substr(colon);
  int write = 0;
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), write);
  const bool counted = error == std::errc() && end == count.data() + count.size() && write > 0;
  if (!counted || (side != ":before" && side != ":after")) {
    return fail(
        Code::kInvalidArgument,
        std::string(kCrashAtVariable) + "=" + std::string(text) +
            ": expected the number of a write, from 1, and a side of it, such as 7:before or 7:after");
  }
  return std::make_unique<CrashPoint>(write, side == ":before" ? Side::kBefore : Side::kAfter);
}

bool CrashPoint::dead() const {
  std::lock_guard lock(mutex_);
  return dead_;
}

int CrashPoint::writes() const {
  std::lock_guard lock(mutex_);
  return writes_;
}

int CrashPoint::next() {
  std::lock_guard lock(mutex_);
  return ++writes_;
}

bool CrashPoint::hit(int number, Side side, std::string_view what) {
  std::lock_guard lock(mutex_);
  if (!dead_ && number == write_ && side == side_) {
    logWarning("crash point reached",
               {{"write", number}, {"side", side == Side::kBefore ? "before" : "after"}, {"what", what}});
    end_();
    dead_ = true;
  }
  return dead_;
}

}  // namespace mainstay
