// NeuronWitness: anyone who may open a Neuron device can write a line of its errors into the kernel log; nobody can write
// the counters of its driver, which bear a line out or contradict it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "agent/probes/host_files.h"
#include "fault/engine.h"

namespace mainstay::agent::probes {

// A hardware counter of one Neuron device, by its number and the counter's name in the driver's tree; nullopt where it
// cannot be read.
using ReadNeuronCounter =
    std::function<std::optional<std::uint64_t>(const std::string& device, const std::string& counter)>;

// Whether the counters bear out a line NEURON_HW_ERR=code of a device "3" or "nd3": above zero they do, at zero they
// contradict it; of other errors no counter tells.
fault::Testimony neuronTestimony(const ReadNeuronCounter& read, const fault::Sighting& sighting);

// Reads them from the driver, on a thread of its own, which may hang: until it has read what was written after the line
// its answer is awaited.
fault::Witness neuronWitness(const HostFiles& files);

}  // namespace mainstay::agent::probes
