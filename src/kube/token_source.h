// TokenSource: the bearer token of the moment. Kubernetes rotates service-account tokens in their file; we
// follow.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "base/file_system.h"

namespace mainstay::kube {

// Thread-safe. Its text is a secret: it goes into a request header and nowhere else.
class TokenSource {
 public:
  // `file` wins over `token`; both "" = no token. `files` must outlive the source.
  TokenSource(const FileSystem& files, std::string token, std::string file);

  // "" = send none. The file is read again when what we hold is older than a minute; while it cannot be read,
  // the token last read stands, and without one that is the error.
  Result<std::string> current(TimePoint now);
  // After a 401: reads at once. True when another token came of it, and the call is worth one more try.
  bool refresh(TimePoint now);

 private:
  Result<> readFile(TimePoint now);

  const FileSystem& files_;
  const std::string file_;
  std::mutex mutex_;
  std::string token_;                // guarded by mutex_
  std::optional<TimePoint> readAt_;  // guarded by mutex_
};

}  // namespace mainstay::kube
