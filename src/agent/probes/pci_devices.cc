#include "agent/probes/pci_devices.h"

namespace mainstay::agent::probes {

std::vector<PciDevice> pciDevices(HostView& view, std::uint64_t vendor, const std::string& driver) {
  std::vector<PciDevice> devices;
  for (const std::string& address : view.list("/sys/bus/pci/devices")) {
    const std::string folder = "/sys/bus/pci/devices/" + address;
    if (view.number(folder + "/vendor") == vendor) {
      devices.push_back({address, view.number(folder + "/class").value_or(0), view.exists(folder + "/driver"),
                         view.exists("/sys/bus/pci/drivers/" + driver + "/" + address)});
    }
  }
  return devices;
}

bool isAccelerator(const PciDevice& device) {
  return device.pciClass >> 16 == 0x03 || device.pciClass >> 16 == 0x12;
}

}  // namespace mainstay::agent::probes
