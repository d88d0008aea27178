#include "local/api/faults.h"

#include <algorithm>

namespace mainstay::local {

void Faults::arm(Fault fault) {
  std::lock_guard lock(mutex_);
  Fault slow = fault;
  slow.status = 0;
  slow.delay = std::clamp(fault.delay, Duration::zero(), kMaxDelay);
  fault.delay = Duration::zero();
  for (Fault& part : {std::ref(fault), std::ref(slow)}) {
    if (part.status == 0 && part.delay == Duration::zero()) {
      continue;
    }
    if (armed_.size() >= kMaxFaults) {
      armed_.erase(armed_.begin());
    }
    armed_.push_back(part);
  }
}

void Faults::clear() {
  std::lock_guard lock(mutex_);
  armed_.clear();
}

std::optional<Fault> Faults::take(const std::string& verb, const std::string& path, bool error) {
  std::lock_guard lock(mutex_);
  const auto at = std::find_if(armed_.begin(), armed_.end(), [&](const Fault& fault) {
    return (fault.status != 0) == error && (fault.verb.empty() || fault.verb == verb) &&
           path.starts_with(fault.path);
  });
  if (at == armed_.end()) {
    return std::nullopt;
  }
  Fault taken = *at;
  if (--at->count <= 0) {
    armed_.erase(at);
  }
  return taken;
}

std::optional<Fault> Faults::takeError(const std::string& verb, const std::string& path) {
  return take(verb, path, true);
}

Duration Faults::takeDelay(const std::string& verb, const std::string& path) {
  const auto fault = take(verb, path, false);
  return fault ? fault->delay : Duration::zero();
}

std::vector<Fault> Faults::armed() const {
  std::lock_guard lock(mutex_);
  return armed_;
}

Result<Fault> decodeFault(const Json& body) {
  DecodeErrors errors;
  const Cursor root(body, errors);
  root.allow({"verb", "path", "count", "status", "reason", "message", "retryAfterSeconds", "delay"});
  Fault fault;
  fault.verb = root.at("verb").string("");
  fault.path = root.at("path").string("");
  fault.count = static_cast<int>(std::clamp<std::int64_t>(root.at("count").integer(1), 1, 1'000'000));
  const std::int64_t status = root.at("status").integer(0);
  if (status != 0 && (status < 400 || status > 599)) {
    root.at("status").error("expected 0 or an HTTP error status from 400 to 599");
  }
  fault.status = static_cast<int>(status);
  fault.reason = root.at("reason").string(fault.reason);
  fault.message = root.at("message").string(fault.message);
  if (root.at("retryAfterSeconds").exists()) {
    fault.retryAfterSeconds =
        static_cast<int>(std::clamp<std::int64_t>(root.at("retryAfterSeconds").integer(), 0, 3600));
  }
  fault.delay = root.at("delay").duration(Duration::zero());
  MAINSTAY_TRY(errors.result());
  return fault;
}

Json encodeFault(const Fault& fault) {
  JsonObject body{{"verb", fault.verb},
                  {"path", fault.path},
                  {"count", fault.count},
                  {"status", fault.status},
                  {"reason", fault.reason},
                  {"message", fault.message},
                  {"delay", formatDuration(fault.delay)}};
  if (fault.retryAfterSeconds) {
    body["retryAfterSeconds"] = *fault.retryAfterSeconds;
  }
  return body;
}

}  // namespace mainstay::local
