// CrashPoint: ends the process at its n-th outside write, for the proof that a crash anywhere loses and
// doubles nothing. One counter is shared by the wrappers of every door (kube/testing.h, cloud/testing.h), so
// that n counts all of them in order.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mainstay {

// Environment variable that programs read: MAINSTAY_CRASH_AT=7:before or 7:after. 2:after:/pods/ is the second
// of the writes whose text holds "/pods/", wherever it comes among the others.
inline constexpr char kCrashAtVariable[] = "MAINSTAY_CRASH_AT";
// As after SIGKILL.
inline constexpr int kCrashExitCode = 137;

// Thread-safe.
class CrashPoint {
 public:
  // kBefore: the write is never sent. kAfter: it is carried out, and nobody hears the answer.
  enum class Side { kBefore, kAfter };
  using End = std::function<void()>;

  // `write` counts from 1, of the writes whose text holds `kind` ("": of all). `end` is _exit(137); a test
  // gives another, which returns: the object then plays dead.
  CrashPoint(int write, Side side, End end, std::string kind = "");
  CrashPoint(int write, Side side, std::string kind);
  // The variable's text; the error says what was expected.
  static Result<std::unique_ptr<CrashPoint>> parse(std::string_view text);

  // Runs one write at its number. `what` is logged when this is where the process ends ("PATCH
  // /api/v1/nodes/a"). A dead point sends nothing any more and answers kCancelled.
  template <class Send>
  auto write(std::string_view what, Send send) -> decltype(send()) {
    const int number = next(what);
    if (hit(number, Side::kBefore, what)) {
      return fail(Code::kCancelled, "the process has ended at its crash point");
    }
    auto answer = send();
    if (hit(number, Side::kAfter, what)) {
      return fail(Code::kCancelled, "the process has ended at its crash point");
    }
    return answer;
  }
  // True after `end` has returned.
  bool dead() const;
  // Writes begun so far, of those that count.
  int writes() const;

 private:
  int next(std::string_view what);
  bool hit(int number, Side side, std::string_view what);

  const int write_;
  const Side side_;
  const std::string kind_;
  const End end_;
  mutable std::mutex mutex_;
  int writes_ = 0;     // guarded by mutex_
  bool dead_ = false;  // guarded by mutex_
};

}  // namespace mainstay
