// TokenSource: the bearer token of the moment. Kubernetes rotates service-account tokens in their file; we
// follow.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "kube/credentials.h"

namespace mainstay::kube {

class TokenSource final : public CredentialSource {
 public:
  // `file` wins over `token`; both "" = no token. `files` must outlive the source.
  TokenSource(const FileSystem& files, std::string token, std::string file);

  // The file is read again when what we hold is older than a minute; while it cannot be read, the token last
  // read stands, and without one that is the error.
  Result<Credential> current(TimePoint now) override;
  bool refresh(const Credential& used, TimePoint now) override;

 private:
  Result<> readFile(TimePoint now);

  const FileSystem& files_;
  const std::string file_;
  std::mutex mutex_;
  std::string token_;                // guarded by mutex_
  std::optional<TimePoint> readAt_;  // guarded by mutex_
};

}  // namespace mainstay::kube
