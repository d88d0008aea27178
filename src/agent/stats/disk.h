// Disks and filesystems: which there are, what they did, how full they are. Pure. Texts are valid UTF-8, but
// for mountinfo.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/stats/metric_table.h"
#include "base/result.h"

namespace mainstay::agent::stats {

// A line of /proc/diskstats. Milliseconds are the kernel's, which wrap at 2^32.
struct DiskCounters {
  std::string number;  // "254:0", as mountinfo names it
  double readCount = 0, readMerged = 0, readBytes = 0, readMs = 0;
  double writeCount = 0, writeMerged = 0, writeBytes = 0, writeMs = 0;
  double ioMs = 0, weightedIoMs = 0;

  bool unused() const { return readCount + writeCount + ioMs + weightedIoMs == 0; }
};
using DiskTable = std::map<std::string, DiskCounters>;  // by name: "sda1"
Result<DiskTable> parseDiskStats(std::string_view diskstats);

// A filesystem on a disk.
struct Mount {
  std::string device;  // "sda1", "dm-0"
  std::string fsType;
  std::string options;     // comma-separated
  std::string mountPoint;  // any bytes
};
// The first mount of each device, in the order of `mountinfo` (/proc/self/mountinfo). `filesystems`
// (/proc/filesystems) tells which kinds lie on disks: the others are in memory, or on the network.
std::vector<Mount> parseMounts(std::string_view mountinfo, std::string_view filesystems,
                               const DiskTable& disks);

// Of /sys/block/NAME.
struct BlockDevice {
  std::string name;
  double size = 0;         // in sectors
  bool hasSlaves = false;  // made of other block devices
};
// Those that `lsblk --nodeps` lists: neither made of others, nor in memory, nor a loop without a file.
std::set<std::string> rootDisks(const std::vector<BlockDevice>& devices, const DiskTable& disks);

// Counters of the disks whose names are `wanted` (nullopt: all) and that did something since the boot, with
// the average queue of those that were there `elapsed` ago.
Samples diskSamples(const DiskTable& disks, const std::optional<std::set<std::string>>& wanted,
                    const DiskTable& before, Duration elapsed);

// Bytes of a filesystem, as df counts them.
struct Usage {
  double used = 0;
  double free = 0;  // for users other than root
};
Samples usageSamples(const Mount& mount, const Usage& usage);

}  // namespace mainstay::agent::stats
