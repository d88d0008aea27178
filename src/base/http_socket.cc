#include "base/http_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>

namespace mainstay {

namespace {

// How long a client may go on sending what nobody reads.
constexpr Duration kLinger = std::chrono::seconds(1);

}  // namespace

Result<> HttpSocket::waitReadable(const Deadline& deadline) const {
  return wait(POLLIN, deadline);
}

Result<std::size_t> HttpSocket::read(void* data, std::size_t size, const Deadline& deadline) const {
  for (;;) {
    MAINSTAY_TRY(waitReadable(deadline));
    const ssize_t count = ::recv(socket_.get(), data, size, 0);
    if (count >= 0) {
      return static_cast<std::size_t>(count);
    }
    if (errno != EAGAIN && errno != EINTR) {
      return fail(systemError("reading from the client"));
    }
  }
}

Result<> HttpSocket::write(std::string_view bytes, const Deadline& deadline) const {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      MAINSTAY_TRY(wait(POLLOUT, deadline));
    } else if (errno != EINTR) {
      return fail(systemError("writing to the client"));
    }
  }
  return {};
}

bool HttpSocket::peerClosed() const {
  pollfd state{socket_.get(), POLLRDHUP, 0};
  return ::poll(&state, 1, 0) > 0;
}

void HttpSocket::finish() const {
  ::shutdown(socket_.get(), SHUT_WR);
  const Deadline deadline = Deadline::after(kLinger);
  std::array<char, 4096> rest;
  for (;;) {
    const auto count = read(rest.data(), rest.size(), deadline);
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
