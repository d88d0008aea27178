// The devices of one vendor on the PCI bus, and whether a driver has them.
#pragma once

#include <string>
#include <vector>

#include "agent/probes/host_files.h"

namespace mainstay::agent::probes {

struct PciDevice {
  std::string address;         // "0000:3b:00.0"
  std::uint64_t pciClass = 0;  // 0x030200
  bool claimed = false;        // by any driver
  bool ours = false;           // by the driver that was asked for
};

std::vector<PciDevice> pciDevices(HostView& view, std::uint64_t vendor, const std::string& driver);

inline constexpr std::uint64_t kNvidiaVendor = 0x10de;
inline constexpr std::uint64_t kAmdVendor = 0x1002;
inline constexpr std::uint64_t kHabanaVendor = 0x1da3;

// Controllers of displays (VGA, 3D, other) and processing accelerators.
bool isAccelerator(const PciDevice& device);

}  // namespace mainstay::agent::probes
