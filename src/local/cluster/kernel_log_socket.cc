#include "local/cluster/kernel_log_socket.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace mainstay::local {
namespace {

namespace protocol = agent::kernel_log_protocol;

// Never waits: false when the reader has gone or its buffer is full.
bool sendMessage(int descriptor, const std::string& message) {
  return send(descriptor, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(message.size());
}

void raiseEvent(int descriptor) {
  const std::uint64_t one = 1;
  // It can only fail when the counter is full, and then the thread is awake anyway.
  (void)!write(descriptor, &one, sizeof one);
}

Result<Descriptor> listenAt(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(Code::kInvalidArgument, "the path " + path + " is longer than " +
                                            std::to_string(sizeof address.sun_path - 1) +
                                            " bytes; choose a shorter folder");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Descriptor listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  unlink(path.c_str());
  if (!listener || bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener.get(), SOMAXCONN) != 0) {
    return fail(systemError("listening at " + path));
  }
  return listener;
}

}  // namespace

Result<std::unique_ptr<KernelLogSocket>> KernelLogSocket::listen(const std::string& path,
                                                                 std::shared_ptr<KernelRing> ring) {
  MAINSTAY_ASSIGN(Descriptor listener, listenAt(path));
  Descriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) {
    return fail(systemError("creating an eventfd"));
  }
  return std::unique_ptr<KernelLogSocket>(
      new KernelLogSocket(path, std::move(listener), std::move(wake), std::move(ring)));
}

KernelLogSocket::KernelLogSocket(std::string path, Descriptor listener, Descriptor wake,
                                 std::shared_ptr<KernelRing> ring)
    : path_(std::move(path)), listener_(std::move(listener)), wake_(std::move(wake)), ring_(std::move(ring)) {
  subscription_ = ring_->addListener([number = wake_.get()] { raiseEvent(number); });
  thread_ = std::jthread([this](std::stop_token stop) { serve(stop); });
}

KernelLogSocket::~KernelLogSocket() {
  ring_->removeListener(subscription_);
  thread_.request_stop();
  raiseEvent(wake_.get());
  thread_.join();
  unlink(path_.c_str());
}

void KernelLogSocket::serve(std::stop_token stop) {
  while (!stop.stop_requested()) {
    std::vector<pollfd> watched = {{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const Reader& reader : readers_) {
      watched.push_back({reader.descriptor.get(), POLLIN, 0});
    }
    if (poll(watched.data(), watched.size(), -1) < 0) {
      continue;  // EINTR
    }
    if (watched[0].revents != 0) {
      wakeReaders();
    }
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      if (watched[i + 2].revents != 0 && !answer(readers_[i])) {
        readers_[i].descriptor.reset();
      }
    }
    std::erase_if(readers_, [](const Reader& reader) { return !reader.descriptor; });
    if (watched[1].revents != 0) {
      accept();
    }
  }
}

void KernelLogSocket::wakeReaders() {
  std::uint64_t count = 0;
  (void)!read(wake_.get(), &count, sizeof count);  // only resets the counter
  for (Reader& reader : readers_) {
    if (std::exchange(reader.armed, false) &&
        !sendMessage(reader.descriptor.get(), std::string(1, protocol::kWakeMessage))) {
      shutdown(reader.descriptor.get(), SHUT_RDWR);  // its next turn removes it
    }
  }
}

void KernelLogSocket::accept() {
  Descriptor descriptor(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (descriptor && readers_.size() < kMaxReaders) {
    readers_.push_back({std::move(descriptor), ring_->oldest()});
  }
}

// False ends the connection: the reader has gone, or cannot be answered.
bool KernelLogSocket::answer(Reader& reader) {
  char request = 0;
  const ssize_t got = recv(reader.descriptor.get(), &request, 1, MSG_DONTWAIT);
  if (got < 0) {
    return errno == EAGAIN || errno == EINTR;
  }
  const std::string message = got == 1 ? answerTo(reader, request) : "";
  return !message.empty() && sendMessage(reader.descriptor.get(), message);
}

// "" ends the connection: the log is closed, or the request is none of the protocol's.
std::string KernelLogSocket::answerTo(Reader& reader, char request) {
  reader.armed = false;
  switch (request) {
    case protocol::kSeekOldestRequest:
      reader.position = ring_->oldest();
      return {protocol::kSoughtAnswer};
    case protocol::kSeekEndRequest:
      reader.position = ring_->end();
      return {protocol::kSoughtAnswer};
    case protocol::kReadRequest:
      return manyFor(reader);
    default:
      return {};
  }
}

std::string KernelLogSocket::manyFor(Reader& reader) {
  std::string first = oneFor(reader);
  if (first.empty() || first.front() != protocol::kRecordAnswer) {
    return first;
  }
  std::string answer = protocol::kRecordsAnswer + first.substr(1) + '\0';
  while (answer.size() + KernelRing::kMaxRecord < protocol::kMaxRecordsAnswer) {
    const std::uint64_t before = reader.position;
    const std::string next = oneFor(reader);
    if (next.empty() || next.front() != protocol::kRecordAnswer) {
      reader.position = before;  // what else there is, the next request is told
      reader.armed = false;
      break;
    }
    answer += next.substr(1) + '\0';
  }
  return answer;
}

std::string KernelLogSocket::oneFor(Reader& reader) {
  const Result<agent::KernelLogRead> read = ring_->readAt(reader.position);
  if (!read) {
    return {};
  }
  reader.armed = read->kind == agent::KernelLogRead::Kind::kEmpty;
  switch (read->kind) {
    case agent::KernelLogRead::Kind::kRecord:
      return protocol::kRecordAnswer + read->record;
    case agent::KernelLogRead::Kind::kEmpty:
      return {protocol::kEmptyAnswer};
    case agent::KernelLogRead::Kind::kOverrun:
      return {protocol::kOverrunAnswer};
  }
  return {};
}

}  // namespace mainstay::local
