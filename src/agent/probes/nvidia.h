// NVIDIA GPUs: their number, and what the driver's management library (NVML) says of each, asked in a child
// process.
#pragma once

#include "agent/probes/nvml_survey.h"
#include "agent/probes/probe.h"

namespace mainstay::agent::probes {

const ProbeKind& nvidiaProbe();

}  // namespace mainstay::agent::probes
