// Provider: the one door to whoever owns the machines. AWS, the local cloud, and later others pass one
// contract suite.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace mainstay::cloud {

// An Auto Scaling instance, in AWS's own words for its life cycle.
struct Instance {
  std::string id;          // "i-0b41..."
  std::string providerId;  // as in Node.spec.providerID: "aws:///us-west-2b/i-0b41..."
  std::string group;       // Auto Scaling group; "" = in none
  std::string lifecycle;   // Pending InService Standby Terminating Terminating:Wait Terminated ...
  bool healthy = true;     // HealthStatus
  TimePoint launched{};
  // Why it stands still while it starts or ends, and what to do; "" when nothing is known to hold it.
  std::string obstacle = {};

  bool ending() const { return lifecycle.starts_with("Terminat"); }
};

struct ScalingActivity {
  std::string status;         // Successful Failed InProgress ...
  std::string statusMessage;  // "We currently do not have sufficient trn1.32xlarge capacity ..."
  TimePoint started{};
};

struct Group {
  std::string name;
  int min = 0;
  int max = 0;
  int desired = 0;
  std::vector<Instance> instances;
  std::vector<ScalingActivity> activities;  // newest first, at most 20
  // Why it would not replace an instance just now (processes suspended), and what to do; "" when nothing is known.
  std::string obstacle = {};
};

class Provider {
 public:
  virtual ~Provider() = default;
  // The policy's word for it: "local", "aws".
  virtual std::string name() const = 0;
  // The instance behind a Node's providerID; nullopt when the provider says it does not exist (any more).
  virtual Result<std::optional<Instance>> describe(const std::string& providerId) = 0;
  // kNotFound when there is no such group.
  virtual Result<Group> describeGroup(const std::string& group) = 0;
  // SetInstanceHealth Unhealthy: the group terminates the instance and launches another. Idempotent by
  // instance: reads first and does nothing when it is already unhealthy, ending or gone. `token` identifies
  // the incident in the provider's log where the provider takes one. kFailedPrecondition with what to do when
  // the instance cannot be replaced this way.
  virtual Result<> markUnhealthy(const std::string& providerId, const std::string& token) = 0;
  // Takes a mark back, while the instance is not yet ending (release).
  virtual Result<> markHealthy(const std::string& providerId) = 0;
};

// "aws:///us-west-2b/i-0b41" -> "i-0b41"; "" when the text has no such last part.
std::string instanceIdOf(const std::string& providerId);

}  // namespace mainstay::cloud
