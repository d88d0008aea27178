// Neuron: what the driver's sysfs tree counts and, where it is installed, what neuron-monitor prints of it.
#pragma once

#include "agent/probes/probe.h"

namespace mainstay::agent::probes {

const ProbeKind& neuronProbe();

// Each device has a folder there, "neuron0", with its counters in another.
inline constexpr char kNeuronDevices[] = "/sys/devices/virtual/neuron_device";
inline constexpr char kNeuronCounters[] = "/stats/hardware/";

}  // namespace mainstay::agent::probes
