// AwsProvider: EC2 instances in Auto Scaling groups: EKS's managed node groups and those that people run themselves.
#pragma once

#include <atomic>

#include "cloud/aws/api.h"
#include "cloud/provider.h"

namespace mainstay::cloud::aws {

struct AwsProviderOptions {
  // SetInstanceHealth's ShouldRespectGracePeriod. false: a fault that was proved does not wait until the group's grace
  // period after launch has passed.
  bool respectGracePeriod = false;
};

// Thread-safe. Region and credentials are looked for at the first call, and what is missing is that call's error.
class AwsProvider final : public Provider {
 public:
  explicit AwsProvider(Surroundings surroundings, AwsProviderOptions options = {});

  std::string name() const override { return "aws"; }
  // "Does not exist" is believed only from the region of the provider id and an account that has instances: with the
  // credentials of another account every node would look gone.
  Result<std::optional<Instance>> describe(const std::string& providerId) override;
  Result<Group> describeGroup(const std::string& group) override;
  // AWS takes no token: SetInstanceHealth is idempotent by instance. It is read first and read back after.
  Result<> markUnhealthy(const std::string& providerId, const std::string& token) override;
  Result<> markHealthy(const std::string& providerId) override;

 private:
  // One instance as both services see it.
  struct Seen {
    std::optional<GroupInstance> member;
    std::optional<Ec2Instance> machine;
    bool ended() const;
  };
  Result<Seen> look(const std::string& providerId);
  Result<> checkAbsence(const std::string& id);
  Result<> checkReplaceable(const GroupInstance& member);
  Result<> setHealth(const std::string& id, bool healthy);
  Result<> readBack(const std::string& id, bool healthy);

  const AwsProviderOptions options_;
  Session session_;
  QueryClient client_;
  Api api_;
  std::atomic<bool> accountHasInstances_ = false;
};

}  // namespace mainstay::cloud::aws
