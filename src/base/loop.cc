#include "base/loop.h"

#include <pthread.h>

#include <algorithm>

namespace mainstay {

RealDriver::~RealDriver() {
  std::vector<Running> all;
  {
    std::lock_guard lock(mutex_);
    all.swap(running_);
  }
  for (Running& running : all) {
    running.thread.request_stop();
  }
}

void RealDriver::start(std::shared_ptr<Loop> loop) {
  Loop& ref = *loop;
  std::lock_guard lock(mutex_);
  // The thread keeps the loop alive by itself: stop() called from within a step only detaches it.
  const auto began = std::make_shared<std::atomic<TimePoint>>(kNever);
  running_.push_back(
      {loop, began, std::jthread([this, loop, began](std::stop_token stop) { run(*loop, *began, stop); })});
  pthread_setname_np(running_.back().thread.native_handle(), std::string(ref.name()).substr(0, 15).c_str());
}

void RealDriver::stop(const Loop& loop) {
  Running found;
  {
    std::lock_guard lock(mutex_);
    const auto at = std::ranges::find_if(running_, [&](const Running& r) { return r.loop.get() == &loop; });
    if (at == running_.end()) {
      return;
    }
    found = std::move(*at);
    running_.erase(at);
  }
  found.thread.request_stop();
  if (found.thread.get_id() == std::this_thread::get_id()) {
    found.thread.detach();  // it ends right after the present step
  }
}

std::string RealDriver::stuck(TimePoint now, Duration limit) const {
  std::string found;
  std::lock_guard lock(mutex_);
  for (const Running& running : running_) {
    const TimePoint began = *running.began;
    if (began != kNever && now - began > limit) {
      found += (found.empty() ? "" : "; ") + ("loop " + std::string(running.loop->name())) +
               " has been in one step since " + formatTime(began);
    }
  }
  return found;
}

void RealDriver::run(Loop& loop, std::atomic<TimePoint>& began, std::stop_token stop) {
  while (!stop.stop_requested()) {
    const TimePoint now = clock_.now();
    began = now;
    const TimePoint wake = loop.step(now);
    began = kNever;
    if (!stop.stop_requested()) {
      loop.signal().waitUntil(clock_, wake, stop);
    }
  }
}

VirtualDriver::VirtualDriver(TimePoint start, std::uint64_t seed) : now_(start), random_(seed) {}

void VirtualDriver::start(std::shared_ptr<Loop> loop) {
  scheduled_.push_back({std::move(loop), now_});
}

void VirtualDriver::stop(const Loop& loop) {
  std::erase_if(scheduled_, [&](const Scheduled& s) { return s.loop.get() == &loop; });
}

bool VirtualDriver::settle(int maxSteps) {
  for (int steps = 0; steps < maxSteps; ++steps) {
    std::vector<std::shared_ptr<Loop>> runnable;
    for (Scheduled& scheduled : scheduled_) {
      if (scheduled.loop->signal().take()) {
        scheduled.wake = now_;
      }
      if (scheduled.wake <= now_) {
        runnable.push_back(scheduled.loop);
      }
    }
    if (runnable.empty()) {
      return true;
    }
    const std::shared_ptr<Loop> loop = runnable[random_() % runnable.size()];
    const TimePoint wake = loop->step(now_);
    // Found again: the step may have started and stopped loops.
    const auto at = std::ranges::find_if(scheduled_, [&](const Scheduled& s) { return s.loop == loop; });
    if (at != scheduled_.end()) {
      at->wake = wake;
    }
  }
  return false;
}

bool VirtualDriver::runUntil(TimePoint end) {
  while (true) {
    if (!settle()) {
      return false;
    }
    TimePoint next = kNever;
    for (const Scheduled& scheduled : scheduled_) {
      next = std::min(next, scheduled.wake);
    }
    if (next > end) {
      now_ = end;
      return settle();
    }
    now_ = next;
  }
}

}  // namespace mainstay
