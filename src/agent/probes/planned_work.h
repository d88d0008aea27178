// Planned work: what somebody does to the machine on purpose, and which looks like faults while it lasts.
#pragma once

#include <string>

#include "agent/probes/host_files.h"

namespace mainstay::agent::probes {

// How long after planned work, and after a boot, devices may still be training their links.
inline constexpr Duration kSettling = std::chrono::minutes(2);

// A shutdown or a reload of a device's driver that is under way: what, for people; "" = neither. A cordon is
// not of the machine: the node's state knows it.
std::string plannedWork(const HostFiles& files);

}  // namespace mainstay::agent::probes
