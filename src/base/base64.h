// Base64 (RFC 4648, the standard alphabet), as kubeconfigs and Kubernetes Secrets carry bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mainstay {

std::string encodeBase64(std::string_view bytes);
// Line breaks and spaces are skipped, padding may be left out; nullopt for anything else.
std::optional<std::string> decodeBase64(std::string_view text);

}  // namespace mainstay
