#include "base/crash_point.h"

#include <unistd.h>

#include <charconv>

#include "base/log.h"

namespace mainstay {

CrashPoint::CrashPoint(int write, Side side, End end, std::string kind)
    : write_(write), side_(side), kind_(std::move(kind)), end_(std::move(end)) {}

CrashPoint::CrashPoint(int write, Side side, std::string kind)
    : CrashPoint(
          write, side, [] { _exit(kCrashExitCode); }, std::move(kind)) {}

Result<std::unique_ptr<CrashPoint>> CrashPoint::parse(std::string_view text) {
  const std::size_t sideAt = std::min(text.find(':'), text.size());
  const std::size_t kindAt = std::min(text.find(':', sideAt + 1), text.size());
  const std::string_view count = text.substr(0, sideAt);
  const std::string_view side = text.substr(sideAt, kindAt - sideAt);
  const std::string kind(text.substr(std::min(kindAt + 1, text.size())));
  int write = 0;
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), write);
  const bool counted = error == std::errc() && end == count.data() + count.size() && write > 0;
  if (!counted || (side != ":before" && side != ":after")) {
    return fail(Code::kInvalidArgument, std::string(kCrashAtVariable) + "=" + std::string(text) +
                                            ": expected the number of a write, from 1, and a side of it, "
                                            "such as 7:before or 7:after, then at most "
                                            "what the write's text holds, such as 7:after:/pods/");
  }
  return std::make_unique<CrashPoint>(write, side == ":before" ? Side::kBefore : Side::kAfter, kind);
}

bool CrashPoint::dead() const {
  std::lock_guard lock(mutex_);
  return dead_;
}

int CrashPoint::writes() const {
  std::lock_guard lock(mutex_);
  return writes_;
}

// 0: this write does not count.
int CrashPoint::next(std::string_view what) {
  std::lock_guard lock(mutex_);
  return what.find(kind_) == what.npos ? 0 : ++writes_;
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
