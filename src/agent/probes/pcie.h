// PCI Express: errors that devices and ports count (AER), links narrower or slower than both ends can,
// devices that do not answer any more.
#pragma once

#include "agent/probes/probe.h"

namespace mainstay::agent::probes {

const ProbeKind& pcieProbe();

}  // namespace mainstay::agent::probes
