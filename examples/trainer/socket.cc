#include "trainer/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "trainer/failure.h"

namespace trainer {
namespace {

constexpr std::chrono::milliseconds kConnectPause{20};  // a peer that does not listen yet
constexpr int kBacklog = 128;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const std::string& address, int port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  return {error == 0 ? found : nullptr, &freeaddrinfo};
}

Socket openSocket() {
  return Socket(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

void setOption(const Socket& socket, int level, int option) {
  const int on = 1;
  setsockopt(socket.fd(), level, option, &on, sizeof on);
}

bool tryConnect(const Socket& socket, const addrinfo& to, Interrupt& interrupt, Instant deadline) {
  if (connect(socket.fd(), to.ai_addr, to.ai_addrlen) == 0) {
    return true;
  }
  if (errno != EINPROGRESS || !interrupt.wait({socket.fd(), POLLOUT}, {}, deadline)) {
    return false;
  }
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

}  // namespace

Socket::Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Socket::~Socket() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

Socket Socket::listenOn(const std::string& address, int port) {
  const Addresses at = resolve(address, port, AI_PASSIVE);
  Socket socket = openSocket();
  setOption(socket, SOL_SOCKET, SO_REUSEADDR);
  if (!at || bind(socket.fd(), at->ai_addr, at->ai_addrlen) != 0 || listen(socket.fd(), kBacklog) != 0) {
    throw Failure(Exit::kSettings, "cannot listen on " + address + ":" + std::to_string(port) + ": " +
                                       (at ? std::strerror(errno) : "no such address"));
  }
  return socket;
}

Socket Socket::connectTo(const std::string& address, int port, Interrupt& interrupt, Instant deadline) {
  while (std::chrono::steady_clock::now() < deadline) {
    // The name is looked up each time: a service gets its address when its pod starts.
    const Addresses to = resolve(address, port, 0);
    Socket socket = openSocket();
    if (to && tryConnect(socket, *to, interrupt, deadline)) {
      setOption(socket, IPPROTO_TCP, TCP_NODELAY);
      return socket;
    }
    interrupt.sleepUntil(std::chrono::steady_clock::now() + kConnectPause);
  }
  throw Failure(Exit::kLostPeer, "nobody answers at " + address + ":" + std::to_string(port));
}

Socket Socket::accept(Interrupt& interrupt, Instant deadline, const std::string& whatFor) {
  for (;;) {
    Socket peer(accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (peer.fd() >= 0) {
      setOption(peer, IPPROTO_TCP, TCP_NODELAY);
      return peer;
    }
    if (!interrupt.wait({fd_, POLLIN}, {}, deadline)) {
      throw Failure(Exit::kLostPeer, "gave up waiting for " + whatFor);
    }
  }
}

int Socket::port() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

bool Socket::readLine(std::string& line, std::size_t limit, Interrupt& interrupt, Instant deadline) {
  line.clear();
  while (line.size() < limit) {
    // One byte at a time: what follows the line belongs to the next reader, and these lines are rare and
    // short.
    char next = 0;
    const long got = receiveSome(std::as_writable_bytes(std::span(&next, 1)));
    if (got < 0 || (got == 0 && !interrupt.wait({fd_, POLLIN}, {}, deadline))) {
      return false;
    }
    if (got > 0 && next == '\n') {
      return true;
    }
    if (got > 0) {
      line += next;
    }
  }
  return false;
}

bool Socket::writeAll(std::string_view text, Interrupt& interrupt, Instant deadline) {
  while (!text.empty()) {
    const long sent = sendSome(std::as_bytes(std::span(text)));
    if (sent < 0 || (sent == 0 && !interrupt.wait({fd_, POLLOUT}, {}, deadline))) {
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

long Socket::sendSome(std::span<const std::byte> bytes) {
  const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  const bool later = sent < 0 && (errno == EAGAIN || errno == EINTR);
  return later ? 0 : sent;
}

long Socket::receiveSome(std::span<std::byte> bytes) {
  const ssize_t got = recv(fd_, bytes.data(), bytes.size(), 0);
  const bool later = got < 0 && (errno == EAGAIN || errno == EINTR);
  return later ? 0 : (got == 0 ? -1 : got);
}

}  // namespace trainer
