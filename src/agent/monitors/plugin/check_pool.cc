#include "agent/monitors/plugin/check_pool.h"

namespace mainstay::agent {

// What is under way fits both queues, so neither is ever full.
CheckPool::CheckPool(std::size_t threads, Run run, Signal& signal)
    : run_(std::move(run)), signal_(signal), waiting_(threads), finished_(threads) {
  for (std::size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
}

// All at once: each may take a moment to end its child.
CheckPool::~CheckPool() {
  for (std::jthread& thread : threads_) {
    thread.request_stop();
  }
}

void CheckPool::start(std::size_t check) {
  waiting_.tryPush(check);
}

std::vector<FinishedCheck> CheckPool::takeFinished() {
  return finished_.drain();
}

void CheckPool::work(const std::stop_token& stop) {
  for (;;) {
    const auto check = waiting_.pop(stop);
    if (!check || stop.stop_requested()) {
      return;
    }
    finished_.push({*check, run_(*check, stop)}, stop);
    signal_.notify();
  }
}

}  // namespace mainstay::agent
