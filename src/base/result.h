// Result<T>: a value or an Error that says what failed, where and why.
//
// Every fallible function of Mainstay returns one; exceptions of third parties are caught where they enter
// and turned into an Error. Each layer adds one phrase of context ("reading rule file x.json"); the layer
// that decides what to do about the failure logs it, once.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "base/time.h"

namespace mainstay {

// The canonical kinds of failure. What a caller may branch on; everything finer is text.
enum class Code {
  kCancelled,           // the caller asked us to stop
  kInvalidArgument,     // the input is wrong and will be wrong again
  kNotFound,            // HTTP 404, ENOENT
  kAlreadyExists,       // HTTP 409 reason AlreadyExists
  kConflict,            // HTTP 409: someone else wrote in between; read again
  kGone,                // HTTP 410: the resourceVersion is too old; list again
  kPermissionDenied,    // HTTP 403, EACCES, EPERM
  kUnauthenticated,     // HTTP 401
  kResourceExhausted,   // HTTP 429; see Error::retryAfter()
  kFailedPrecondition,  // the world is not in the state that the step needs
  kUnavailable,         // connection refused or lost, HTTP 502, 503
  kDeadlineExceeded,    // our deadline, or HTTP 504
  kDataLoss,            // records or bytes are gone
  kInternal,            // everything else
};

std::string_view codeName(Code code);

class [[nodiscard]] Error {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  // How long the server asked us to wait, when it did (HTTP Retry-After).
  std::optional<Duration> retryAfter() const { return retryAfter_; }
  Error& setRetryAfter(Duration wait);

  // Adds what this layer was doing; the outermost phrase is printed first: "draining node-7: evicting pod x:
  // ...".
  Error& with(std::string context) &;
  Error&& with(std::string context) &&;

  // Conflict, gone, exhausted, unavailable and deadline: the same call may succeed later.
  bool isRetryable() const;

  // "outer: inner: message".
  std::string toString() const;

 private:
  Code code_;
  std::string message_;
  std::vector<std::string> context_;  // innermost first
  std::optional<Duration> retryAfter_;
};

template <class T = void>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}
inline tl::unexpected<Error> fail(Code code, std::string message) {
  return fail(Error(code, std::move(message)));
}

// For a failure that is deliberately of no consequence; `why` is for the reader.
template <class T>
void ignore(const Result<T>& result, std::string_view why) {
  (void)result;
  (void)why;
}

}  // namespace mainstay

#define MAINSTAY_CONCAT_INNER(a, b) a##b
#define MAINSTAY_CONCAT(a, b) MAINSTAY_CONCAT_INNER(a, b)

// MAINSTAY_ASSIGN(auto node, readNode(name));  declares `node`, or returns the error.
#define MAINSTAY_ASSIGN(declaration, expression) \
  MAINSTAY_ASSIGN_INNER(MAINSTAY_CONCAT(mainstayResult, __LINE__), declaration, expression)
#define MAINSTAY_ASSIGN_INNER(temporary, declaration, expression) \
  auto temporary = (expression);                                  \
  if (!temporary) {                                               \
    return tl::make_unexpected(std::move(temporary).error());     \
  }                                                               \
  declaration = *std::move(temporary)

// MAINSTAY_TRY(writeNode(name));  returns the error, if any.
#define MAINSTAY_TRY(expression)                                  \
  do {                                                            \
    if (auto mainstayTry = (expression); !mainstayTry) {          \
      return tl::make_unexpected(std::move(mainstayTry).error()); \
    }                                                             \
  } while (false)
