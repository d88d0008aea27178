// What HTTP client and server share.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mainstay {

// Header names compare without case.
struct CaseLess {
  bool operator()(std::string_view a, std::string_view b) const;
  using is_transparent = void;
};
using HttpHeaders = std::map<std::string, std::string, CaseLess>;

// Asks the client to sign a request with AWS's Signature Version 4, over all its headers and its body. Secrets.
struct AwsSignature {
  std::string region;
  std::string service;  // the name that AWS signs with: "autoscaling", "monitoring"
  std::string accessKeyId;
  std::string secretAccessKey;
};

struct HttpRequest {
  std::string method = "GET";
  // Client: a whole URL; server: path with query as it came ("/api/v1/nodes?watch=1").
  std::string target = {};
  HttpHeaders headers = {};
  std::string body = {};
  std::optional<AwsSignature> awsSignature = {};  // client only
};

struct HttpResponse {
  int status = 200;
  HttpHeaders headers = {};
  std::string body = {};
};

using Query = std::vector<std::pair<std::string, std::string>>;
// "a=1&b=%20": percent-decoded on the way in, encoded on the way out ("" for an empty query).
Query parseQuery(std::string_view text);
std::string formatQuery(const Query& query);
std::string percentEncode(std::string_view text);
// First value of a key; "" when absent.
std::string queryValue(const Query& query, std::string_view key);

}  // namespace mainstay
