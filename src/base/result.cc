#include "base/result.h"

#include <algorithm>

namespace mainstay {

std::string_view codeName(Code code) {
  switch (code) {
    case Code::kCancelled:
      return "cancelled";
    case Code::kInvalidArgument:
      return "invalid argument";
    case Code::kNotFound:
      return "not found";
    case Code::kAlreadyExists:
      return "already exists";
    case Code::kConflict:
      return "conflict";
    case Code::kGone:
      return "gone";
    case Code::kPermissionDenied:
      return "permission denied";
    case Code::kUnauthenticated:
      return "unauthenticated";
    case Code::kResourceExhausted:
      return "resource exhausted";
    case Code::kFailedPrecondition:
      return "failed precondition";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kDeadlineExceeded:
      return "deadline exceeded";
    case Code::kDataLoss:
      return "data loss";
    case Code::kInternal:
      return "internal";
  }
  return "internal";
}

Error& Error::setRetryAfter(Duration wait) {
  retryAfter_ = wait;
  return *this;
}

Error& Error::with(std::string context) & {
  context_.push_back(std::move(context));
  return *this;
}

Error&& Error::with(std::string context) && {
  context_.push_back(std::move(context));
  return std::move(*this);
}

bool Error::isRetryable() const {
  return code_ == Code::kConflict || code_ == Code::kGone || code_ == Code::kResourceExhausted ||
         code_ == Code::kUnavailable || code_ == Code::kDeadlineExceeded;
}

std::string Error::toString() const {
  std::string text;
  for (auto phrase = context_.rbegin(); phrase != context_.rend(); ++phrase) {
    text += *phrase + ": ";
  }
  return text + message_;
}

}  // namespace mainstay
