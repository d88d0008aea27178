#include "cloud/aws/aws_provider.h"

#include <algorithm>

#include "cloud/aws/obstacles.h"

namespace mainstay::cloud::aws {
namespace {

constexpr int kActivitiesShown = 20;  // Group::activities' bound
// Auto Scaling may answer the first read from before the write.
constexpr Duration kReadBackWaits[] = {Duration(0), std::chrono::milliseconds(500), std::chrono::seconds(1)};
// To find out the region; each call has its own limit besides.
constexpr Duration kRegionLimit = std::chrono::seconds(5);

// "aws:///us-west-2b/i-0b41".
struct Place {
  std::string zone;
  std::string id;
};

Result<Place> parseProviderId(const std::string& text) {
  const std::string id = instanceIdOf(text);
  const std::size_t end = text.size() - id.size();
  if (!text.starts_with("aws://") || !id.starts_with("i-") || id.size() == 2) {
    return fail(Code::kInvalidArgument,
                "\"" + text +
                    "\" is not the provider id of an EC2 instance: expected one such as "
                    "aws:///us-west-2b/i-0123456789abcdef0, as in the Node's spec.providerID");
  }
  const std::size_t slash = text.rfind('/', end - 2);
  return Place{text.substr(slash + 1, end - slash - 2), id};
}

std::string providerIdOf(const std::string& zone, const std::string& id) {
  return "aws:///" + zone + "/" + id;
}

bool isEnding(const GroupInstance& member) {
  return member.lifecycle.starts_with("Terminat");
}

// EC2 knows of the end before the group does, and is the only one to tell of an instance in no group.
std::string lifecycleOf(const GroupInstance* member, const Ec2Instance* machine) {
  if (machine && machine->state == "terminated") {
    return "Terminated";
  }
  if (machine && machine->state == "shutting-down" && !(member && isEnding(*member))) {
    return "Terminating";
  }
  return member ? member->lifecycle : machine->state;
}

const char* healthWord(bool healthy) {
  return healthy ? "Healthy" : "Unhealthy";
}

bool saysNotFound(const CallError& error) {
  return error.code() == Code::kNotFound || error.awsMessage().find("not found") != std::string::npos;
}

// EC2 tells launch times in whole seconds. The last moment of that second, so that what was launched in the second of our mark
// counts as launched after it.
TimePoint launchedAt(const Ec2Instance* machine) {
  return machine ? machine->launched + std::chrono::seconds(1) - Duration(1) : TimePoint{};
}

}  // namespace

AwsProvider::AwsProvider(Surroundings surroundings, AwsProviderOptions options)
    : options_(options), session_(std::move(surroundings)), client_(session_), api_(client_) {}

bool AwsProvider::Seen::ended() const {
  const bool machineEnds = machine && (machine->state == "terminated" || machine->state == "shutting-down");
  return (!member && !machine) || machineEnds || (member && isEnding(*member));
}

Result<AwsProvider::Seen> AwsProvider::look(const std::string& providerId) {
  MAINSTAY_ASSIGN(const Place place, parseProviderId(providerId));
  MAINSTAY_ASSIGN(const std::string region, session_.region(Deadline::after(kRegionLimit)));
  if (!place.zone.starts_with(region)) {
    return fail(Code::kFailedPrecondition,
                "instance " + place.id + " is in zone " + place.zone +
                    ", and this program is set up for region " + region +
                    "; set AWS_REGION to the cluster's region. Nothing is done with it");
  }
  MAINSTAY_ASSIGN(std::vector<GroupInstance> members, api_.describeAutoScalingInstances({place.id}));
  MAINSTAY_ASSIGN(std::vector<Ec2Instance> machines, api_.describeInstances({place.id}));
  Seen seen;
  if (!members.empty()) {
    seen.member = std::move(members.front());
  }
  if (!machines.empty()) {
    seen.machine = std::move(machines.front());
  }
  if (!seen.member && !seen.machine) {
    MAINSTAY_TRY(checkAbsence(place.id));
    return seen;
  }
  accountHasInstances_ = true;
  const std::string& zone = seen.machine ? seen.machine->zone : seen.member->zone;
  if (zone != place.zone) {
    return fail(Code::kFailedPrecondition, "instance " + place.id + " is in zone " + zone +
                                               " now, and not in " + place.zone +
                                               "; nothing is done with it");
  }
  return seen;
}

Result<> AwsProvider::checkAbsence(const std::string& id) {
  if (!accountHasInstances_) {
    MAINSTAY_ASSIGN(const bool any, api_.hasInstances());
    accountHasInstances_ = any;
  }
  if (!accountHasInstances_) {
    return fail(Code::kFailedPrecondition,
                "AWS knows no instance " + id +
                    ", and no other in this account and region: these are not the cluster's "
                    "credentials; check the role of this program. The instance is not taken for gone");
  }
  return {};
}

Result<std::optional<Instance>> AwsProvider::describe(const std::string& providerId) {
  MAINSTAY_ASSIGN(const Seen seen, look(providerId));
  if (!seen.member && !seen.machine) {
    return std::optional<Instance>();
  }
  const GroupInstance* member = seen.member ? &*seen.member : nullptr;
  const Ec2Instance* machine = seen.machine ? &*seen.machine : nullptr;
  return Instance{.id = instanceIdOf(providerId),
                  .providerId = providerId,
                  .group = member ? member->group : "",
                  .lifecycle = lifecycleOf(member, machine),
                  .healthy = !member || member->healthy(),
                  .launched = launchedAt(machine),
                  .obstacle = member ? obstacleOf(*member) : ""};
}

Result<Group> AwsProvider::describeGroup(const std::string& name) {
  MAINSTAY_ASSIGN(const std::optional<AutoScalingGroup> found, api_.describeAutoScalingGroup(name));
  if (!found) {
    return fail(Code::kNotFound, "AWS has no Auto Scaling group \"" + name + "\" in this account and region");
  }
  std::vector<std::string> ids;
  for (const GroupInstance& member : found->instances) {
    ids.push_back(member.id);
  }
  MAINSTAY_ASSIGN(const std::vector<Ec2Instance> machines, api_.describeInstances(ids));
  MAINSTAY_ASSIGN(const std::vector<Activity> activities,
                  api_.describeScalingActivities(name, kActivitiesShown));
  Group group{.name = name,
              .min = found->min,
              .max = found->max,
              .desired = found->desired,
              .instances = {},
              .activities = {},
              .obstacle = obstacleOf(*found)};
  for (const GroupInstance& member : found->instances) {
    const auto at = std::ranges::find(machines, member.id, &Ec2Instance::id);
    const Ec2Instance* machine = at == machines.end() ? nullptr : &*at;
    group.instances.push_back({.id = member.id,
                               .providerId = providerIdOf(member.zone, member.id),
                               .group = name,
                               .lifecycle = lifecycleOf(&member, machine),
                               .healthy = member.healthy(),
                               .launched = launchedAt(machine),
                               .obstacle = obstacleOf(member)});
  }
  for (const Activity& activity : activities) {
    group.activities.push_back({activity.status, activity.statusMessage, activity.started});
  }
  return group;
}

Result<> AwsProvider::markUnhealthy(const std::string& providerId, const std::string&) {
  MAINSTAY_ASSIGN(const Seen seen, look(providerId));
  if (seen.ended() || (seen.member && !seen.member->healthy())) {
    return {};
  }
  if (!seen.member) {
    return fail(Code::kFailedPrecondition, "instance " + seen.machine->id +
                                               " is in no Auto Scaling group, so nothing would replace it; "
                                               "attach it to one, or replace it by hand "
                                               "(of Karpenter's nodes: delete the NodeClaim)");
  }
  MAINSTAY_TRY(checkReplaceable(*seen.member));
  return setHealth(seen.member->id, false);
}

Result<> AwsProvider::markHealthy(const std::string& providerId) {
  MAINSTAY_ASSIGN(const Seen seen, look(providerId));
  if (seen.ended() || !seen.member || seen.member->healthy()) {
    return {};
  }
  return setHealth(seen.member->id, true);
}

Result<> AwsProvider::checkReplaceable(const GroupInstance& member) {
  MAINSTAY_ASSIGN(const std::optional<AutoScalingGroup> group, api_.describeAutoScalingGroup(member.group));
  if (!group) {
    return fail(Code::kNotFound,
                "Auto Scaling group " + member.group + " of instance " + member.id + " is gone");
  }
  if (std::string why = whyNotReplaceable(member, *group); !why.empty()) {
    return fail(Code::kFailedPrecondition, std::move(why));
  }
  return {};
}

Result<> AwsProvider::setHealth(const std::string& id, bool healthy) {
  const CallResult<void> set = api_.setInstanceHealth(id, healthWord(healthy), options_.respectGracePeriod);
  if (!set && !saysNotFound(set.error())) {
    return tl::make_unexpected(set.error());
  }
  return readBack(id, healthy);  // also of an instance that ended in between
}

Result<> AwsProvider::readBack(const std::string& id, bool healthy) {
  for (const Duration wait : kReadBackWaits) {
    session_.surroundings().pause(wait, session_.surroundings().stop);
    MAINSTAY_ASSIGN(const std::vector<GroupInstance> members, api_.describeAutoScalingInstances({id}));
    if (members.empty() || isEnding(members.front()) || members.front().healthy() == healthy) {
      return {};
    }
  }
  std::string text = "SetInstanceHealth " + std::string(healthWord(healthy)) + " of instance " + id +
                     " was accepted and did not stick";
  if (options_.respectGracePeriod) {
    text += "; the group's health check grace period may not be over yet";
  }
  return fail(Code::kFailedPrecondition, text + "; see aws autoscaling describe-scaling-activities");
}

}  // namespace mainstay::cloud::aws
