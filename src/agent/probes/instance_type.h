// Instance types: what a machine that is rented as one has to have.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/probes/host_files.h"

namespace mainstay::agent::probes {

struct Accelerators {
  int nvidiaGpus = 0;
  int neuronDevices = 0;
};

// nullopt: a type that the table does not know, nothing can be expected of it.
std::optional<Accelerators> expectedAccelerators(std::string_view instanceType);

// As the firmware tells it (EC2: the product's name); "" when this is not such a machine.
std::string instanceTypeOf(const HostFiles& files);

}  // namespace mainstay::agent::probes
