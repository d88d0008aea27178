// AMD Instinct and Intel Gaudi: what their drivers tell in sysfs.
#pragma once

#include "agent/probes/probe.h"

namespace mainstay::agent::probes {

const ProbeKind& amdProbe();
const ProbeKind& gaudiProbe();

}  // namespace mainstay::agent::probes
