#include "cloud/aws/call_error.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "cloud/aws/xml.h"

namespace mainstay::cloud::aws {
namespace {

// Longer ones are encoded authorization failures, which only `aws sts decode-authorization-message` reads.
constexpr std::size_t kMaxMessage = 512;

struct Meaning {
  std::string_view awsCode;
  Code code;
  std::string_view advice;
};
constexpr std::string_view kUnknownKeys =
    "AWS does not know these credentials; check that they belong to this account and partition, and that the "
    "region is enabled in the account";
constexpr std::string_view kWrongSignature = "check the secret access key, and this machine's clock";
constexpr std::string_view kEnded = "the credentials have ended; see that their source renews them";
constexpr std::string_view kTrust =
    "check that the cluster's OIDC provider is known to IAM, and that the role's trust policy names this "
    "service "
    "account and the audience sts.amazonaws.com";
// What the codes mean to us. https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html and the
// common errors of each service.
constexpr Meaning kMeanings[] = {
    {"AccessDenied", Code::kPermissionDenied, ""},
    {"AccessDeniedException", Code::kPermissionDenied, ""},
    {"UnauthorizedOperation", Code::kPermissionDenied, ""},
    {"OptInRequired", Code::kPermissionDenied, "the region or service is not enabled in this account"},
    {"ExpiredToken", Code::kUnauthenticated, kEnded},
    {"ExpiredTokenException", Code::kUnauthenticated, kEnded},
    {"InvalidClientTokenId", Code::kUnauthenticated, kUnknownKeys},
    {"UnrecognizedClientException", Code::kUnauthenticated, kUnknownKeys},
    {"AuthFailure", Code::kUnauthenticated, kUnknownKeys},
    {"MissingAuthenticationToken", Code::kUnauthenticated, kUnknownKeys},
    {"SignatureDoesNotMatch", Code::kUnauthenticated, kWrongSignature},
    {"InvalidSignatureException", Code::kUnauthenticated, kWrongSignature},
    {"IncompleteSignature", Code::kUnauthenticated, kWrongSignature},
    {"RequestExpired", Code::kUnauthenticated, kWrongSignature},
    {"InvalidIdentityToken", Code::kUnauthenticated, kTrust},
    {"IDPRejectedClaim", Code::kUnauthenticated, kTrust},
    {"ScalingActivityInProgress", Code::kConflict, ""},
    {"ResourceInUse", Code::kConflict, ""},
    {"ResourceContention", Code::kConflict, ""},
};

Code codeFor(std::string_view awsCode, int status, Trouble trouble) {
  const auto* known = std::ranges::find(kMeanings, awsCode, &Meaning::awsCode);
  if (known != std::end(kMeanings)) {
    return known->code;
  }
  if (trouble != Trouble::kLasting) {
    return trouble == Trouble::kThrottled ? Code::kResourceExhausted : Code::kUnavailable;
  }
  if (awsCode.ends_with(".NotFound")) {
    return Code::kNotFound;
  }
  switch (status) {
    case 401:
      return Code::kUnauthenticated;
    case 403:
      return Code::kPermissionDenied;
    default:
      return status >= 400 && status < 500 ? Code::kInvalidArgument : Code::kInternal;
  }
}

std::string adviceFor(std::string_view awsCode, Code code, const Service& service,
                      const std::string& action) {
  const auto* known = std::ranges::find(kMeanings, awsCode, &Meaning::awsCode);
  if (known != std::end(kMeanings) && !known->advice.empty()) {
    return "; " + std::string(known->advice);
  }
  if (code != Code::kPermissionDenied || awsCode.empty()) {
    return "";
  }
  return &service == &kSts ? "; " + std::string(kTrust)
                           : std::string("; allow ") + service.permission + ":" + action +
                                 " in the IAM policy of this program (deploy/aws)";
}

std::string firstLine(const std::string& text) {
  return std::string(cutUtf8(sanitizeUtf8(text.substr(0, text.find_first_of("\r\n"))), kMaxMessage));
}

struct Said {
  std::string code = {};
  std::string message = {};
  std::string requestId = {};
};

// EC2 says Response/Errors/Error and RequestID, the others ErrorResponse/Error and RequestId.
Said readSaid(const HttpResponse& response) {
  Said said;
  if (const auto root = parseXml(response.body)) {
    const Element& direct = root->at("Error");
    const Element& error = direct.children.empty() ? root->at("Errors").at("Error") : direct;
    const std::string& id = root->textOf("RequestId");
    said = {firstLine(error.textOf("Code")), firstLine(error.textOf("Message")),
            firstLine(id.empty() ? root->textOf("RequestID") : id)};
  }
  const auto header = response.headers.find("x-amzn-RequestId");
  if (said.requestId.empty() && header != response.headers.end()) {
    said.requestId = firstLine(header->second);
  }
  return said;
}

}  // namespace

CallError readCallError(const Service& service, const std::string& action, const HttpResponse& response) {
  Said said = readSaid(response);
  const Trouble trouble = troubleOf(said.code, response.status);
  const Code code = codeFor(said.code, response.status, trouble);
  std::string text = said.code.empty() ? "HTTP " + std::to_string(response.status) + ", and not AWS's words"
                                       : said.code + ": " + said.message;
  if (!said.requestId.empty()) {
    text += " (request " + said.requestId + ")";
  }
  text += adviceFor(said.code, code, service, action);
  return {Error(code, std::move(text)).with(std::string(service.name) + " " + action), trouble,
          std::move(said.code), std::move(said.message), std::move(said.requestId)};
}

}  // namespace mainstay::cloud::aws
