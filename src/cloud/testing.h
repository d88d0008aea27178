// Wrapper of a Provider that ends the process on purpose, for the crash proof.
#pragma once

#include <string>

#include "base/crash_point.h"
#include "cloud/provider.h"

namespace mainstay::cloud {

// Counts markUnhealthy and markHealthy as writes of the crash point (base/crash_point.h).
class CrashingProvider final : public Provider {
 public:
  CrashingProvider(Provider& inner, CrashPoint& point) : inner_(inner), point_(point) {}
  std::string name() const override { return inner_.name(); }
  Result<std::optional<Instance>> describe(const std::string& providerId) override;
  Result<Group> describeGroup(const std::string& group) override;
  Result<> markUnhealthy(const std::string& providerId, const std::string& token) override;
  Result<> markHealthy(const std::string& providerId) override;

 private:
  Provider& inner_;
  CrashPoint& point_;
};

}  // namespace mainstay::cloud
