// SMART of ATA drives behind the kernel's SCSI layer: the commands that ask for it, and the reading of what they give.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace mainstay::agent::probes {

inline constexpr std::size_t kSmartSector = 512;

// ATA PASS-THROUGH (16) of SCSI/ATA Translation. The second one gives a sector of data.
using ScsiCommand = std::array<std::uint8_t, 16>;
ScsiCommand smartReturnStatus();
ScsiCommand smartReadData();

// What a drive answers.
struct AtaSmart {
  std::string sense;  // of SMART RETURN STATUS: the verdict is in its registers
  std::string data;   // of SMART READ DATA
};

// The drive calls itself failing: a threshold of its maker is exceeded. nullopt: the answer does not say.
std::optional<bool> saysItFails(std::string_view sense);
// It knows no such command, or SMART is switched off.
bool refusesSmart(std::string_view sense);
// It did what it was asked. No sense at all says so, too.
bool hasDone(std::string_view sense);

// The attributes that count bad sectors, by number; those that the drive keeps.
struct SectorCount {
  int attribute;
  const char* name;
  std::size_t bytes;  // of the raw value that are the count
};
inline constexpr std::array kSectorCounts = {SectorCount{5, "reallocated sectors", 2},
                                             SectorCount{197, "sectors waiting to be reallocated", 4},
                                             SectorCount{198, "sectors that cannot be read", 4}};
std::map<int, std::uint64_t> badSectors(std::string_view data);

}  // namespace mainstay::agent::probes
