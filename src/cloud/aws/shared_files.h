// The files that the AWS command line and the SDKs share: ~/.aws/credentials and ~/.aws/config.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cloud/aws/surroundings.h"

namespace mainstay::cloud::aws {

using Profile = std::map<std::string, std::string>;  // keys in lower case
using Profiles = std::map<std::string, Profile>;

enum class SharedFile { kCredentials, kConfig };  // a config file says "[profile name]"

// Reads what it understands and passes over the rest, as the SDKs do.
Profiles parseSharedFile(std::string_view text, SharedFile kind);

// The profile's name: AWS_PROFILE, else "default".
std::string profileName(const Surroundings& surroundings);

// The profile of both files together, where the credentials file wins. nullopt when there is none; an error when
// AWS_PROFILE names one that neither file has, or a file cannot be read.
Result<std::optional<Profile>> loadProfile(const Surroundings& surroundings);

// "" when absent.
std::string valueOf(const Profile& profile, const std::string& key);

}  // namespace mainstay::cloud::aws
