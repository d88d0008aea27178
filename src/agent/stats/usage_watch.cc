#include "agent/stats/usage_watch.h"

#include <pthread.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/descriptor.h"

namespace mainstay::agent::stats {

Result<Usage> readUsage(const std::string& mountPoint) {
  struct statvfs figures {};
  if (::statvfs(mountPoint.c_str(), &figures) != 0) {
    return fail(systemError("statvfs of " + mountPoint));
  }
  const auto bytes = [&](fsblkcnt_t blocks) {
    return static_cast<double>(blocks) * static_cast<double>(figures.f_frsize);
  };
  return Usage{bytes(figures.f_blocks - figures.f_bfree), bytes(figures.f_bavail)};
}

void launchThread(std::function<void()> work) {
  std::thread([work = std::move(work)] {
    ::pthread_setname_np(::pthread_self(), "statvfs");
    work();
  }).detach();
}

struct UsageWatch::Mailbox {
  std::mutex mutex;
  Signal* signal = nullptr;  // guarded by mutex; nullptr: nobody listens any more
  std::vector<std::pair<std::string, Result<Usage>>> answers;  // guarded by mutex

  void deliver(const std::string& mountPoint, Result<Usage> answer) {
    const std::lock_guard lock(mutex);
    answers.emplace_back(mountPoint, std::move(answer));
    if (signal) {
      signal->notify();
    }
  }
};

UsageWatch::UsageWatch(Duration deadline, ReadUsage read, Launch launch)
    : deadline_(deadline),
      read_(std::move(read)),
      launch_(std::move(launch)),
      mailbox_(std::make_shared<Mailbox>()) {}

UsageWatch::~UsageWatch() {
  if (mailbox_) {  // not moved away
    const std::lock_guard lock(mailbox_->mutex);
    mailbox_->signal = nullptr;
  }
}

void UsageWatch::start(Signal& signal) {
  const std::lock_guard lock(mailbox_->mutex);
  mailbox_->signal = &signal;
}

void UsageWatch::ask(std::vector<std::string> mountPoints) {
  std::erase_if(answers_, [&](const auto& entry) {
    return std::ranges::find(mountPoints, entry.first) == mountPoints.end();
  });
  ++revision_;
  waiting_.assign(std::make_move_iterator(mountPoints.begin()), std::make_move_iterator(mountPoints.end()));
}

TimePoint UsageWatch::step(TimePoint now) {
  takeAnswers();
  while (!waitsForAnswer(now) && !waiting_.empty()) {
    askNext(now);
    takeAnswers();
  }
  return current_ ? asked_.at(*current_) + deadline_ : kNever;
}

void UsageWatch::takeAnswers() {
  std::vector<std::pair<std::string, Result<Usage>>> arrived;
  {
    const std::lock_guard lock(mailbox_->mutex);
    arrived.swap(mailbox_->answers);
  }
  for (auto& [mountPoint, answer] : arrived) {
    asked_.erase(mountPoint);
    setAnswer(mountPoint, std::move(answer));
    if (current_ == mountPoint) {
      current_.reset();
    }
  }
}

bool UsageWatch::waitsForAnswer(TimePoint now) {
  if (current_ && now - asked_.at(*current_) >= deadline_) {
    setAnswer(*current_, fail(hangs(*current_)));
    current_.reset();
  }
  return current_.has_value();
}

void UsageWatch::setAnswer(const std::string& mountPoint, Result<Usage> answer) {
  answers_.insert_or_assign(mountPoint, std::move(answer));
  ++revision_;
}

Error UsageWatch::hangs(const std::string& mountPoint) const {
  return {Code::kDeadlineExceeded, "statvfs of " + mountPoint + " has not returned for " +
                                       formatDuration(deadline_) +
                                       ": the disk or server behind this mount hangs"};
}

void UsageWatch::askNext(TimePoint now) {
  const std::string mountPoint = std::move(waiting_.front());
  waiting_.pop_front();
  if (!asked_.try_emplace(mountPoint, now).second) {
    setAnswer(mountPoint, fail(hangs(mountPoint)));
    return;
  }
  current_ = mountPoint;
  try {
    launch_(
        [mailbox = mailbox_, read = read_, mountPoint] { mailbox->deliver(mountPoint, read(mountPoint)); });
  } catch (const std::system_error& error) {
    mailbox_->deliver(mountPoint, fail(Code::kResourceExhausted,
                                       std::string("no thread can be started for statvfs: ") + error.what()));
  }
}

}  // namespace mainstay::agent::stats
