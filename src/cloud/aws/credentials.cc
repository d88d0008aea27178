#include "cloud/aws/credentials.h"

#include "cloud/aws/session.h"

namespace mainstay::cloud::aws {
namespace {

Result<std::optional<Credentials>> fromEnvironment(Session& session, Deadline) {
  const auto& environment = session.surroundings().environment;
  Credentials found{.accessKeyId = environment("AWS_ACCESS_KEY_ID"),
                    .secretAccessKey = environment("AWS_SECRET_ACCESS_KEY"),
                    .sessionToken = environment("AWS_SESSION_TOKEN")};
  if (found.accessKeyId.empty() && found.secretAccessKey.empty()) {
    return std::optional<Credentials>();
  }
  if (found.accessKeyId.empty() || found.secretAccessKey.empty()) {
    return fail(Code::kUnauthenticated,
                "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set; set both or none");
  }
  return std::optional(std::move(found));
}

}  // namespace

const std::vector<CredentialPlace>& credentialPlaces() {
  static const std::vector<CredentialPlace> kPlaces = {
      {"environment", fromEnvironment},
  };
  return kPlaces;
}

Result<std::string> findRegion(const Surroundings& surroundings, Deadline) {
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (std::string region = surroundings.environment(name); !region.empty()) {
      return region;
    }
  }
  return fail(Code::kFailedPrecondition, "no AWS region is set; set AWS_REGION");
}

}  // namespace mainstay::cloud::aws
