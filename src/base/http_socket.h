// One client's connection to HttpServer: a non-blocking socket with poll(2), plain or under TLS, because every wait here
// ends at a deadline, or at once when the server stops.
#pragma once

#include <memory>
#include <string_view>

#include "base/descriptor.h"
#include "base/http_tls.h"

namespace mainstay {

class HttpSocket {
 public:
  // `stopped` becomes readable when the server stops; it must outlive this.
  HttpSocket(Descriptor socket, int stopped) : socket_(std::move(socket)), stopped_(stopped) {}

  // Before anything is read or written: agrees on TLS. kInvalidArgument when the client speaks plain HTTP; it has
  // been told so.
  Result<> secure(TlsIdentity& identity, const Deadline& deadline);

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
  // A step that says how many bytes it moved, as often as it takes until it has moved some.
  template <class Step>
  Result<std::size_t> complete(const Deadline& deadline, Step step) const;
  Result<TlsStep> plainRead(void* data, std::size_t size) const;
  Result<TlsStep> plainWrite(std::string_view bytes) const;

  Descriptor socket_;
  int stopped_;
  std::unique_ptr<TlsSession> tls_;  // null: plain
};

}  // namespace mainstay
