// Faults: failures on purpose. Thread-safe.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "local/api/refusal.h"

namespace mainstay::local {

// "The next `count` calls like this one fail, or are slow."
struct Fault {
  std::string verb = "";  // get, list, watch, create, update, patch, delete, deletecollection; "" = any
  std::string path = "";  // prefix of the request's path; "" = any
  int count = 1;          // how many more times
  int status = 0;         // HTTP status of the answer; 0 = the call goes through
  std::string reason = "InternalError";
  std::string message = "failed on purpose";
  std::optional<int> retryAfterSeconds = std::nullopt;
  Duration delay{};  // before the answer; at most kMaxDelay, and only over HTTP
};

class Faults {
 public:
  static constexpr Duration kMaxDelay = std::chrono::seconds(10);
  static constexpr std::size_t kMaxFaults = 256;  // armed at once; one more replaces the oldest

  void arm(Fault fault);
  void clear();
  // The error that this call is to have, if any; uses it up by one.
  std::optional<Fault> takeError(const std::string& verb, const std::string& path);
  // How long this call is to wait; uses that up by one.
  Duration takeDelay(const std::string& verb, const std::string& path);
  std::vector<Fault> armed() const;

 private:
  std::optional<Fault> take(const std::string& verb, const std::string& path, bool error);

  mutable std::mutex mutex_;
  std::vector<Fault> armed_;  // guarded by mutex_; each has an error or a delay, not both
};

// The body of POST /local/v1/faults: {"verb", "path", "count", "status", "reason", "message",
// "retryAfterSeconds", "delay": "200ms"}; unknown keys are errors.
Result<Fault> decodeFault(const Json& body);
Json encodeFault(const Fault& fault);

}  // namespace mainstay::local
