#include "base/descriptor.h"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <string>
#include <system_error>

namespace mainstay {

namespace {

Code codeOfErrno(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
    case ENXIO:
    case ENODEV:
      return Code::kNotFound;
    case EEXIST:
      return Code::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::kPermissionDenied;
    case EINVAL:
    case ENAMETOOLONG:
    case EISDIR:
      return Code::kInvalidArgument;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return Code::kResourceExhausted;
    case EAGAIN:
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
      return Code::kUnavailable;
    default:
      return Code::kInternal;
  }
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    reset();
    number_ = std::exchange(other.number_, -1);
  }
  return *this;
}

void Descriptor::reset() {
  if (number_ >= 0) {
    ::close(std::exchange(number_, -1));
  }
}

Error systemError(std::string_view what, int number) {
  return {codeOfErrno(number), std::string(what) + ": " + std::generic_category().message(number)};
}

int pollTimeout(const Deadline& deadline) {
  const Duration left = deadline.left();
  if (left == Duration::max()) {
    return -1;
  }
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::min<std::int64_t>(milliseconds, std::numeric_limits<int>::max()));
}

}  // namespace mainstay
