// One client's connection to HttpServer: a plain non-blocking socket with poll(2), because every wait here ends at a
// deadline, or at once when the server stops.
#pragma once

#include <string_view>

#include "base/descriptor.h"

namespace mainstay {

class HttpSocket {
 public:
  // `stopped` becomes readable when the server stops; it must outlive this.
  HttpSocket(Descriptor socket, int stopped) : socket_(std::move(socket)), stopped_(stopped) {}

  // kDeadlineExceeded when the client is too slow, kCancelled when the server stops.
  Result<> waitReadable(const Deadline& deadline) const;
  // At least one byte, or 0 when the client has closed its side.
  Result<std::size_t> read(void* data, std::size_t size, const Deadline& deadline) const;
  // All of it. A server that stops still sends what the client takes at once, so that answers under way arrive.
  Result<> write(std::string_view bytes, const Deadline& deadline) const;
  bool peerClosed() const;
  // Says that nothing more comes, and lets the client finish for a moment: closing at once, with bytes unread, would reset
  // the connection and could destroy the answer on its way.
  void finish() const;

 private:
  Result<> wait(short events, const Deadline& deadline) const;

  Descriptor socket_;
  int stopped_;
};

}  // namespace mainstay
