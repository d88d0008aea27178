// Api: the AWS actions that Mainstay uses, typed. One function per action, no decisions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cloud/aws/query_client.h"
#include "cloud/provider.h"

namespace mainstay::cloud::aws {

// DescribeAutoScalingInstances, and the same of a group's members.
struct GroupInstance {
  std::string id;
  std::string group;  // "" in a group's own list
  std::string zone;
  std::string lifecycle;  // Pending InService Standby Terminating Terminating:Wait ...
  std::string health;     // Healthy Unhealthy, as AWS writes it (some answers in capitals)
  bool healthy() const;
};

// DescribeAutoScalingGroups.
struct AutoScalingGroup {
  std::string name;
  int min = 0;
  int max = 0;
  int desired = 0;
  std::vector<GroupInstance> instances;
  std::map<std::string, std::string> suspended;  // process -> why, in AWS's words
};

// DescribeScalingActivities.
struct Activity {
  std::string status;         // Successful Failed Cancelled InProgress WaitingForInstanceId ...
  std::string statusMessage;  // why it failed
  std::string description;    // "Launching a new EC2 instance: i-0b41"
  TimePoint started{};
};

// EC2's DescribeInstances.
struct Ec2Instance {
  std::string id;
  std::string state;  // pending running shutting-down terminated stopping stopped
  std::string zone;
  TimePoint launched{};
};

// EC2's DescribeInstanceStatus.
struct Ec2Status {
  std::string system;               // of the machine beneath: ok impaired insufficient-data not-applicable
  std::string instance;             // of the operating system, likewise
  std::vector<std::string> events;  // what AWS has scheduled: "system-maintenance: ..."
};

// One value for CloudWatch.
struct MetricDatum {
  std::string name;
  double value = 0;
  std::string unit = "Count";
  std::map<std::string, std::string> dimensions = {};
  std::optional<TimePoint> at = {};  // absent: when CloudWatch receives it
};

// Thread-safe.
class Api {
 public:
  explicit Api(QueryClient& client) : client_(client) {}

  // Those of `ids` that are in a group (any state). At most 50 ids, AWS's bound.
  CallResult<std::vector<GroupInstance>> describeAutoScalingInstances(const std::vector<std::string>& ids);
  // nullopt when there is none of that name.
  CallResult<std::optional<AutoScalingGroup>> describeAutoScalingGroup(const std::string& name);
  // The newest `limit` (at most 100), newest first.
  CallResult<std::vector<Activity>> describeScalingActivities(const std::string& group, int limit);
  // `status`: "Healthy" or "Unhealthy".
  CallResult<void> setInstanceHealth(const std::string& id, const std::string& status,
                                     bool respectGracePeriod);
  // The group launches another in its place.
  CallResult<void> terminateInstanceInAutoScalingGroup(const std::string& id);

  // Those of `ids` that EC2 knows; terminated ones for about an hour.
  CallResult<std::vector<Ec2Instance>> describeInstances(const std::vector<std::string>& ids);
  // Those whose private DNS name it is, which two instances in different VPCs may share.
  CallResult<std::vector<Ec2Instance>> findInstances(const std::string& privateDnsName);
  // Whether the account has any instance in the region.
  CallResult<bool> hasInstances();
  // nullopt when EC2 has no status of it.
  CallResult<std::optional<Ec2Status>> describeInstanceStatus(const std::string& id);
  CallResult<void> rebootInstance(const std::string& id);

  // Any number: sent in portions of what CloudWatch takes at once. The first failure ends it.
  CallResult<void> putMetricData(const std::string& nameSpace, const std::vector<MetricDatum>& data);

 private:
  CallResult<std::vector<Ec2Instance>> filterInstances(const std::string& filter,
                                                       const std::vector<std::string>& values);

  QueryClient& client_;
};

}  // namespace mainstay::cloud::aws
