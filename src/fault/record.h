// Record: one line of a log, taken apart. What every source turns its raw material into.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace mainstay::fault {

// Priority of a record that did not come from the kernel, as far as its log tells: facility 1, "user".
inline constexpr int kUserPriority = 8;

struct Record {
  TimePoint time{};       // wall clock; set by the source, which knows its log's clock
  int priority = 0;       // facility * 8 + level, as in syslog
  std::uint64_t seq = 0;  // number of the record in the kernel log
  Duration sinceBoot{};   // on the kernel log's clock
  std::string text;       // valid UTF-8, trimmed; escapes (\x0a) are left as the kernel wrote them
  // "SUBSYSTEM=pci", "DEVICE=+pci:0000:00:1f.0": what the driver said about the device, apart from the text
  // so that rules which end at the end of the line match driver messages, too.
  std::vector<std::pair<std::string, std::string>> dictionary;

  // 0 = the kernel itself; user space cannot write with facility 0.
  int facility() const { return priority / 8; }
};

// Reads "<prio>,<seq>,<usec>,<flags>[,key=value...];text\n[ KEY=value\n...]"
// (Documentation/ABI/testing/dev-kmsg). Unknown fields are skipped. kInvalidArgument says what is wrong and
// quotes the start of the record.
Result<Record> parseKernelRecord(std::string_view raw);

}  // namespace mainstay::fault
