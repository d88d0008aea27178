// CredentialSource: who we are to the API server at this moment.
#pragma once

#include <memory>
#include <string>

#include "base/file_system.h"
#include "kube/config.h"

namespace mainstay::kube {

// Secrets: they go into a request and nowhere else.
struct Credential {
  std::string token = {};              // "" = none
  std::string clientCertificate = {};  // PEM; "" = the config's own, or none
  std::string clientKey = {};          // PEM
  bool operator==(const Credential&) const = default;
};

// Thread-safe.
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  // What to send now; fetched anew when what is held is about to end. An error never holds a secret.
  virtual Result<Credential> current(TimePoint now) = 0;
  // After a 401 for `used`: true when there is another by now, and the call is worth one more try.
  virtual bool refresh(const Credential& used, TimePoint now) = 0;
};

// The one that the config asks for. `files` must outlive it.
std::unique_ptr<CredentialSource> makeCredentialSource(const Config& config, const FileSystem& files);

}  // namespace mainstay::kube
