#include "agent/probes/ata_smart.h"

#include <algorithm>

namespace mainstay::agent::probes {
namespace {

constexpr std::uint8_t kPassThrough16 = 0x85;
constexpr std::uint8_t kSmartCommand = 0xb0;
constexpr std::uint8_t kReadData = 0xd0;  // its subcommands, in the register for features
constexpr std::uint8_t kReturnStatus = 0xda;
constexpr std::uint8_t kLbaMid = 0x4f;  // every SMART command has these two
constexpr std::uint8_t kLbaHigh = 0xc2;
constexpr std::uint8_t kFailingMid = 0xf4;  // what SMART RETURN STATUS puts in their place
constexpr std::uint8_t kFailingHigh = 0x2c;
constexpr std::uint8_t kWithoutData = 3 << 1;  // protocols
constexpr std::uint8_t kDataIn = 4 << 1;
constexpr std::uint8_t kGiveRegisters = 0x20;  // CK_COND
constexpr std::uint8_t kOneSectorIn = 0x0e;    // T_DIR, BYT_BLOK, T_LENGTH: as many as the count says

constexpr int kFixedFormat = 0x70;
constexpr int kDescriptorFormat = 0x72;
constexpr std::size_t kFirstDescriptor = 8;
constexpr std::uint8_t kAtaRegisters = 0x09;  // type of a descriptor
constexpr int kRecoveredError = 0x01;         // sense keys; 0 is none
constexpr int kIllegalRequest = 0x05;
constexpr int kAbortedCommand = 0x0b;

constexpr std::size_t kFirstAttribute = 2;
constexpr std::size_t kAttributeBytes = 12;
constexpr std::size_t kAttributes = 30;
constexpr std::size_t kRawAt = 5;

std::uint8_t byteAt(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<std::uint8_t>(text[at]) : std::uint8_t{0};
}

int formatOf(std::string_view sense) {
  return byteAt(sense, 0) & 0x7e;  // the lowest bit: of an earlier command
}

ScsiCommand smart(std::uint8_t subcommand, std::uint8_t protocol, std::uint8_t flags) {
  ScsiCommand command{};
  command[0] = kPassThrough16;
  command[1] = protocol;
  command[2] = flags;
  command[4] = subcommand;
  command[6] = 1;  // sectors
  command[10] = kLbaMid;
  command[12] = kLbaHigh;
  command[14] = kSmartCommand;
  return command;
}

int keyOf(std::string_view sense) {
  return byteAt(sense, formatOf(sense) == kDescriptorFormat ? 1 : 2) & 0x0f;
}

// The descriptor with the drive's registers; "" when there is none.
std::string_view registersIn(std::string_view sense) {
  for (std::size_t at = kFirstDescriptor; at + 1 < sense.size();) {
    const std::size_t size = byteAt(sense, at + 1) + std::size_t{2};
    if (byteAt(sense, at) == kAtaRegisters) {
      return sense.substr(at, size);
    }
    at += size;
  }
  return {};
}

std::pair<std::uint8_t, std::uint8_t> midAndHigh(std::string_view sense) {
  if (formatOf(sense) == kDescriptorFormat) {
    const std::string_view registers = registersIn(sense);
    return {byteAt(registers, 9), byteAt(registers, 11)};
  }
  return formatOf(sense) == kFixedFormat ? std::pair(byteAt(sense, 10), byteAt(sense, 11))
                                         : std::pair<std::uint8_t, std::uint8_t>();
}

}  // namespace

ScsiCommand smartReturnStatus() {
  return smart(kReturnStatus, kWithoutData, kGiveRegisters);
}

ScsiCommand smartReadData() {
  return smart(kReadData, kDataIn, kOneSectorIn);
}

std::optional<bool> saysItFails(std::string_view sense) {
  const auto registers = midAndHigh(sense);
  if (registers == std::pair(kFailingMid, kFailingHigh)) {
    return true;
  }
  return registers == std::pair(kLbaMid, kLbaHigh) ? std::optional(false) : std::nullopt;
}

bool refusesSmart(std::string_view sense) {
  return keyOf(sense) == kIllegalRequest || keyOf(sense) == kAbortedCommand;
}

bool hasDone(std::string_view sense) {
  return keyOf(sense) <= kRecoveredError;
}

std::map<int, std::uint64_t> badSectors(std::string_view data) {
  std::map<int, std::uint64_t> counts;
  for (std::size_t i = 0; i < kAttributes && data.size() >= kSmartSector; ++i) {
    const std::string_view entry = data.substr(kFirstAttribute + i * kAttributeBytes, kAttributeBytes);
    const auto known =
        std::ranges::find(kSectorCounts, static_cast<int>(byteAt(entry, 0)), &SectorCount::attribute);
    if (known == kSectorCounts.end()) {
      continue;
    }
    std::uint64_t& count = counts[known->attribute];
    for (std::size_t byte = 0; byte < known->bytes; ++byte) {
      count |= std::uint64_t{byteAt(entry, kRawAt + byte)} << 8 * byte;
    }
  }
  return counts;
}

}  // namespace mainstay::agent::probes
