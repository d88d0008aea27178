#include "agent/sources/kernel_log.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/descriptor.h"

namespace mainstay::agent {
namespace {

constexpr timeval kAnswerTimeout{
    5, 0};  // a stand-in answers in microseconds; one that is stopped must not hold us

class DeviceLog final : public KernelLog {
 public:
  DeviceLog(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  Result<KernelLogRead> read() override {
    const ssize_t got = ::read(file_.get(), buffer_.data(), buffer_.size());
    if (got > 0) {
      return KernelLogRead{KernelLogRead::Kind::kRecord,
                           std::string(buffer_.data(), static_cast<std::size_t>(got))};
    }
    if (got == 0) {
      return fail(Code::kUnavailable, "reading " + path_ + ": the device is closed");
    }
    switch (errno) {
      case EAGAIN:
      case EINTR:
        return KernelLogRead{};
      case EPIPE:
        return KernelLogRead{KernelLogRead::Kind::kOverrun, {}};
      default:
        return fail(systemError("reading " + path_));
    }
  }

  Result<> seekOldest() override { return seek(SEEK_SET); }
  Result<> seekEnd() override { return seek(SEEK_END); }
  int descriptor() const override { return file_.get(); }

 private:
  Result<> seek(int whence) {
    if (::lseek(file_.get(), 0, whence) < 0) {
      return fail(systemError("seeking in " + path_));
    }
    return {};
  }

  Descriptor file_;
  std::string path_;
  std::array<char, kMaxKernelRecord> buffer_{};
};

class SocketLog final : public KernelLog {
 public:
  SocketLog(Descriptor socket, std::string path) : socket_(std::move(socket)), path_(std::move(path)) {}

  Result<KernelLogRead> read() override {
    if (!ahead_.empty()) {
      return nextAhead();
    }
    MAINSTAY_ASSIGN(const std::string_view answer, ask(kernel_log_protocol::kReadRequest));
    switch (answer.front()) {
      case kernel_log_protocol::kRecordAnswer:
        return KernelLogRead{KernelLogRead::Kind::kRecord, std::string(answer.substr(1))};
      case kernel_log_protocol::kRecordsAnswer:
        ahead_ = answer.substr(1);
        return ahead_.empty() ? unexpected(answer) : Result<KernelLogRead>(nextAhead());
      case kernel_log_protocol::kEmptyAnswer:
        return KernelLogRead{};
      case kernel_log_protocol::kOverrunAnswer:
        return KernelLogRead{KernelLogRead::Kind::kOverrun, {}};
      default:
        return unexpected(answer);
    }
  }

  Result<> seekOldest() override { return seek(kernel_log_protocol::kSeekOldestRequest); }
  Result<> seekEnd() override { return seek(kernel_log_protocol::kSeekEndRequest); }
  int descriptor() const override { return socket_.get(); }

 private:
  KernelLogRead nextAhead() {
    const std::size_t end = std::min(ahead_.find('\0'), ahead_.size());
    KernelLogRead read{KernelLogRead::Kind::kRecord, std::string(ahead_.substr(0, end))};
    ahead_.remove_prefix(std::min(end + 1, ahead_.size()));
    return read;
  }

  // The answer, in buffer_; never empty.
  Result<std::string_view> ask(char request) {
    if (::send(socket_.get(), &request, 1, MSG_NOSIGNAL) != 1) {
      return fail(systemError("asking the kernel log at " + path_));
    }
    while (true) {
      const ssize_t got = ::recv(socket_.get(), buffer_.data(), buffer_.size(), 0);
      if (got < 0 && errno == EINTR) {
        continue;
      }
      if (got < 0) {
        return fail(systemError("reading the kernel log at " + path_));
      }
      if (got == 0) {
        return fail(Code::kUnavailable, "reading the kernel log at " + path_ + ": the other side closed it");
      }
      if (buffer_.front() != kernel_log_protocol::kWakeMessage) {
        return std::string_view(buffer_.data(), static_cast<std::size_t>(got));
      }
    }
  }

  Result<> seek(char request) {
    ahead_ = {};
    MAINSTAY_ASSIGN(const std::string_view answer, ask(request));
    if (answer.front() != kernel_log_protocol::kSoughtAnswer) {
      return unexpected(answer);
    }
    return {};
  }

  tl::unexpected<Error> unexpected(std::string_view answer) const {
    return fail(Code::kInternal, "reading the kernel log at " + path_ + ": unknown answer with tag " +
                                     std::to_string(static_cast<unsigned char>(answer.front())));
  }

  Descriptor socket_;
  std::string path_;
  std::array<char, kernel_log_protocol::kMaxRecordsAnswer> buffer_{};
  std::string_view ahead_;  // of buffer_: records that were sent along and are not read yet
};

Result<std::unique_ptr<KernelLog>> openDevice(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file) {
    return std::make_unique<DeviceLog>(std::move(file), path);
  }
  Error error = systemError("opening the kernel log " + path);
  if (error.code() == Code::kPermissionDenied) {
    return fail(Code::kPermissionDenied,
                error.toString() +
                    "; it takes read access to the device and the capability CAP_SYSLOG. In a pod: mount "
                    "the device and add SYSLOG to securityContext.capabilities.add");
  }
  return fail(std::move(error));
}

Result<std::unique_ptr<KernelLog>> openSocket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return fail(Code::kInvalidArgument,
                "the kernel log's socket path is longer than a socket address holds (" +
                    std::to_string(sizeof(address.sun_path) - 1) + " bytes): " + path);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return fail(systemError("connecting to the kernel log at " + path));
  }
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kAnswerTimeout, sizeof(kAnswerTimeout)) != 0) {
    return fail(systemError("setting the time-out of the kernel log at " + path));
  }
  return std::make_unique<SocketLog>(std::move(socket), path);
}

}  // namespace

Result<std::unique_ptr<KernelLog>> openKernelLog(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return fail(systemError("opening the kernel log " + path));
  }
  if (S_ISCHR(status.st_mode)) {
    return openDevice(path);
  }
  if (S_ISSOCK(status.st_mode)) {
    return openSocket(path);
  }
  return fail(Code::kInvalidArgument,
              "the kernel log " + path + " is neither a character device such as /dev/kmsg nor a socket");
}

}  // namespace mainstay::agent
