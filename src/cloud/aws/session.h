// Session: who we are to AWS and where, found in the order of AWS's C++ SDK. Found at the first call, not before: a
// program that is never asked to use AWS asks nobody.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "cloud/aws/credentials.h"
#include "cloud/aws/surroundings.h"

namespace mainstay::cloud::aws {

// Thread-safe; one caller finds out, the others wait for it.
class Session {
 public:
  explicit Session(Surroundings surroundings) : surroundings_(std::move(surroundings)) {}

  // As findRegion.
  Result<std::string> region(Deadline deadline);
  // Renewed before they end (kRenewBefore); while that fails, those in hand are used as long as they last.
  // kUnauthenticated with every place that was looked at when there are none.
  Result<Credentials> credentials(Deadline deadline);
  // AWS said that these have ended: the next credentials() finds them anew.
  void expire(const Credentials& ended);

  const Surroundings& surroundings() const { return surroundings_; }

 private:
  const Surroundings surroundings_;
  std::mutex regionMutex_;
  std::string region_;  // guarded by regionMutex_; "" = not found yet
  std::mutex mutex_;
  std::optional<Credentials> held_;  // guarded by mutex_
  TimePoint renewAt_{};              // guarded by mutex_; when to find them anew
};

}  // namespace mainstay::cloud::aws
