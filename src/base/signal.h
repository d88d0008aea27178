// Signal: "there is something new for you". Coalesces; safe to notify from any thread.
#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "base/time.h"

namespace mainstay {

class Signal {
 public:
  void notify();
  // True when notified since the last take; clears it.
  bool take();
  // Waits until notified, `wake` (as told by `clock`) or stop. Clears the notification.
  void waitUntil(const Clock& clock, TimePoint wake, std::stop_token stop);

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool raised_ = false;
};

}  // namespace mainstay
