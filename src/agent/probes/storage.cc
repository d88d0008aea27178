#include "agent/probes/storage.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "agent/mount_info.h"
#include "agent/probes/counters.h"
#include "agent/proc_text.h"
#include "base/text.h"

namespace mainstay::agent::probes {
namespace {

using namespace std::chrono_literals;

constexpr char kDriveDead[] = "NvmeControllerDead";
constexpr char kDriveFailing[] = "NvmeCriticalWarning";
constexpr char kDriveHot[] = "NvmeTooHot";
constexpr char kDriveWorn[] = "NvmeWornOut";
constexpr char kMediaErrors[] = "NvmeMediaErrors";
constexpr char kAtaFailing[] = "AtaDriveFailing";
constexpr char kAtaBadSectors[] = "AtaBadSectors";
constexpr char kReadOnly[] = "FilesystemBecameReadOnly";
constexpr char kFull[] = "FilesystemFull";
constexpr char kInodesFull[] = "FilesystemInodesFull";
constexpr char kFilling[] = "FilesystemFilling";
constexpr char kNvmeSpec[] = "NVM Express base specification, log 02h";

constexpr std::array kStorageChecks = {
    Check{kDriveDead,
          Severity::kFatal,
          "StorageFault",
          "storage",
          RepairAction::kReplace,
          ClearOn::kEvidence,
          {0, 0s},
          {2, 0s, 1min},
          "the kernel gave a drive up",
          "Linux nvme, state \"dead\"",
          "2026-11"},
    Check{kDriveFailing,
          Severity::kFatal,
          "StorageFault",
          "storage",
          RepairAction::kReplace,
          ClearOn::kEvidence,
          {0, 0s},
          {2, 0s, 1min},
          "a drive says that it fails: spare, reliability, read-only or backup",
          kNvmeSpec,
          "2026-11"},
    Check{kDriveHot,
          Severity::kWarning,
          "StorageFault",
          "storage",
          RepairAction::kNone,
          ClearOn::kEvidence,
          {0, 0s},
          {2, 0s, 10min},
          "a drive says that it is too hot",
          kNvmeSpec,
          "2026-11"},
    Check{kDriveWorn,
          Severity::kWarning,
          "StorageFault",
          "storage",
          RepairAction::kNone,
          ClearOn::kEvidence,
          {99, 0s},
          {1, 0s, 0s},
          "per cent of a drive's life that are used",
          kNvmeSpec,
          "2026-11"},
    Check{kMediaErrors,
          Severity::kWarning,
          "StorageFault",
          "storage",
          RepairAction::kNone,
          ClearOn::kEvidence,
          {0, 0s},
          {1, 0s, 1h},
          "a drive could not give back what it stored",
          kNvmeSpec,
          "2026-11"},
    Check{kAtaFailing,
          Severity::kFatal,
          "StorageFault",
          "storage",
          RepairAction::kReplace,
          ClearOn::kEvidence,
          {0, 0s},
          {2, 0s, 1min},
          "a drive says that it fails: a threshold of its maker is exceeded",
          "ATA ACS, SMART RETURN STATUS",
          "2026-11"},
    Check{kAtaBadSectors,
          Severity::kWarning,
          "StorageFault",
          "storage",
          RepairAction::kNone,
          ClearOn::kEvidence,
          {0, 0s},
          {1, 0s, 1h},
          "a drive has more sectors that were reallocated, wait for it or cannot be read",
          "SMART attributes 5, 197, 198; smartd",
          "2026-11"},
    Check{kReadOnly,
          Severity::kFatal,
          "ReadonlyFilesystem",
          "storage",
          RepairAction::kReboot,
          ClearOn::kEvidence,
          {0, 0s},
          {2, 0s, 0s},
          "a filesystem that is mounted for writing is not written any more: the kernel met an error",
          "ext4(5) errors=remount-ro; HyperPod agent 2025-09",
          "2026-11"},
    Check{kFull,
          Severity::kWarning,
          "StorageFault",
          "storage",
          RepairAction::kNone,
          ClearOn::kEvidence,
          {95, 0s},
          {2, 0s, 5min},
          "per cent of a filesystem's bytes in use",
          "Mainstay; the kubelet evicts at 90 (nodefs)",
          "2026-11"},
    Check{kInodesFull,
          Severity::kWarning,
          "StorageFault",
          "storage",
          RepairAction::kNone,
          ClearOn::kEvidence,
          {95, 0s},
          {2, 0s, 5min},
          "per cent of a filesystem's inodes in use",
          "Mainstay; the kubelet evicts at 95 (nodefs)",
          "2026-11"},
    Check{kFilling,
          Severity::kWarning,
          "StorageFault",
          "storage",
          RepairAction::kNone,
          ClearOn::kEvidence,
          {100, 4h},
          {5, 0s, 30min},
          "per cent of a filesystem that will be in use then, if it goes on as in the last hour",
          "Mainstay",
          "2026-11"},
};

constexpr char kDrives[] = "/sys/class/nvme";
constexpr char kBlock[] = "/sys/block";
constexpr std::size_t kMaxAtaDrives = 64;
constexpr Duration kAskSmart = 10min;  // a drive interrupts its work for the answer
constexpr std::size_t kMaxFilesystems = 64;
constexpr unsigned kTemperature = 1u << 1;
constexpr std::array kWritable = {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs"};
constexpr Duration kGrowthSpan = 1h;
constexpr Duration kLeastGrowthSpan = 10min;

bool hasOption(std::string_view options, std::string_view wanted) {
  while (!options.empty()) {
    const std::string_view option = options.substr(0, options.find(','));
    options.remove_prefix(std::min(options.size(), option.size() + 1));
    if (option == wanted) {
      return true;
    }
  }
  return false;
}

double percent(double part, std::uint64_t all) {
  return all == 0 ? 0 : 100 * part / static_cast<double>(all);
}

std::string percentText(double share) {
  return std::to_string(static_cast<int>(share)) + " %";
}

class StorageProbe final : public Probe {
 public:
  StorageProbe(const Host& host, const ProbeSettings& settings)
      : files_(host.files), calls_(host.calls), settings_(settings) {}

  Look look(TimePoint now) override {
    HostView view(files_);
    Look found;
    for (const std::string& drive : view.list(kDrives)) {
      checkDrive(drive, now, view, found);
    }
    for (const std::string& drive : ataDrives(view)) {
      checkAtaDrive(drive, now, view, found);
    }
    std::set<std::string> measured;
    for (const Mount& mount : mounts(view)) {
      checkWritable(mount, found);
      if (measured.size() < kMaxFilesystems && measured.insert(mount.device).second) {
        checkUse(mount, now, view, found);
      }
    }
    found.blind = view.blind();
    return found;
  }

 private:
  bool wantsAny(std::span<const char* const> reasons) const {
    return std::ranges::any_of(reasons, [&](const char* reason) { return settings_.isOn(reason); });
  }

  // Drives whose commands the kernel translates: their vendor is "ATA".
  std::vector<std::string> ataDrives(HostView& view) const {
    std::vector<std::string> drives;
    if (wantsAny(std::array{kAtaFailing, kAtaBadSectors})) {
      for (const std::string& name : view.list(kBlock)) {
        const bool ata = name.starts_with("sd") &&
                         view.textIfAny(std::string(kBlock) + "/" + name + "/device/vendor") == "ATA";
        if (ata && drives.size() < kMaxAtaDrives) {
          drives.push_back(name);
        }
      }
    }
    return drives;
  }

  void checkAtaDrive(const std::string& drive, TimePoint now, HostView& view, Look& found) {
    const Result<AtaSmart>& smart = smartOf(drive, now);
    if (!smart) {
      if (smart.error().code() != Code::kFailedPrecondition) {
        view.miss(smart.error().toString());
      }
      return;
    }
    const auto fails = saysItFails(smart->sense);
    if (!fails) {
      view.miss(drive + ": its answer does not say whether it fails");
    } else if (*fails) {
      found.see(kAtaFailing, drive, drive + ": the drive says that it fails (SMART status)");
    }
    const Limit& limit = settings_.limit(kAtaBadSectors);
    for (const auto& [attribute, count] : badSectors(smart->data)) {
      const auto known = std::ranges::find(kSectorCounts, attribute, &SectorCount::attribute);
      const auto growth = counters_.watch(drive + "/" + known->name, count, limit, now);
      if (growth.over) {
        found.see(kAtaBadSectors, drive + "/" + std::to_string(attribute),
                  drive + ": " + riseText(known->name, growth, count, limit), growth.by > 0);
      }
    }
  }

  // Its last answer, until it is time to ask again.
  const Result<AtaSmart>& smartOf(const std::string& drive, TimePoint now) {
    auto at = smart_.find(drive);
    if (at == smart_.end() || now - at->second.at >= kAskSmart) {
      at = smart_.insert_or_assign(drive, Asked{now, calls_.ataSmart(files_.locate("/dev/" + drive))}).first;
    }
    return at->second.answer;
  }

  void checkDrive(const std::string& drive, TimePoint now, HostView& view, Look& found) {
    const std::string state = view.text(std::string(kDrives) + "/" + drive + "/state").value_or("");
    if (state == "dead") {
      found.see(kDriveDead, drive, drive + ": the kernel gave the drive up (state dead)");
      return;  // it does not answer
    }
    if (state != "live" || !wantsAny(std::array{kDriveFailing, kDriveHot, kDriveWorn, kMediaErrors})) {
      return;
    }
    const auto page = calls_.nvmeHealth(files_.locate("/dev/" + drive));
    if (!page) {
      if (page.error().code() != Code::kFailedPrecondition) {  // such a drive keeps no log
        view.miss(page.error().toString());
      }
      return;
    }
    const auto health = parseNvmeHealth(*page);
    if (!health) {
      view.miss(drive + ": a health log of " + std::to_string(page->size()) + " bytes");
      return;
    }
    checkHealth(drive, *health, now, found);
  }

  void checkHealth(const std::string& drive, const NvmeHealth& health, TimePoint now, Look& found) {
    if ((health.warning & ~kTemperature) != 0) {
      found.see(kDriveFailing, drive,
                drive + ": the drive warns of its failure:" + warningText(health.warning));
    }
    if ((health.warning & kTemperature) != 0) {
      found.see(kDriveHot, drive, drive + ": the drive's temperature is beyond its threshold");
    }
    if (health.percentUsed > settings_.limit(kDriveWorn).count) {
      found.see(kDriveWorn, drive,
                drive + ": " + std::to_string(health.percentUsed) + " % of the drive's life are used");
    }
    const Limit& limit = settings_.limit(kMediaErrors);
    const auto growth = counters_.watch(drive, health.mediaErrors, limit, now);
    if (growth.over) {
      found.see(kMediaErrors, drive,
                drive + ": " + riseText("media errors", growth, health.mediaErrors, limit), growth.by > 0);
    }
  }

  static std::string warningText(unsigned warning) {
    constexpr std::array kBits = {" spare blocks run out,",
                                  "",
                                  " its reliability is degraded,",
                                  " it is read-only,",
                                  " its backup of volatile memory failed,",
                                  " its persistent memory is unreliable,"};
    std::string text;
    for (std::size_t bit = 0; bit < kBits.size(); ++bit) {
      text += (warning >> bit & 1u) != 0 ? kBits.at(bit) : "";
    }
    if (text.empty()) {
      return " bits " + std::to_string(warning);
    }
    text.pop_back();
    return text;
  }

  // Those of the host, of filesystems that lie on drives of it. The host's first process shows them all;
  // where it may not be asked, our own view of the same host does, if it is mounted there.
  std::vector<Mount> mounts(HostView& view) const {
    auto table = files_.read("/proc/1/mountinfo");
    std::string prefix;
    if (!table && table.error().code() == Code::kPermissionDenied) {
      table = files_.readOurs("/proc/self/mountinfo");
      prefix = files_.locate("");
    }
    if (!table) {
      view.miss(table.error().toString());
      return {};
    }
    std::vector<Mount> found;
    for (const std::string_view line : linesOf(*table)) {
      auto mount = parseMount(line);
      const bool ofHost = mount && (mount->point + "/").starts_with(prefix + "/");
      if (ofHost && std::ranges::count(kWritable, mount->type) > 0) {
        mount->point.erase(0, prefix.size());
        mount->point = mount->point.empty() ? "/" : mount->point;
        found.push_back(*std::move(mount));
      }
    }
    return found;
  }

  // Whoever mounts read-only on purpose says so for the mount; an error changes only the filesystem beneath
  // it.
  static void checkWritable(const Mount& mount, Look& found) {
    const bool stopped = hasOption(mount.superOptions, "ro") ||
                         hasOption(mount.superOptions, "emergency_ro") ||
                         hasOption(mount.superOptions, "shutdown");
    const bool seen = std::ranges::any_of(found.sightings, [&](const Sighting& other) {
      return other.reason == kReadOnly && other.device == mount.device;
    });
    if (stopped && hasOption(mount.options, "rw") && !seen) {
      found.see(kReadOnly, mount.device,
                "the " + mount.type + " filesystem at " + mount.point + " (device " + mount.device +
                    ") is mounted for writing and has become read-only");
    }
  }

  void checkUse(const Mount& mount, TimePoint now, HostView& view, Look& found) {
    const auto use = calls_.filesystemUse(files_.locate(mount.point));
    if (!use) {
      if (use.error().code() != Code::kNotFound) {
        view.miss(use.error().toString());
      }
      return;
    }
    const std::uint64_t usedBytes = use->bytes - std::min(use->bytes, use->freeBytes);
    const std::uint64_t usedInodes = use->inodes - std::min(use->inodes, use->freeInodes);
    const double bytes = percent(static_cast<double>(usedBytes), use->bytes);
    const double inodes = percent(static_cast<double>(usedInodes), use->inodes);
    const std::string what = "the filesystem at " + mount.point + ": ";
    if (bytes > settings_.limit(kFull).count) {
      found.see(kFull, mount.device, what + percentText(bytes) + " of its bytes are in use");
    }
    if (inodes > settings_.limit(kInodesFull).count) {
      found.see(kInodesFull, mount.device, what + percentText(inodes) + " of its inodes are in use");
    }
    const Limit& limit = settings_.limit(kFilling);
    const double growth = percent(growthOf(mount.device, usedBytes, limit.per, now), use->bytes);
    if (growth > 0 && bytes + growth > limit.count) {
      found.see(kFilling, mount.device,
                what + percentText(bytes) + " of its bytes are in use, and " + percentText(growth) +
                    " more in " + humanDuration(limit.per) + " if it goes on so");
    }
  }

  // By how much it grows in `span` if it goes on as it did since the last mark.
  double growthOf(const std::string& device, std::uint64_t used, Duration span, TimePoint now) {
    Use& mark = marks_.try_emplace(device, Use{now, used}).first->second;
    const Duration elapsed = now - mark.at;
    if (elapsed < kLeastGrowthSpan) {
      return 0;
    }
    const auto grown = static_cast<double>(used - std::min(used, mark.used));
    if (elapsed >= kGrowthSpan) {
      mark = {now, used};
    }
    return grown * (std::chrono::duration<double>(span) / elapsed);
  }

  // How full a filesystem was, some time ago.
  struct Use {
    TimePoint at{};
    std::uint64_t used = 0;
  };

  const HostFiles files_;
  const HostCalls calls_;
  const ProbeSettings settings_;
  struct Asked {
    TimePoint at{};
    Result<AtaSmart> answer;
  };

  Counters counters_;
  std::map<std::string, Use> marks_;
  std::map<std::string, Asked> smart_;  // by drive
};

}  // namespace

std::optional<Mount> parseMount(std::string_view text) {
  auto line = parseMountLine(text);
  if (!line) {
    return std::nullopt;
  }
  return Mount{line->number, sanitizeUtf8(line->point), line->options, line->type, line->superOptions};
}

std::optional<NvmeHealth> parseNvmeHealth(std::string_view page) {
  constexpr std::size_t kPercentUsed = 5;
  constexpr std::size_t kMediaErrorsAt = 160;  // 16 bytes, little-endian; the upper half is beyond counting
  if (page.size() < kMediaErrorsAt + 8) {
    return std::nullopt;
  }
  const auto byte = [&](std::size_t at) {
    return static_cast<unsigned>(static_cast<unsigned char>(page[at]));
  };
  NvmeHealth health{byte(0), byte(kPercentUsed), 0};
  for (std::size_t i = 0; i < 8; ++i) {
    health.mediaErrors |= std::uint64_t{byte(kMediaErrorsAt + i)} << 8 * i;
  }
  return health;
}

const ProbeKind& storageProbe() {
  static const ProbeKind kind{
      "storage",
      "Storage",
      "/sys/class/nvme/*/state and the drives' health logs, SMART of ATA drives (/sys/block, every 10 min), "
      "/proc/1/mountinfo, statvfs",
      "`CAP_SYS_ADMIN` and the device nodes `/dev/nvme*` for the health logs, `CAP_SYS_RAWIO` and `/dev/sd*` "
      "for SMART; `CAP_SYS_PTRACE` for "
      "the host's mounts (else those that are mounted below --host-root)",
      1min,
      30s,
      kStorageChecks,
      makeProbe<StorageProbe>};
  return kind;
}

}  // namespace mainstay::agent::probes
