#include "agent/sources/source_thread.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace mainstay::agent {

SourceThread::SourceThread(std::string name, std::unique_ptr<WaitableSource> reader, const Clock& clock,
                           Signal& signal)
    : name_(std::move(name)),
      reader_(std::move(reader)),
      clock_(clock),
      signal_(signal),
      news_(kQueue),
      stopEvent_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this](std::stop_token stop) { run(stop); }) {}

SourceThread::~SourceThread() {
  thread_.request_stop();
  const std::uint64_t one = 1;
  // Cannot fail: the counter starts at zero.
  [[maybe_unused]] const ssize_t written = ::write(stopEvent_.get(), &one, sizeof(one));
}

std::vector<SourceNews> SourceThread::poll(TimePoint) {
  return news_.drain();
}

void SourceThread::run(std::stop_token stop) {
  ::pthread_setname_np(::pthread_self(), name_.c_str());
  while (!stop.stop_requested()) {
    for (SourceNews& news : reader_->poll(clock_.now())) {
      if (news_.size() >= kQueue) {
        signal_.notify();  // the loop has to make room
      }
      if (!news_.push(std::move(news), stop)) {
        return;
      }
    }
    if (news_.size() > 0) {
      signal_.notify();
    }
    waitForMore(stop);
  }
}

void SourceThread::waitForMore(std::stop_token stop) {
  const TimePoint next = reader_->nextPoll();
  const TimePoint now = clock_.now();
  if (stop.stop_requested() || next <= now) {
    return;
  }
  std::array<pollfd, 2> files{{{stopEvent_.get(), POLLIN, 0}, {reader_->descriptor(), POLLIN, 0}}};
  const Deadline deadline = next == kNever ? Deadline::never() : Deadline::after(next - now);
  ::poll(files.data(), files.size(), pollTimeout(deadline));
}

}  // namespace mainstay::agent
