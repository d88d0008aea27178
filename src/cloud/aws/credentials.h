// Credentials for AWS and the places where they come from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cloud/aws/surroundings.h"

namespace mainstay::cloud::aws {

class Session;

// Secrets: they go into a signature and a header, never into a log or an error.
struct Credentials {
  std::string accessKeyId;
  std::string secretAccessKey;
  std::string sessionToken = {};          // "" = long-lived keys
  std::optional<TimePoint> expires = {};  // absent: they do not end
  std::string source = {};                // for people: "environment", "web identity (IRSA)"
  bool operator==(const Credentials&) const = default;
};

// One place to look: nullopt when it is not set up here, an error when it is and gives none.
struct CredentialPlace {
  const char* name;
  Result<std::optional<Credentials>> (*find)(Session& session, Deadline deadline);
};
// In the order they are asked.
const std::vector<CredentialPlace>& credentialPlaces();

// AWS_REGION, AWS_DEFAULT_REGION, the profile's, the instance's own. kFailedPrecondition with what to do when none.
Result<std::string> findRegion(const Surroundings& surroundings, Deadline deadline);

}  // namespace mainstay::cloud::aws
