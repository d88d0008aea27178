// Kernel: tasks that hang, oopses, lockups, marks of past trouble (taint), and whether the clock is
// synchronized.
#pragma once

#include "agent/probes/probe.h"

namespace mainstay::agent::probes {

const ProbeKind& kernelProbe();

}  // namespace mainstay::agent::probes
