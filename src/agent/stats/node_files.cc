#include "agent/stats/node_files.h"

#include <array>

#include "agent/proc_text.h"
#include "agent/stats/collectors.h"
#include "base/log.h"
#include "base/text.h"
#include "fault/text.h"

namespace mainstay::agent::stats {
namespace {

constexpr std::size_t kMaxProcFile = 16u << 20;
constexpr char kOsRelease[] = "/etc/os-release";
// node-problem-detector runs lsblk, which reads the same folder: a process less, and none that can hang.
constexpr char kSysBlock[] = "/sys/block";

}  // namespace

Result<NodeFiles> NodeFiles::create(StatsConfig config, const FileSystem& files, double usageTicks) {
  NodeFiles node(std::move(config), files, usageTicks);
  if (!node.config_.excludeInterfaces.empty()) {
    MAINSTAY_ASSIGN(node.excludeInterfaces_, fault::Pattern::compileAnywhere(node.config_.excludeInterfaces));
  }
  if (!files.exists(node.config_.procPath)) {
    return fail(Code::kNotFound,
                node.config_.file + ": procPath: there is no folder " + node.config_.procPath);
  }
  if (node.config_.wants("system/os_feature")) {
    const std::string& path = node.config_.knownModulesPath;
    const auto text = files.read(path, kMaxProcFile);
    auto known = text ? parseKnownModules(*text, path) : fail(text.error());
    if (known) {
      node.knownModules_ = *std::move(known);
    } else {
      logWarning("no kernel module is known, so that every foreign one is shown as unknown",
                 {{"config", node.config_.file}, {"error", known.error()}});
    }
  }
  return node;
}

NodeFiles::NodeFiles(StatsConfig config, const FileSystem& files, double usageTicks)
    : config_(std::move(config)), files_(&files), usageTicks_(usageTicks) {}

std::span<const NodeFiles::Part> NodeFiles::parts() {
  static constexpr std::array<Part, 7> kParts = {{{"loadavg", &NodeFiles::readLoad},
                                                  {"stat", &NodeFiles::readStat},
                                                  {"diskstats", &NodeFiles::readDisks},
                                                  {"uptime", &NodeFiles::readUptime},
                                                  {"meminfo", &NodeFiles::readMemory},
                                                  {"modules", &NodeFiles::readOsFeatures},
                                                  {"net/dev", &NodeFiles::readNet}}};
  return kParts;
}

Result<std::string> NodeFiles::proc(const char* path) const {
  MAINSTAY_ASSIGN(const std::string text, files_->read(config_.procPath + "/" + path, kMaxProcFile));
  return sanitizeUtf8(text);
}

Result<Samples> NodeFiles::readLoad(TimePoint) {
  MAINSTAY_ASSIGN(const std::string text, proc("loadavg"));
  return loadSamples(text);
}

Result<Samples> NodeFiles::readStat(TimePoint) {
  MAINSTAY_ASSIGN(const std::string text, proc("stat"));
  return cpuSamples(text, usageTicks_);
}

Result<Samples> NodeFiles::readMemory(TimePoint) {
  MAINSTAY_ASSIGN(const std::string text, proc("meminfo"));
  return memorySamples(text);
}

Result<Samples> NodeFiles::readNet(TimePoint) {
  MAINSTAY_ASSIGN(const std::string text, proc("net/dev"));
  return netSamples(text, excludeInterfaces_ ? &*excludeInterfaces_ : nullptr);
}

// Which distribution it is may be unknown, as in an image without a file that says so: the uptime is true all
// the same.
Result<Samples> NodeFiles::readUptime(TimePoint) {
  MAINSTAY_ASSIGN(const std::string uptime, proc("uptime"));
  MAINSTAY_ASSIGN(const std::string kernel, proc("sys/kernel/osrelease"));
  const auto release = files_->read(kOsRelease, kMaxProcFile);
  return hostSamples(uptime, std::string(fault::trim(kernel)),
                     osVersion(release ? sanitizeUtf8(*release) : ""));
}

Result<Samples> NodeFiles::readOsFeatures(TimePoint) {
  MAINSTAY_ASSIGN(const std::string cmdline, proc("cmdline"));
  const auto modules = proc("modules");
  if (!modules && modules.error().code() != Code::kNotFound) {
    return fail(modules.error());
  }
  // A kernel that cannot load modules has no such file.
  return osFeatureSamples(cmdline, modules ? *modules : "", knownModules_);
}

Result<Samples> NodeFiles::readDisks(TimePoint now) {
  MAINSTAY_ASSIGN(const std::string text, proc("diskstats"));
  MAINSTAY_ASSIGN(DiskTable disks, parseDiskStats(text));
  MAINSTAY_ASSIGN(const auto wanted, wantedDisks(disks));
  Samples samples = diskSamples(disks, wanted, disksBefore_, now - disksReadAt_);
  disksBefore_ = std::move(disks);
  disksReadAt_ = now;
  return samples;
}

Result<std::optional<std::set<std::string>>> NodeFiles::wantedDisks(const DiskTable& disks) const {
  if (!config_.rootDisks && !config_.attachedDisks) {
    return std::nullopt;
  }
  std::set<std::string> wanted;
  if (config_.rootDisks) {
    MAINSTAY_ASSIGN(const auto devices, blockDevices());
    wanted = rootDisks(devices, disks);
  }
  if (config_.attachedDisks) {
    MAINSTAY_ASSIGN(const auto attached, mounts());
    for (const Mount& mount : attached) {
      wanted.insert(mount.device);
    }
  }
  return wanted;
}

Result<std::vector<BlockDevice>> NodeFiles::blockDevices() const {
  MAINSTAY_ASSIGN(const auto names, files_->list(kSysBlock));
  std::vector<BlockDevice> devices;
  for (const std::string& name : names) {
    const std::string folder = std::string(kSysBlock) + "/" + name;
    const auto size = files_->read(folder + "/size", kMaxProcFile);
    if (!size) {
      continue;  // it went away since
    }
    const auto slaves = files_->list(folder + "/slaves");
    devices.push_back({name, numberOf(fault::trim(*size)).value_or(0), slaves && !slaves->empty()});
  }
  return devices;
}

Result<std::vector<Mount>> NodeFiles::mounts() const {
  MAINSTAY_ASSIGN(const std::string text, proc("diskstats"));
  MAINSTAY_ASSIGN(const DiskTable disks, parseDiskStats(text));
  MAINSTAY_ASSIGN(const std::string mountinfo,
                  files_->read(config_.procPath + "/self/mountinfo", kMaxProcFile));
  MAINSTAY_ASSIGN(const std::string filesystems, proc("filesystems"));
  return parseMounts(mountinfo, filesystems, disks);
}

}  // namespace mainstay::agent::stats
