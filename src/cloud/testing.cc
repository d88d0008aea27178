#include "cloud/testing.h"

namespace mainstay::cloud {

Result<std::optional<Instance>> CrashingProvider::describe(const std::string& providerId) {
  return inner_.describe(providerId);
}

Result<Group> CrashingProvider::describeGroup(const std::string& group) {
  return inner_.describeGroup(group);
}

Result<> CrashingProvider::markUnhealthy(const std::string& providerId, const std::string& token) {
  return point_.write("SetInstanceHealth Unhealthy " + providerId,
                      [&] { return inner_.markUnhealthy(providerId, token); });
}

Result<> CrashingProvider::markHealthy(const std::string& providerId) {
  return point_.write("SetInstanceHealth Healthy " + providerId,
                      [&] { return inner_.markHealthy(providerId); });
}

}  // namespace mainstay::cloud
