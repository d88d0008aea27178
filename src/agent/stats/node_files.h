// NodeFiles: what a config asks for, read from the node's files. These come out of the kernel's memory:
// reading them does not wait for a device.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/stats/config.h"
#include "agent/stats/disk.h"
#include "agent/stats/metric_table.h"
#include "base/file_system.h"
#include "fault/pattern.h"

namespace mainstay::agent::stats {

// Owned and used by one loop.
class NodeFiles {
 public:
  // `files` outlives it. `usageTicks` as for cpuSamples. When the list of known modules cannot be read, no
  // module is known and the log says why, as in node-problem-detector.
  static Result<NodeFiles> create(StatsConfig config, const FileSystem& files, double usageTicks);

  // What is read together: it gives all of its samples, or an error.
  struct Part {
    std::string_view source;  // as in MetricSpec
    Result<Samples> (NodeFiles::*read)(TimePoint now);
  };
  static std::span<const Part> parts();

  // The filesystems whose usage can be asked for.
  Result<std::vector<Mount>> mounts() const;

 private:
  NodeFiles(StatsConfig config, const FileSystem& files, double usageTicks);

  Result<std::string> proc(const char* path) const;  // valid UTF-8
  Result<Samples> readLoad(TimePoint now);
  Result<Samples> readStat(TimePoint now);
  Result<Samples> readMemory(TimePoint now);
  Result<Samples> readNet(TimePoint now);
  Result<Samples> readUptime(TimePoint now);
  Result<Samples> readOsFeatures(TimePoint now);
  Result<Samples> readDisks(TimePoint now);
  Result<std::optional<std::set<std::string>>> wantedDisks(const DiskTable& disks) const;
  Result<std::vector<BlockDevice>> blockDevices() const;

  StatsConfig config_;
  const FileSystem* files_;
  double usageTicks_;
  std::optional<fault::Pattern> excludeInterfaces_;
  std::set<std::string, std::less<>> knownModules_;
  DiskTable disksBefore_;
  TimePoint disksReadAt_{};
};

}  // namespace mainstay::agent::stats
