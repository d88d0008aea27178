#include "agent/probes/planned_work.h"

#include <array>

#include "fault/text.h"

namespace mainstay::agent::probes {
namespace {

struct PlannedSign {
  const char* path;
  const char* meaning;
};

// systemd writes the first when a shutdown is scheduled, and keeps logins closed by the second while it goes
// down and before it is up.
constexpr std::array kSigns = {
    PlannedSign{"/run/systemd/shutdown/scheduled", "a shutdown is scheduled"},
    PlannedSign{"/run/nologin", "logins are closed: the machine goes down, or is not up yet"},
};

constexpr std::array kDrivers = {"nvidia", "neuron", "amdgpu", "habanalabs", "mlx5_core", "efa"};

}  // namespace

std::string plannedWork(const HostFiles& files) {
  for (const PlannedSign& sign : kSigns) {
    if (files.exists(sign.path)) {
      return sign.meaning;
    }
  }
  for (const char* driver : kDrivers) {
    const auto state = files.read(std::string("/sys/module/") + driver + "/initstate");
    if (state && fault::trim(*state) != "live") {
      return std::string("the driver ") + driver + " is being loaded or unloaded";
    }
  }
  return "";
}

}  // namespace mainstay::agent::probes
