// KernelRing: one node's kernel log, read with the exact semantics of /dev/kmsg: one record per read, EPIPE
// after an overrun, EAGAIN at the end, seek, sequence numbers, continuation flag, dictionary lines.
//
// Not modelled: the rate limit on writes of user space, the console, caller fields, and that one kernel
// serves all nodes of this machine (each node of the local cluster has a ring of its own).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "agent/sources/kernel_log.h"
#include "api/object.h"
#include "base/signal.h"

namespace mainstay::local {

// What the kernel itself logs.
struct KernelMessage {
  int level = 6;     // 0 emergency ... 7 debug
  int facility = 0;  // 0 = kernel
  std::string text = {};
  bool continuation = false;    // flag 'c': goes on with the record before
  api::Labels dictionary = {};  // SUBSYSTEM, DEVICE, ...
};

// Thread-safe.
class KernelRing {
 public:
  static constexpr std::size_t kDefaultCapacity = 128u << 10;  // bytes of records, as the kernel's default
  static constexpr std::size_t kMaxWrite = 1024;               // of one write by user space, else EINVAL
  static constexpr std::size_t kMaxRecord = 2048;              // of one record as it is read

  // Records carry the time since `boot`.
  explicit KernelRing(TimePoint boot, std::size_t capacity = kDefaultCapacity)
      : boot_(boot), capacity_(capacity) {}

  void print(const KernelMessage& message, TimePoint now);
  // write(2) by user space: "<N>" in front gives level and facility (0 becomes 1, none means level 4).
  // Without a newline at the end the record stays unseen until the next one comes. kInvalidArgument when it
  // is too long.
  Result<> write(std::string_view bytes, TimePoint now);
  // The node is dead: every reader's next read fails.
  void close();

  // Reads the record at `position` and moves it on.
  Result<agent::KernelLogRead> readAt(std::uint64_t& position) const;
  std::uint64_t oldest() const;
  std::uint64_t end() const;  // the number that the next record gets

  // Called for each record and at the close, until removed; must be quick, and must not call the ring.
  using Listener = std::function<void()>;
  int addListener(Listener listener);
  void removeListener(int id);

 private:
  std::string format(int priority, const KernelMessage& message, TimePoint now) const;
  void flushHeld();
  void publish(std::string record);
  void notify() const;

  const TimePoint boot_;
  const std::size_t capacity_;
  mutable std::mutex mutex_;  // guards all below
  std::deque<std::string> records_;
  std::size_t bytes_ = 0;
  std::uint64_t oldest_ = 0;
  std::string held_;  // written without a newline
  bool closed_ = false;
  int nextListener_ = 0;
  std::map<int, Listener> listeners_;
};

// The ring as the agent reads it within this process: `signal` is raised when there is something to read, and
// must outlive every log that was opened.
agent::OpenKernelLog openRing(std::shared_ptr<KernelRing> ring, Signal& signal);

}  // namespace mainstay::local
