#include "base/interrupt.h"

#include <csignal>

namespace mainstay {

namespace {

sigset_t interrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

void blockInterrupts() {
  const sigset_t signals = interrupts();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

int waitForInterrupt() {
  const sigset_t signals = interrupts();
  int received = 0;
  sigwait(&signals, &received);
  return received;
}

std::optional<int> waitForInterrupt(Duration limit) {
  const sigset_t signals = interrupts();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(limit);
  const timespec wait{seconds.count(), std::chrono::nanoseconds(limit - seconds).count()};
  const int received = sigtimedwait(&signals, nullptr, &wait);
  return received > 0 ? std::optional(received) : std::nullopt;
}

bool interrupted() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1;
}

}  // namespace mainstay
