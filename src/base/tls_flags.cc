#include "base/tls_flags.h"

namespace mainstay {

void addTlsFlags(Flags& flags, TlsFiles& files, const std::string& server, const std::string& clients) {
  flags
      .add("tls-cert-file", files.certificate,
           "certificate (PEM, with its chain) of " + server +
               ", read again when it changes; empty: plain text")
      .add("tls-private-key-file", files.key, "its private key (PEM)")
      .add("tls-client-ca-file", files.clientCa,
           "certificate authority (PEM) whose clients " + clients + "; empty: everybody");
}

Result<> checkTlsFiles(const TlsFiles& files) {
  if (files.certificate.empty() && !(files.key.empty() && files.clientCa.empty())) {
    return fail(Code::kInvalidArgument,
                "--tls-private-key-file and --tls-client-ca-file need --tls-cert-file");
  }
  return {};
}

}  // namespace mainstay
