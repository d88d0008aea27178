#include "agent/stats/disk.h"

#include <algorithm>
#include <array>

#include "agent/mount_info.h"
#include "agent/proc_text.h"
#include "base/text.h"
#include "fault/text.h"

namespace mainstay::agent::stats {
namespace {

constexpr double kSector = 512;              // bytes, whatever the disk's own
constexpr std::size_t kDiskStatsWords = 14;  // newer kernels have more
constexpr std::string_view kRamMajor = "1:";
constexpr std::string_view kLoopMajor = "7:";

std::set<std::string_view> diskFilesystems(std::string_view filesystems) {
  std::set<std::string_view> kinds{"zfs"};  // says nodev, as it keeps its disks to itself
  for (const std::string_view line : linesOf(filesystems)) {
    if (!line.starts_with("nodev")) {
      kinds.insert(fault::trim(line));
    }
  }
  return kinds;
}

// The kernel's own name of a device, whatever path it was mounted by (/dev/mapper/x, /dev/root); btrfs and
// zfs number their devices differently, so that only the path is left.
std::string deviceName(std::string_view number, std::string_view path, const DiskTable& disks) {
  const auto same =
      std::ranges::find_if(disks, [&](const auto& disk) { return disk.second.number == number; });
  if (same != disks.end()) {
    return same->first;
  }
  return sanitizeUtf8(path.starts_with("/dev/") ? path.substr(5) : path);
}

void addDirection(Samples& samples, const std::string& disk, const char* direction, double count,
                  double merged, double bytes, double ms) {
  const MetricLabels labels{{"device_name", disk}, {"direction", direction}};
  samples.push_back({"disk/operation_count", labels, count});
  samples.push_back({"disk/merged_operation_count", labels, merged});
  samples.push_back({"disk/operation_bytes_count", labels, bytes});
  samples.push_back({"disk/operation_time", labels, ms});
}

}  // namespace

Result<DiskTable> parseDiskStats(std::string_view diskstats) {
  DiskTable disks;
  for (const std::string_view line : linesOf(diskstats)) {
    const auto words = wordsOf(line);
    if (words.size() < kDiskStatsWords) {
      return notAsExpected("diskstats", "14 words or more in each line", line);
    }
    std::array<double, 11> value{};
    for (std::size_t i = 0; i < value.size(); ++i) {
      const auto number = numberOf(words[i + 3]);
      if (!number) {
        return notAsExpected("diskstats", "numbers after the name", line);
      }
      value[i] = *number;
    }
    disks[std::string(words[2])] = {.number = std::string(words[0]) + ":" + std::string(words[1]),
                                    .readCount = value[0],
                                    .readMerged = value[1],
                                    .readBytes = value[2] * kSector,
                                    .readMs = value[3],
                                    .writeCount = value[4],
                                    .writeMerged = value[5],
                                    .writeBytes = value[6] * kSector,
                                    .writeMs = value[7],
                                    .ioMs = value[9],
                                    .weightedIoMs = value[10]};
  }
  return disks;
}

std::vector<Mount> parseMounts(std::string_view mountinfo, std::string_view filesystems,
                               const DiskTable& disks) {
  const auto kinds = diskFilesystems(filesystems);
  std::set<std::string> seen;
  std::vector<Mount> mounts;
  for (const std::string_view text : linesOf(mountinfo)) {
    const auto line = parseMountLine(text);
    if (!line || !kinds.contains(line->type) || line->source == "none") {
      continue;
    }
    std::string device = deviceName(line->number, line->source, disks);
    if (seen.insert(device).second) {
      const char* bind = line->root == "/" ? "" : ",bind";  // a part of the filesystem
      mounts.push_back({std::move(device), line->type, sanitizeUtf8(line->options) + bind, line->point});
    }
  }
  return mounts;
}

std::set<std::string> rootDisks(const std::vector<BlockDevice>& devices, const DiskTable& disks) {
  std::set<std::string> names;
  for (const BlockDevice& device : devices) {
    const auto disk = disks.find(device.name);
    const std::string_view number = disk == disks.end() ? "" : std::string_view(disk->second.number);
    const bool emptyLoop = number.starts_with(kLoopMajor) && device.size <= 0;
    if (!device.hasSlaves && !number.starts_with(kRamMajor) && !emptyLoop) {
      names.insert(device.name);
    }
  }
  return names;
}

Samples diskSamples(const DiskTable& disks, const std::optional<std::set<std::string>>& wanted,
                    const DiskTable& before, Duration elapsed) {
  Samples samples;
  for (const auto& [name, disk] : disks) {
    if (disk.unused() || (wanted && !wanted->contains(name))) {
      continue;
    }
    const MetricLabels labels{{"device_name", name}};
    samples.push_back({"disk/io_time", labels, disk.ioMs});
    samples.push_back({"disk/weighted_io", labels, disk.weightedIoMs});
    // A disk that counts from zero again has no average yet.
    const auto old = before.find(name);
    if (old != before.end() && elapsed > Duration{} && disk.weightedIoMs >= old->second.weightedIoMs) {
      const double ms = static_cast<double>(elapsed.count()) / 1000;
      samples.push_back({"disk/avg_queue_len", labels, (disk.weightedIoMs - old->second.weightedIoMs) / ms});
    }
    addDirection(samples, name, "read", disk.readCount, disk.readMerged, disk.readBytes, disk.readMs);
    addDirection(samples, name, "write", disk.writeCount, disk.writeMerged, disk.writeBytes, disk.writeMs);
  }
  return samples;
}

Samples usageSamples(const Mount& mount, const Usage& usage) {
  MetricLabels labels{
      {"device_name", mount.device}, {"fs_type", mount.fsType}, {"mount_option", mount.options}};
  Samples samples;
  labels["state"] = "free";
  samples.push_back({"disk/bytes_used", labels, usage.free});
  labels["state"] = "used";
  samples.push_back({"disk/bytes_used", labels, usage.used});
  const double total = usage.used + usage.free;
  samples.push_back(
      {"disk/percent_used", {{"device_name", mount.device}}, total > 0 ? usage.used / total * 100 : 0});
  return samples;
}

}  // namespace mainstay::agent::stats
