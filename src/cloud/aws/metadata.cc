#include "cloud/aws/metadata.h"

#include <algorithm>

namespace mainstay::cloud::aws {
namespace {

constexpr char kEndpointV4[] = "http://169.254.169.254";
constexpr char kEndpointV6[] = "http://[fd00:ec2::254]";
// The SDKs' own: the service is on the host and answers in milliseconds or never.
constexpr Duration kMetadataLimit = std::chrono::seconds(1);
constexpr int kMetadataAttempts = 2;
constexpr char kTokenSeconds[] = "300";  // long enough for one look

std::string endpointFor(const Surroundings& surroundings) {
  std::string endpoint = surroundings.environment("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (endpoint.empty()) {
    const bool v6 = surroundings.environment("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE") == "IPv6";
    return v6 ? kEndpointV6 : kEndpointV4;
  }
  return endpoint.ends_with('/') ? endpoint.substr(0, endpoint.size() - 1) : endpoint;
}

Result<HttpResponse> askMetadata(const Surroundings& surroundings, const HttpRequest& request,
                                 Deadline deadline) {
  for (int attempt = 1;; ++attempt) {
    const Deadline limit = Deadline::after(std::min(kMetadataLimit, deadline.left()));
    Result<HttpResponse> response = surroundings.sendDirect(request, limit, surroundings.stop);
    const bool passing = response ? response->status >= 500 : response.error().isRetryable();
    if (!passing || attempt == kMetadataAttempts || deadline.expired()) {
      return response;
    }
  }
}

// A connection that is made and an answer that never comes is how the hop limit looks: the packets of the answer to
// the PUT may pass that many machines, and a pod's network is one more.
Error explainSilence(const Error& silence) {
  return {Code::kUnavailable,
          "the instance metadata service does not answer (" + silence.toString() +
              "). In a pod this is most often the hop limit: give the pod a role of its own by EKS pod "
              "identity or "
              "IRSA (better), or let pods reach the instance's: aws ec2 modify-instance-metadata-options "
              "--http-put-response-hop-limit 2 --instance-id ... (HttpPutResponseHopLimit of the launch "
              "template). "
              "Outside EC2 there is no such service: set AWS_EC2_METADATA_DISABLED=true"};
}

Error explainStatus(int status) {
  if (status == 403) {
    return {Code::kPermissionDenied,
            "the instance metadata service is turned off for this instance (HttpEndpoint); turn it on, or "
            "give the pod "
            "a role by EKS pod identity or IRSA"};
  }
  return {status == 404 ? Code::kNotFound : Code::kUnavailable,
          "the instance metadata service answered HTTP " + std::to_string(status)};
}

}  // namespace

Result<std::optional<Metadata>> Metadata::open(const Surroundings& surroundings, Deadline deadline) {
  if (surroundings.environment("AWS_EC2_METADATA_DISABLED") == "true") {
    return std::optional<Metadata>();
  }
  const std::string endpoint = endpointFor(surroundings);
  const HttpRequest request{.method = "PUT",
                            .target = endpoint + "/latest/api/token",
                            .headers = {{"X-aws-ec2-metadata-token-ttl-seconds", kTokenSeconds}}};
  const Result<HttpResponse> response = askMetadata(surroundings, request, deadline);
  if (!response) {
    return fail(response.error().code() == Code::kCancelled ? response.error()
                                                            : explainSilence(response.error()));
  }
  if (response->status != 200) {
    return fail(explainStatus(response->status));
  }
  return std::optional(Metadata(surroundings, endpoint, response->body));
}

Result<std::string> Metadata::read(const std::string& path, Deadline deadline) const {
  const HttpRequest request{.method = "GET",
                            .target = endpoint_ + "/latest/meta-data/" + path,
                            .headers = {{"X-aws-ec2-metadata-token", token_}}};
  MAINSTAY_ASSIGN(HttpResponse response, askMetadata(*surroundings_, request, deadline));
  if (response.status != 200) {
    return fail(explainStatus(response.status).with("reading " + path));
  }
  return std::move(response.body);
}

}  // namespace mainstay::cloud::aws
