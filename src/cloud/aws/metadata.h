// The metadata service of an EC2 instance, version 2: what runs on it learns its role and region from a link-local
// address.
#pragma once

#include <optional>
#include <string>

#include "cloud/aws/surroundings.h"

namespace mainstay::cloud::aws {

class Metadata {
 public:
  // Asks for a session token. nullopt when AWS_EC2_METADATA_DISABLED says not to; kUnavailable with what to do when
  // nobody answers: in a pod that is most often the hop limit.
  static Result<std::optional<Metadata>> open(const Surroundings& surroundings, Deadline deadline);
  // The text at a path below /latest/meta-data/; kNotFound when it is not there.
  Result<std::string> read(const std::string& path, Deadline deadline) const;

 private:
  Metadata(const Surroundings& surroundings, std::string endpoint, std::string token)
      : surroundings_(&surroundings), endpoint_(std::move(endpoint)), token_(std::move(token)) {}

  const Surroundings* surroundings_;  // the session's, which outlives this
  std::string endpoint_;
  std::string token_;
};

}  // namespace mainstay::cloud::aws
