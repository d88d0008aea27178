// Interrupt: SIGTERM and SIGINT as something that every wait of the trainer listens to.
#pragma once

#include <chrono>

namespace trainer {

using Instant = std::chrono::steady_clock::time_point;

// What a wait on a file descriptor is for; the values of poll(2).
struct Awaited {
  int fd = -1;
  short events = 0;
};

class Interrupt {
 public:
  // Blocks both signals in this thread and takes them through a descriptor instead. One per process.
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Waits until one of two descriptors is ready (fd -1: none) or `deadline`: false. Throws
  // Failure(kTerminated) when a signal has come.
  bool wait(Awaited first, Awaited second, Instant deadline);
  // Nothing but time and signals.
  void sleepUntil(Instant deadline) { wait({}, {}, deadline); }

 private:
  int fd_;
};

}  // namespace trainer
