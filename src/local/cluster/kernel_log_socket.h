// KernelLogSocket: a kernel ring behind a unix socket, so that an agent in a process of its own reads it. The
// protocol is agent::kernel_log_protocol.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "local/cluster/kernel_log.h"

namespace mainstay::local {

// One thread serves all readers. A reader that does not take its answers is cut off: the log never waits.
class KernelLogSocket {
 public:
  static constexpr std::size_t kMaxReaders = 64;  // one more is refused

  // Listens at `path` (at most 107 bytes: the system's limit), replacing a stale socket there.
  static Result<std::unique_ptr<KernelLogSocket>> listen(const std::string& path,
                                                         std::shared_ptr<KernelRing> ring);
  // Ends every connection and removes the socket.
  ~KernelLogSocket();
  KernelLogSocket(const KernelLogSocket&) = delete;
  KernelLogSocket& operator=(const KernelLogSocket&) = delete;

 private:
  struct Reader {
    Descriptor descriptor;
    std::uint64_t position = 0;
    bool armed = false;
  };
  KernelLogSocket(std::string path, Descriptor listener, Descriptor wake, std::shared_ptr<KernelRing> ring);
  void serve(std::stop_token stop);
  void wakeReaders();
  void accept();
  bool answer(Reader& reader);
  std::string answerTo(Reader& reader, char request);
  std::string oneFor(Reader& reader);
  std::string manyFor(Reader& reader);

  const std::string path_;
  const Descriptor listener_;
  const Descriptor wake_;  // eventfd: something was written, or stop
  const std::shared_ptr<KernelRing> ring_;
  int subscription_ = 0;
  std::vector<Reader> readers_;  // the thread's own
  std::jthread thread_;
};

}  // namespace mainstay::local
