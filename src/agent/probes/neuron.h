// Neuron: what the driver's sysfs tree counts. Anyone who may open a Neuron device can write a line of its
// errors into the kernel log; nobody can write these.
#pragma once

#include "agent/probes/probe.h"

namespace mainstay::agent::probes {

const ProbeKind& neuronProbe();

// Whether the driver's counters bear out a line NEURON_HW_ERR=`error` of the device with this number.
enum class Corroboration {
  kBorneOut,      // the counters of such errors are above zero
  kContradicted,  // they are zero
  kUnknown,       // no counter tells of such errors, or it cannot be read
};
Corroboration corroborateNeuron(const HostFiles& files, std::string_view error, std::string_view device);

}  // namespace mainstay::agent::probes
