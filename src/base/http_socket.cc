#include "base/http_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>

namespace mainstay {

namespace {

// How long a client may go on sending what nobody reads.
constexpr Duration kLinger = std::chrono::seconds(1);
// Go's server answers the same: curl and browsers show it.
constexpr std::string_view kPlainOnTlsPort =
    "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\n\r\nClient sent an HTTP request to an HTTPS "
    "server.\n";

}  // namespace

template <class Step>
Result<std::size_t> HttpSocket::complete(const Deadline& deadline, Step step) const {
  for (;;) {
    MAINSTAY_ASSIGN(const TlsStep done, step());
    if (done.waitFor == 0) {
      return done.count;
    }
    MAINSTAY_TRY(wait(done.waitFor, deadline));
  }
}

Result<> HttpSocket::secure(TlsIdentity& identity, const Deadline& deadline) {
  auto session = std::make_unique<TlsSession>(identity.session(socket_.get()));
  const auto agreed = complete(deadline, [&] { return session->accept(); });
  if (!agreed) {
    if (agreed.error().code() == Code::kInvalidArgument) {
      ignore(write(kPlainOnTlsPort, deadline), "it is a courtesy");
    }
    return fail(agreed.error());
  }
  tls_ = std::move(session);
  return {};
}

Result<> HttpSocket::waitReadable(const Deadline& deadline) const {
  return tls_ && tls_->pending() ? Result<>() : wait(POLLIN, deadline);
}

Result<std::size_t> HttpSocket::read(void* data, std::size_t size, const Deadline& deadline) const {
  return complete(deadline, [&] { return tls_ ? tls_->read(data, size) : plainRead(data, size); });
}

Result<> HttpSocket::write(std::string_view bytes, const Deadline& deadline) const {
  while (!bytes.empty()) {
    MAINSTAY_ASSIGN(const std::size_t count,
                    complete(deadline, [&] { return tls_ ? tls_->write(bytes) : plainWrite(bytes); }));
    bytes.remove_prefix(count);
  }
  return {};
}

Result<TlsStep> HttpSocket::plainRead(void* data, std::size_t size) const {
  const ssize_t count = ::recv(socket_.get(), data, size, 0);
  if (count >= 0) {
    return TlsStep{static_cast<std::size_t>(count), 0};
  }
  if (errno == EAGAIN || errno == EINTR) {
    return TlsStep{0, POLLIN};
  }
  return fail(systemError("reading from the client"));
}

Result<TlsStep> HttpSocket::plainWrite(std::string_view bytes) const {
  const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (count >= 0) {
    return TlsStep{static_cast<std::size_t>(count), 0};
  }
  if (errno == EAGAIN || errno == EINTR) {
    return TlsStep{0, POLLOUT};
  }
  return fail(systemError("writing to the client"));
}

bool HttpSocket::peerClosed() const {
  pollfd state{socket_.get(), POLLRDHUP, 0};
  return ::poll(&state, 1, 0) > 0;
}

void HttpSocket::finish() const {
  if (tls_) {
    tls_->close();
  }
  ::shutdown(socket_.get(), SHUT_WR);
  const Deadline deadline = Deadline::after(kLinger);
  std::array<char, 4096> rest;
  for (;;) {
    const auto count = complete(deadline, [&] { return plainRead(rest.data(), rest.size()); });
    if (!count || *count == 0) {
      return;
    }
  }
}

Result<> HttpSocket::wait(short events, const Deadline& deadline) const {
  for (;;) {
    pollfd states[] = {{socket_.get(), events, 0}, {stopped_, POLLIN, 0}};
    const int ready = ::poll(states, 2, pollTimeout(deadline));
    if (ready < 0 && errno != EINTR) {
      return fail(systemError("waiting for the client"));
    }
    if (states[1].revents != 0) {
      return fail(Code::kCancelled, "the server stops");
    }
    if (ready > 0) {
      return {};
    }
    if (deadline.expired()) {
      return fail(Code::kDeadlineExceeded, "the client was too slow");
    }
  }
}

}  // namespace mainstay
