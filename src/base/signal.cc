#include "base/signal.h"

#include <algorithm>
#include <utility>

namespace mainstay {

void Signal::notify() {
  {
    std::lock_guard lock(mutex_);
    raised_ = true;
  }
  changed_.notify_all();
}

bool Signal::take() {
  std::lock_guard lock(mutex_);
  return std::exchange(raised_, false);
}

void Signal::waitUntil(const Clock& clock, TimePoint wake, std::stop_token stop) {
  // An hour at a time: adding TimePoint::max() to a steady clock would overflow.
  const Duration span = wake == kNever
                            ? Duration(std::chrono::hours(1))
                            : std::clamp(wake - clock.now(), Duration(0), Duration(std::chrono::hours(1)));
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, stop, span, [&] { return raised_; });
  raised_ = false;
}

}  // namespace mainstay
