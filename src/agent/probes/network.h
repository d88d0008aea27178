// Network: ports of InfiniBand, RoCE and EFA with their error counters, and Ethernet interfaces.
#pragma once

#include "agent/probes/probe.h"

namespace mainstay::agent::probes {

const ProbeKind& networkProbe();

}  // namespace mainstay::agent::probes
