// Channel: a bounded queue between two threads, with the policy for the day it is full in its name.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

namespace mainstay {

template <class T>
class Channel {
 public:
  explicit Channel(std::size_t capacity) : capacity_(capacity) {}

  // False when full or closed: the value is dropped and counted.
  bool tryPush(T value) {
    {
      std::lock_guard lock(mutex_);
      if (closed_ || queue_.size() >= capacity_) {
        ++dropped_;
        return false;
      }
      queue_.push_back(std::move(value));
    }
    changed_.notify_all();
    return true;
  }

  // Waits for room: back-pressure. False when closed or stopped.
  bool push(T value, std::stop_token stop) {
    {
      std::unique_lock lock(mutex_);
      const bool ready = changed_.wait(lock, stop, [&] { return closed_ || queue_.size() < capacity_; });
      if (!ready || closed_) {
        return false;
      }
      queue_.push_back(std::move(value));
    }
    changed_.notify_all();
    return true;
  }

  // Waits for a value; nullopt when stopped, or closed and empty.
  std::optional<T> pop(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return closed_ || !queue_.empty(); });
    return takeFront(lock);
  }

  std::optional<T> tryPop() {
    std::unique_lock lock(mutex_);
    return takeFront(lock);
  }

  // Everything that is there now, without waiting.
  std::vector<T> drain() {
    std::vector<T> all;
    {
      std::lock_guard lock(mutex_);
      all.assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(queue_.end()));
      queue_.clear();
    }
    changed_.notify_all();
    return all;
  }

  // No more values; what is queued can still be taken.
  void close() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

  bool closed() const {
    std::lock_guard lock(mutex_);
    return closed_;
  }

  std::size_t size() const {
    std::lock_guard lock(mutex_);
    return queue_.size();
  }

  std::uint64_t dropped() const {
    std::lock_guard lock(mutex_);
    return dropped_;
  }

 private:
  std::optional<T> takeFront(std::unique_lock<std::mutex>& lock) {
    if (queue_.empty()) {
      return std::nullopt;
    }
    T value = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return value;
  }

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<T> queue_;
  bool closed_ = false;
  std::uint64_t dropped_ = 0;
};

}  // namespace mainstay
