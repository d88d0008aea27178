#include "kube/credentials.h"

#include "kube/exec_source.h"
#include "kube/token_source.h"

namespace mainstay::kube {

std::unique_ptr<CredentialSource> makeCredentialSource(const Config& config, const FileSystem& files) {
  if (config.exec) {
    return std::make_unique<ExecSource>(*config.exec, config.origin);
  }
  return std::make_unique<TokenSource>(files, config.token, config.tokenFile);
}

}  // namespace mainstay::kube
