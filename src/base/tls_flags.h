// The flags of every server of ours that can speak TLS.
#pragma once

#include <string>

#include "base/flags.h"
#include "base/http_tls.h"

namespace mainstay {

// `server`: whose certificate it is; `clients`: what those of --tls-client-ca-file are let do.
void addTlsFlags(Flags& flags, TlsFiles& files, const std::string& server, const std::string& clients);
// A key or a client CA without a certificate would leave a server in plain text that was meant to be closed.
Result<> checkTlsFiles(const TlsFiles& files);

}  // namespace mainstay
