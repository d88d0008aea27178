// RetryPause: how long a source that failed is left alone before it is opened again.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace mainstay::agent {

// 250 ms, doubling, up to 5 s, which is how often node-problem-detector tries.
class RetryPause {
 public:
  Duration next() {
    const Duration pause = pause_;
    pause_ = std::min(pause_ * 2, Duration(std::chrono::seconds(5)));
    return pause;
  }
  void reset() { pause_ = kFirst; }

 private:
  static constexpr Duration kFirst = std::chrono::milliseconds(250);
  Duration pause_ = kFirst;
};

}  // namespace mainstay::agent
