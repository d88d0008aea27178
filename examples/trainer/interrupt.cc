#include "trainer/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "trainer/failure.h"

namespace trainer {

Interrupt::Interrupt() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  fd_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd_ < 0) {
    throw Failure(Exit::kSettings, std::string("signalfd: ") + std::strerror(errno));
  }
}

Interrupt::~Interrupt() {
  close(fd_);
}

bool Interrupt::wait(Awaited first, Awaited second, Instant deadline) {
  std::array<pollfd, 3> polled = {pollfd{fd_, POLLIN, 0}, pollfd{first.fd, first.events, 0},
                                  pollfd{second.fd, second.events, 0}};
  for (;;) {
    const auto left = std::max(deadline - std::chrono::steady_clock::now(), Instant::duration::zero());
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    const timespec timeout{seconds.count(), std::chrono::nanoseconds(left - seconds).count()};
    const int ready = ppoll(polled.data(), polled.size(), &timeout, nullptr);
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    if (polled[0].revents != 0) {
      throw Failure(Exit::kTerminated, "told to stop (SIGTERM)");
    }
    return ready > 0;
  }
}

}  // namespace trainer
