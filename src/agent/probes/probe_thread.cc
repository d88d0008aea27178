#include "agent/probes/probe_thread.h"

#include <pthread.h>

#include <condition_variable>
#include <mutex>

namespace mainstay::agent::probes {
namespace {

constexpr std::size_t kMaxThreadName = 15;  // the kernel's limit

}  // namespace

// Kept by both sides, for as long as the later one lives.
struct ProbeThread::Shared {
  const Ask look;
  std::mutex mutex;
  std::condition_variable changed;
  // All below guarded by mutex.
  Signal* signal;  // nullptr: nobody waits for answers any more
  std::optional<TimePoint> asked;
  std::optional<Answer> answer;
  bool ended = false;

  Shared(Ask ask, Signal& toRaise) : look(std::move(ask)), signal(&toRaise) {}

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return asked || !signal; });
      if (!signal) {
        break;
      }
      const TimePoint now = *std::exchange(asked, std::nullopt);
      lock.unlock();
      Answer found = look(now);
      lock.lock();
      answer = std::move(found);
      if (signal) {
        signal->notify();
      }
    }
    ended = true;
    changed.notify_all();
  }
};

ProbeThread::ProbeThread(const std::string& name, Ask ask, Signal& signal)
    : shared_(std::make_shared<Shared>(std::move(ask), signal)),
      thread_([shared = shared_] { shared->run(); }) {
  ::pthread_setname_np(thread_.native_handle(), name.substr(0, kMaxThreadName).c_str());
}

ProbeThread::~ProbeThread() {
  std::unique_lock lock(shared_->mutex);
  shared_->signal = nullptr;
  shared_->changed.notify_all();
  const bool ended = shared_->changed.wait_for(lock, kPatience, [&] { return shared_->ended; });
  lock.unlock();
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void ProbeThread::ask(TimePoint now) {
  const std::lock_guard lock(shared_->mutex);
  shared_->asked = now;
  shared_->changed.notify_all();
}

std::optional<Answer> ProbeThread::answer() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->answer, std::nullopt);
}

}  // namespace mainstay::agent::probes
