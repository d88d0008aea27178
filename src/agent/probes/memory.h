// Memory: errors that its controllers count (EDAC), pages that the kernel gave up, pressure, OOM kills, swap.
#pragma once

#include "agent/probes/probe.h"

namespace mainstay::agent::probes {

const ProbeKind& memoryProbe();

}  // namespace mainstay::agent::probes
