// Storage: what NVMe and ATA drives say of their health, filesystems that became read-only or fill up.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/probes/probe.h"

namespace mainstay::agent::probes {

const ProbeKind& storageProbe();

// One line of mountinfo (proc_pid_mountinfo(5)).
struct Mount {
  std::string device;        // "259:1"
  std::string point;         // "/var/lib/kubelet"
  std::string options;       // of this mount: "rw,relatime"
  std::string type;          // "ext4"
  std::string superOptions;  // of the filesystem: "ro,errors=remount-ro"
};
// nullopt: not such a line. Escapes (\040) are undone.
std::optional<Mount> parseMount(std::string_view line);

// What the SMART / health information log page (NVM Express Base Specification, log identifier 02h) says.
struct NvmeHealth {
  unsigned warning =
      0;  // bits: 0 spare low, 1 temperature, 2 degraded, 3 read-only, 4 backup failed, 5 memory region
  unsigned percentUsed = 0;  // of its life
  std::uint64_t mediaErrors = 0;
};
// nullopt: too short.
std::optional<NvmeHealth> parseNvmeHealth(std::string_view page);

}  // namespace mainstay::agent::probes
