// AsideThread: a thread on which something is done that may hang (a look at a device, a write to a disk), so that the
// agent's loop never waits for it. It is asked and answers, and can be left behind.
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/time.h"

namespace mainstay::agent {

// Used by one thread, the loop's.
template <class Question, class Answer>
class AsideThread {
 public:
  using Do = std::function<Answer(const Question& question)>;

  // `onAnswer` is called on the thread, never after the destructor. `name` is what ps shows, at most 15 bytes of it.
  AsideThread(const std::string& name, Do work, std::function<void()> onAnswer)
      : shared_(std::make_shared<Shared>(std::move(work), std::move(onAnswer))),
        thread_([shared = shared_] { shared->run(); }) {
    ::pthread_setname_np(thread_.native_handle(), name.substr(0, kMaxThreadName).c_str());
  }

  // What was asked is done still. What does not end within kPatience is left to its thread, which then owns what it uses.
  ~AsideThread() {
    std::unique_lock lock(shared_->mutex);
    shared_->wanted = false;
    shared_->changed.notify_all();
    const bool ended = shared_->changed.wait_for(lock, kPatience, [&] { return shared_->ended; });
    lock.unlock();
    if (ended) {
      thread_.join();
    } else {
      thread_.detach();
    }
  }
  AsideThread(const AsideThread&) = delete;
  AsideThread& operator=(const AsideThread&) = delete;

  // In place of a question that was not begun.
  void ask(Question question) {
    const std::lock_guard lock(shared_->mutex);
    shared_->asked = std::move(question);
    shared_->changed.notify_all();
  }
  // Once for each question that was done; never waits.
  std::optional<Answer> answer() {
    const std::lock_guard lock(shared_->mutex);
    return std::exchange(shared_->answer, std::nullopt);
  }

  static constexpr std::chrono::seconds kPatience{1};

 private:
  static constexpr std::size_t kMaxThreadName = 15;  // the kernel's limit

  // Kept by both sides, for as long as the later one lives.
  struct Shared {
    const Do work;
    const std::function<void()> onAnswer;
    std::mutex mutex;
    std::condition_variable changed;
    // All below guarded by mutex.
    bool wanted = true;  // somebody waits for answers
    bool ended = false;
    std::optional<Question> asked;
    std::optional<Answer> answer;

    Shared(Do todo, std::function<void()> tell) : work(std::move(todo)), onAnswer(std::move(tell)) {}

    void run() {
      std::unique_lock lock(mutex);
      for (;;) {
        changed.wait(lock, [&] { return asked || !wanted; });
        if (!asked) {
          break;
        }
        const Question question = *std::exchange(asked, std::nullopt);
        lock.unlock();
        Answer found = work(question);
        lock.lock();
        answer = std::move(found);
        if (wanted && onAnswer) {
          onAnswer();
        }
      }
      ended = true;
      changed.notify_all();
    }
  };

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace mainstay::agent
