#include "cloud/aws/obstacles.h"

namespace mainstay::cloud::aws {
namespace {

// The processes that a replacement takes.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/as-suspend-resume-processes.html
struct Process {
  const char* name;
  const char* consequence;
};
constexpr Process kProcesses[] = {
    {"Launch", "nothing would be launched in place of a terminated instance"},
    {"Terminate", "an unhealthy instance stays as it is"},
    {"ReplaceUnhealthy", "an unhealthy instance is left alone"},
};

}  // namespace

std::string obstacleOf(const AutoScalingGroup& group) {
  for (const Process& process : kProcesses) {
    const auto suspended = group.suspended.find(process.name);
    if (suspended == group.suspended.end()) {
      continue;
    }
    const std::string why = suspended->second.empty() ? "" : " (" + suspended->second + ")";
    return "process " + suspended->first + " of group " + group.name + " is suspended" + why + ", so " +
           process.consequence + "; resume it: aws autoscaling resume-processes --auto-scaling-group-name " +
           group.name + " --scaling-processes " + suspended->first;
  }
  for (const GroupInstance& member : group.instances) {
    if (member.lifecycle == "Pending:Wait") {
      return obstacleOf(member);
    }
  }
  return "";
}

std::string obstacleOf(const GroupInstance& member) {
  if (member.lifecycle == "Terminating:Wait") {
    return "a lifecycle hook of the group holds instance " + member.id +
           " in Terminating:Wait until it is completed or times out (EKS drains the nodes of its managed "
           "groups so); see "
           "aws autoscaling describe-lifecycle-hooks, and end it with aws autoscaling "
           "complete-lifecycle-action "
           "--lifecycle-action-result CONTINUE --instance-id " +
           member.id;
  }
  if (member.lifecycle == "Pending:Wait") {
    return "a lifecycle hook of the group holds the new instance " + member.id +
           " in Pending:Wait until it is completed or times out; see aws autoscaling "
           "describe-lifecycle-hooks";
  }
  return "";
}

std::string whyNotReplaceable(const GroupInstance& member, const AutoScalingGroup& group) {
  if (member.lifecycle == "Standby" || member.lifecycle == "EnteringStandby") {
    return "instance " + member.id + " is in Standby in group " + group.name +
           ": somebody took it out of service, and the group does not replace it there; end that with aws "
           "autoscaling "
           "exit-standby --auto-scaling-group-name " +
           group.name + " --instance-ids " + member.id + ", or replace it by hand";
  }
  if (member.lifecycle == "Detaching" || member.lifecycle == "Detached") {
    return "instance " + member.id + " is being detached from group " + group.name +
           ", which will not replace it; attach it again, or replace it by hand";
  }
  for (const Process& process : kProcesses) {
    if (group.suspended.contains(process.name)) {
      return obstacleOf(group);
    }
  }
  return "";
}

}  // namespace mainstay::cloud::aws
