#include "cloud/aws/testing_signature.h"

#include <algorithm>

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace mainstay::cloud::aws {
namespace {

std::string hmacSha256(const std::string& key, const std::string& text) {
  unsigned char digest[EVP_MAX_MD_SIZE] = {};
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &size);
  return {reinterpret_cast<const char*>(digest), size};
}

std::string hexOf(const std::string& bytes) {
  std::string hex;
  for (const char byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += kDigits[static_cast<unsigned char>(byte) >> 4];
    hex += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return hex;
}

std::string sha256Hex(const std::string& text) {
  unsigned char digest[EVP_MAX_MD_SIZE] = {};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha256(), nullptr);
  return hexOf({reinterpret_cast<const char*>(digest), size});
}

// The text between `from` and `to`, or to the end.
std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find(from) + from.size();
  return text.substr(begin, text.find(to, begin) - begin);
}

}  // namespace

std::string signatureOf(const HttpRequest& request, const std::string& secret) {
  const std::string authorization = request.headers.at("Authorization");
  const std::string credential = between(authorization, "Credential=", ",");
  const std::string scope = credential.substr(credential.find('/') + 1);  // date/region/service/aws4_request
  const std::string names = between(authorization, "SignedHeaders=", ",");
  std::string headers;
  for (std::size_t at = 0; at < names.size(); at = std::min(names.size(), names.find(';', at)) + 1) {
    const std::string name = names.substr(at, names.find(';', at) - at);
    headers += name + ":" + request.headers.at(name) + "\n";
  }
  const std::string canonical =
      request.method + "\n/\n\n" + headers + "\n" + names + "\n" + sha256Hex(request.body);
  const std::string toSign =
      "AWS4-HMAC-SHA256\n" + request.headers.at("X-Amz-Date") + "\n" + scope + "\n" + sha256Hex(canonical);
  std::string key = "AWS4" + secret;
  for (std::size_t at = 0; at < scope.size(); at = std::min(scope.size(), scope.find('/', at)) + 1) {
    key = hmacSha256(key, scope.substr(at, scope.find('/', at) - at));
  }
  return hexOf(hmacSha256(key, toSign));
}

}  // namespace mainstay::cloud::aws
