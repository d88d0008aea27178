// What keeps an Auto Scaling group from replacing an instance, in words, with what to do. Pure; "" = nothing known.
#pragma once

#include <string>

#include "cloud/aws/api.h"

namespace mainstay::cloud::aws {

// Why marking this member unhealthy would not get it replaced, or would cost the group an instance for good.
std::string whyNotReplaceable(const GroupInstance& member, const AutoScalingGroup& group);

// Why the group would not terminate, or not launch, just now.
std::string obstacleOf(const AutoScalingGroup& group);

// Why a member that is ending, or starting, stands still.
std::string obstacleOf(const GroupInstance& member);

}  // namespace mainstay::cloud::aws
