// Socket: a TCP connection or listener whose waits have a deadline and heed the Interrupt.
#pragma once

#include <span>
#include <string>

#include "trainer/interrupt.h"

namespace trainer {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  // Throws Failure(kSettings) when the address cannot be used. Port 0: any free one.
  static Socket listenOn(const std::string& address, int port);
  // Tries again until `deadline`; then throws Failure(kLostPeer).
  static Socket connectTo(const std::string& address, int port, Interrupt& interrupt, Instant deadline);

  // The next connection; throws Failure(kLostPeer) at `deadline`.
  Socket accept(Interrupt& interrupt, Instant deadline, const std::string& whatFor);
  int port() const;

  // Text up to a newline, at most `limit` bytes; false when the other side closes, talks nonsense or is too
  // slow.
  bool readLine(std::string& line, std::size_t limit, Interrupt& interrupt, Instant deadline);
  bool writeAll(std::string_view text, Interrupt& interrupt, Instant deadline);

  // Whatever goes now, without waiting: bytes moved, 0 when none could, -1 when the connection is lost.
  long sendSome(std::span<const std::byte> bytes);
  long receiveSome(std::span<std::byte> bytes);

  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

}  // namespace trainer
