#include "agent/probes/nvidia.h"

#include <algorithm>
#include <array>
#include <map>

#include "agent/probes/counters.h"
#include "agent/probes/instance_type.h"
#include "agent/probes/pci_devices.h"

namespace mainstay::agent::probes {
namespace {

using namespace std::chrono_literals;

constexpr char kGpuMissing[] = "GpuMissing";
constexpr char kGpuUnclaimed[] = "GpuWithoutDriver";
constexpr char kGpuNotListed[] = "GpuNotListedByDriver";
constexpr char kGpuLost[] = "GpuLost";
constexpr char kNvmlHung[] = "NvmlHung";
constexpr char kNeedsReset[] = "GpuNeedsReset";
constexpr char kNeedsReboot[] = "GpuNeedsReboot";
constexpr char kNeedsDrain[] = "GpuNeedsDrain";
constexpr char kImexBroken[] = "GpuImexDomainBroken";
constexpr char kEccUncorrected[] = "GpuUncorrectableErrors";
constexpr char kEccCorrected[] = "GpuCorrectedErrors";
constexpr char kEccOff[] = "GpuEccOff";
constexpr char kSramThreshold[] = "GpuSramErrorThreshold";
constexpr char kRemapFailed[] = "GpuRowRemapFailed";
constexpr char kRemapPending[] = "GpuRowRemapPending";
constexpr char kRemapMany[] = "GpuRowRemapMany";
constexpr char kRetiredMany[] = "GpuRetiredPagesMany";
constexpr char kRetirementPending[] = "GpuPageRetirementPending";
constexpr char kThermal[] = "GpuThermalSlowdown";
constexpr char kPowerBrake[] = "GpuPowerBrake";
constexpr char kLinkDown[] = "NvlinkDown";
constexpr char kLinkRecoveries[] = "NvlinkRecoveries";
constexpr char kLinkReplays[] = "NvlinkReplays";
constexpr char kLinkCrc[] = "NvlinkCrcErrors";
constexpr char kFabricNotReady[] = "GpuFabricNotReady";
constexpr char kFabricUnhealthy[] = "GpuFabricUnhealthy";
constexpr char kMemoryGuide[] = "NVIDIA GPU memory error management";
constexpr char kRecoveryField[] = "NVML GPU recovery action";

constexpr Check gpuCheck(const char* reason, Severity severity, RepairAction action, Limit limit,
                         Patience patience, const char* meaning, const char* source) {
  return {reason, severity, "GPUFault", "gpu",  action,   ClearOn::kEvidence,
          limit,  patience, meaning,    source, "2026-11"};
}
constexpr Check linkCheck(const char* reason, Severity severity, RepairAction action, Limit limit,
                          Patience patience, const char* meaning, const char* source) {
  return {
      reason, severity, "GPUInterconnectFault", "gpu", action, ClearOn::kEvidence, limit, patience, meaning,
      source, "2026-11"};
}

constexpr Limit kAny{0, 0s};
constexpr Patience kAtOnce{1, 0s, 0s};
constexpr Patience kTwice{2, 0s, 0s};
constexpr Patience kAfterTraining{4, 3min,
                                  1min};  // links train after a boot and a reset (NVSentinel issue 1701)

constexpr std::array kNvidiaChecks = {
    gpuCheck(kGpuMissing, Severity::kFatal, RepairAction::kReboot, kAny, {3, 2min, 0s},
             "fewer GPUs on the bus than the instance type has",
             "HyperPod agent: mismatch is a reboot, after 2 min"),
    gpuCheck(kGpuUnclaimed, Severity::kFatal, RepairAction::kReboot, kAny, {3, 2min, 0s},
             "a GPU is on the bus and the driver, which is loaded, does not have it",
             "NVRM: RmInitAdapter failed"),
    gpuCheck(kGpuNotListed, Severity::kFatal, RepairAction::kReboot, kAny, {3, 2min, 0s},
             "the driver has a GPU and does not list it", "eks-node-monitoring-agent pull request 121"),
    gpuCheck(kGpuLost, Severity::kFatal, RepairAction::kReboot, kAny, kTwice, "a GPU fell off the bus",
             "NVML GPU_IS_LOST; gpud"),
    Check{kNvmlHung, Severity::kFatal, "MonitorDegraded", "gpu", RepairAction::kNone, ClearOn::kEvidence,
          kAny, kTwice, "the driver does not answer: nothing is known of the GPUs", "NVSentinel issue 1748",
          "2026-11"},
    gpuCheck(kNeedsReset, Severity::kFatal, RepairAction::kReset, kAny, kTwice,
             "the driver asks for a reset of a GPU", kRecoveryField),
    gpuCheck(kNeedsReboot, Severity::kFatal, RepairAction::kReboot, kAny, kTwice,
             "the driver asks for a reboot", kRecoveryField),
    linkCheck(kNeedsDrain, Severity::kFatal, RepairAction::kNone, kAny, kTwice,
              "the driver asks that traffic between GPUs is drained", kRecoveryField),
    linkCheck(kImexBroken, Severity::kFatal, RepairAction::kNone, kAny, kTwice,
              "the driver asks that the IMEX domain is recovered", kRecoveryField),
    gpuCheck(kEccUncorrected, Severity::kFatal, RepairAction::kReset, kAny, kAtOnce,
             "uncorrectable memory errors since the driver was loaded", kMemoryGuide),
    gpuCheck(kEccCorrected, Severity::kWarning, RepairAction::kNone, {100, 24h}, {1, 0s, 1h},
             "many corrected memory errors", "AWS accelerator operations: 100 a day"),
    gpuCheck(kEccOff, Severity::kWarning, RepairAction::kNone, kAny, kTwice,
             "error correction is off, unlike on the node's other GPUs", "DCGM_FR_ECC_DISABLED"),
    gpuCheck(kSramThreshold, Severity::kFatal, RepairAction::kReplace, kAny, kAtOnce,
             "uncorrectable SRAM errors beyond the threshold of NVIDIA's field diagnosis",
             "NVIDIA Xid catalog, Xid 48"),
    gpuCheck(kRemapFailed, Severity::kFatal, RepairAction::kReplace, kAny, kAtOnce,
             "a row of memory could not be replaced by a spare one", kMemoryGuide),
    gpuCheck(kRemapPending, Severity::kWarning, RepairAction::kNone, kAny, kAtOnce,
             "a row of memory is replaced at the next reset", kMemoryGuide),
    gpuCheck(kRemapMany, Severity::kFatal, RepairAction::kReplace, {512, 0s}, kAtOnce,
             "rows replaced after uncorrectable errors", "azurehpc-health-checks azure_gpu_ecc"),
    gpuCheck(kRetiredMany, Severity::kFatal, RepairAction::kReplace, {59, 0s}, kAtOnce,
             "pages of memory that are retired", "NVIDIA dynamic page retirement: RMA from 60"),
    gpuCheck(kRetirementPending, Severity::kWarning, RepairAction::kNone, kAny, kAtOnce,
             "a page of memory is retired at the next load of the driver", "NVIDIA dynamic page retirement"),
    gpuCheck(kThermal, Severity::kWarning, RepairAction::kNone, kAny, {5, 5min, 10min},
             "a GPU slows down for heat", "NVML clocks event reasons; gpud hw-slowdown"),
    gpuCheck(kPowerBrake, Severity::kWarning, RepairAction::kNone, kAny, {5, 5min, 10min},
             "a GPU is slowed down by its power supply", "NVML clocks event reasons; gpud hw-slowdown"),
    linkCheck(kLinkDown, Severity::kFatal, RepairAction::kReset, kAny, kAfterTraining,
              "a GPU has fewer active links than its like, or than it had",
              "azurehpc-health-checks azure_gpu_nvlink"),
    linkCheck(kLinkRecoveries, Severity::kWarning, RepairAction::kNone, {5, 1h}, {1, 0s, 1h},
              "a link recovers again and again: it announces Xid 149", "marin-community/marin issue 9086"),
    linkCheck(kLinkReplays, Severity::kWarning, RepairAction::kNone, {1000, 1h}, {1, 0s, 1h},
              "a link repeats transfers", "Mainstay"),
    linkCheck(kLinkCrc, Severity::kWarning, RepairAction::kNone, {6000, 1min}, {1, 0s, 10min},
              "a link receives damaged data", "DCGM health: 100 a second"),
    linkCheck(kFabricNotReady, Severity::kFatal, RepairAction::kReboot, kAny, {5, 5min, 0s},
              "a GPU has not joined its fabric, or failed to: the fabric manager",
              "gpud fabric-manager; EKS reason NvidiaFabricError"),
    linkCheck(kFabricUnhealthy, Severity::kFatal, RepairAction::kReboot, kAny, kAfterTraining,
              "a GPU's fabric has less bandwidth, an unhealthy route or a wrong configuration",
              "NVML fabric health mask"),
};

// Of nvmlGpuFabricInfo. Each field of the health mask: its place, its width, and the values that are bad.
constexpr std::int64_t kFabricNotStarted = 1;
constexpr std::int64_t kFabricInProgress = 2;
constexpr std::int64_t kFabricCompleted = 3;
struct FabricField {
  int shift;
  int mask;
  int leastBad;
  int mostBad;
  const char* meaning;
};
constexpr std::array kFabricFields = {FabricField{0, 0x3, 1, 1, "its bandwidth is degraded"},
                                      FabricField{4, 0x3, 1, 1, "a route is unhealthy"},
                                      FabricField{8, 0xf, 2, 15, "its configuration is wrong"}};

constexpr std::int64_t kSwThermal = 0x20;
constexpr std::int64_t kHwThermal = 0x40;
constexpr std::int64_t kHwPowerBrake = 0x80;

struct Recovery {
  std::int64_t action;
  const char* reason;
};
constexpr std::array kRecoveries = {Recovery{1, kNeedsReset}, Recovery{2, kNeedsReboot},
                                    Recovery{3, kNeedsDrain}, Recovery{4, kNeedsReset},
                                    Recovery{5, kImexBroken}};

std::string deviceOf(const NvmlGpu& gpu) {
  return gpu.address.empty() ? "gpu" + std::to_string(gpu.index) : gpu.address;
}

// "GPU 3 (0000:3b:00.0, NVIDIA H100, serial 16501)".
std::string titleOf(const NvmlGpu& gpu) {
  std::string title = "GPU " + std::to_string(gpu.index) + " (" + deviceOf(gpu);
  title += gpu.name.empty() ? "" : ", " + gpu.name;
  title += gpu.serial.empty() ? "" : ", serial " + gpu.serial;
  return title + ")";
}

std::int64_t activeLinks(const NvmlGpu& gpu) {
  return std::ranges::count(gpu.links, true, &NvmlLink::active);
}

class NvidiaProbe final : public Probe {
 public:
  NvidiaProbe(const Host& host, const ProbeSettings& settings)
      : files_(host.files),
        askNvml_(host.calls.nvml()),
        expected_(expectedAccelerators(host.instanceType).value_or(Accelerators{}).nvidiaGpus),
        settings_(settings) {}

  Look look(TimePoint now) override {
    HostView view(files_);
    Look found;
    std::vector<PciDevice> gpus = pciDevices(view, kNvidiaVendor, "nvidia");
    std::erase_if(gpus, [](const PciDevice& device) { return !isAccelerator(device); });
    checkBus(gpus, view, found);
    if (std::ranges::any_of(gpus, &PciDevice::ours)) {
      ask(gpus, now, view, found);
    }
    found.blind = view.blind();
    return found;
  }

 private:
  void checkBus(const std::vector<PciDevice>& gpus, HostView& view, Look& found) const {
    if (std::cmp_less(gpus.size(), expected_)) {
      found.see(
          kGpuMissing, "",
          std::to_string(gpus.size()) + " GPUs of " + std::to_string(expected_) + " are on the PCI bus");
    }
    const bool loaded = view.exists("/sys/module/nvidia");
    for (const PciDevice& gpu : gpus) {
      if (!gpu.claimed && loaded) {
        found.see(kGpuUnclaimed, gpu.address,
                  "the GPU " + gpu.address + " is on the bus, and its driver does not have it");
      } else if (!gpu.claimed) {
        view.miss("the GPU " + gpu.address + " has no driver: nothing is known of its health");
      }
    }
  }

  void ask(const std::vector<PciDevice>& gpus, TimePoint now, HostView& view, Look& found) {
    const auto answer = askNvml_(settings_.deadline / 2);  // the rest is for its killing, and for files
    if (!answer) {
      if (answer.error().code() == Code::kDeadlineExceeded) {
        found.see(kNvmlHung, "nvml", answer.error().toString());
      }
      view.miss(answer.error().toString());
      return;
    }
    const auto survey = parseNvmlSurvey(*answer);
    if (!survey) {
      view.miss("the answer of mainstay-nvml: " + survey.error().toString());
    } else if (survey->errorCode != 0) {
      view.miss(survey->error);
    } else {
      judge(*survey, gpus, now, view, found);
    }
  }

  void judge(const NvmlSurvey& survey, const std::vector<PciDevice>& onBus, TimePoint now, HostView& view,
             Look& found) {
    for (const PciDevice& device : onBus) {
      // One that is lost may not even tell its address any more.
      const bool listed = std::ranges::any_of(survey.gpus, [&](const NvmlGpu& gpu) {
        return gpu.address == device.address || (gpu.lost && gpu.address.empty());
      });
      if (device.ours && !listed) {
        found.see(kGpuNotListed, device.address,
                  "the driver has the GPU " + device.address + " and does not list it");
      }
    }
    for (const NvmlGpu& gpu : survey.gpus) {
      if (gpu.lost) {
        found.see(kGpuLost, deviceOf(gpu), titleOf(gpu) + " is lost: it fell off the bus");
        continue;
      }
      checkRecovery(gpu, found);
      checkMemory(gpu, survey, now, found);
      checkClocks(gpu, found);
      checkLinks(gpu, survey, now, found);
      checkFabric(gpu, found);
      for (const std::string& failure : gpu.failures) {
        view.miss(titleOf(gpu) + ": " + failure);
      }
    }
  }

  void checkRecovery(const NvmlGpu& gpu, Look& found) const {
    const auto recovery = std::ranges::find(kRecoveries, gpu.recoveryAction, &Recovery::action);
    const char* reason = recovery != kRecoveries.end() ? recovery->reason
                         : gpu.resetRequired           ? kNeedsReset
                                                       : nullptr;
    if (reason) {
      found.see(reason, deviceOf(gpu), titleOf(gpu) + ": " + nvidiaProbe().find(reason)->meaning);
    }
  }

  void checkMemory(const NvmlGpu& gpu, const NvmlSurvey& survey, TimePoint now, Look& found) {
    const auto above = [&](const char* reason, const std::optional<std::int64_t>& value,
                           const std::string& what) {
      if (value && static_cast<double>(*value) > settings_.limit(reason).count) {
        found.see(reason, deviceOf(gpu), titleOf(gpu) + ": " + std::to_string(*value) + " " + what);
      }
    };
    const auto isSo = [&](const char* reason, bool so, const std::string& what) {
      if (so) {
        found.see(reason, deviceOf(gpu), titleOf(gpu) + ": " + what);
      }
    };
    above(kEccUncorrected, gpu.eccUncorrected, "uncorrectable memory errors since the driver was loaded");
    above(kRemapMany, gpu.remappedUncorrected, "rows of memory were replaced after uncorrectable errors");
    above(kRetiredMany, gpu.retiredPages, "pages of memory are retired");
    isSo(kSramThreshold, gpu.sramThresholdExceeded.value_or(false), "too many uncorrectable SRAM errors");
    isSo(kRemapFailed, gpu.remapFailed, "a row of memory could not be replaced");
    isSo(kRemapPending, gpu.remapPending, "a row of memory is replaced at the next reset");
    isSo(kRetirementPending, gpu.retirementPending,
         "a page of memory is retired at the next load of the driver");
    const bool othersOn =
        std::ranges::any_of(survey.gpus, [](const NvmlGpu& other) { return other.eccOn == true; });
    isSo(kEccOff, gpu.eccOn == false && othersOn, "error correction is off");
    if (gpu.eccCorrected) {
      count(kEccCorrected, deviceOf(gpu), titleOf(gpu) + ": corrected memory errors", *gpu.eccCorrected, now,
            found);
    }
  }

  static void checkClocks(const NvmlGpu& gpu, Look& found) {
    if ((gpu.throttle & (kSwThermal | kHwThermal)) != 0) {
      found.see(kThermal, deviceOf(gpu), titleOf(gpu) + " slows down for heat");
    }
    if ((gpu.throttle & kHwPowerBrake) != 0) {
      found.see(kPowerBrake, deviceOf(gpu), titleOf(gpu) + " is slowed down by its power supply");
    }
  }

  void checkLinks(const NvmlGpu& gpu, const NvmlSurvey& survey, TimePoint now, Look& found) {
    std::int64_t& best = bestLinks_[deviceOf(gpu)];
    const std::int64_t active = activeLinks(gpu);
    best = std::max(best, active);
    std::int64_t expected = best;
    for (const NvmlGpu& other : survey.gpus) {
      expected = other.name == gpu.name ? std::max(expected, activeLinks(other)) : expected;
    }
    if (active < expected) {
      found.see(kLinkDown, deviceOf(gpu),
                titleOf(gpu) + ": " + std::to_string(active) + " of " + std::to_string(expected) +
                    " NVLinks are active");
    }
    for (const NvmlLink& link : gpu.links) {
      const std::string device = deviceOf(gpu) + "/" + std::to_string(link.number);
      const std::string what = titleOf(gpu) + ", NVLink " + std::to_string(link.number) + ": ";
      const auto watch = [&](const char* reason, const std::optional<std::int64_t>& value,
                             const char* counter) {
        if (value) {
          count(reason, device, what + counter, *value, now, found);
        }
      };
      watch(kLinkRecoveries, link.recoveries, "recoveries");
      watch(kLinkReplays, link.replays, "replays");
      watch(kLinkCrc, link.crcErrors, "CRC errors");
    }
  }

  void checkFabric(const NvmlGpu& gpu, Look& found) const {
    if (!gpu.fabric) {
      return;
    }
    const NvmlFabric& fabric = *gpu.fabric;
    const bool waits = fabric.state == kFabricNotStarted || fabric.state == kFabricInProgress;
    if (waits || (fabric.state == kFabricCompleted && fabric.status != 0)) {
      found.see(
          kFabricNotReady, deviceOf(gpu),
          titleOf(gpu) + (waits ? " has not joined its fabric"
                                : " failed to join its fabric, NVML error " + std::to_string(fabric.status)));
    }
    std::string bad;
    for (const FabricField& field : kFabricFields) {
      const std::int64_t value = fabric.healthMask >> field.shift & field.mask;
      bad += value >= field.leastBad && value <= field.mostBad
                 ? (bad.empty() ? "" : ", ") + std::string(field.meaning)
                 : "";
    }
    if (!bad.empty()) {
      found.see(kFabricUnhealthy, deviceOf(gpu), titleOf(gpu) + ", its fabric: " + bad);
    }
  }

  void count(const char* reason, const std::string& device, const std::string& what, std::int64_t value,
             TimePoint now, Look& found) {
    const Limit& limit = settings_.limit(reason);
    const auto total = static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0));
    const auto growth = counters_.watch(std::string(reason) + "@" + device, total, limit, now);
    if (growth.over) {
      found.see(reason, device, riseText(what, growth, total, limit), growth.by > 0);
    }
  }

  const HostFiles files_;
  const AskNvml askNvml_;
  const int expected_;
  const ProbeSettings settings_;
  Counters counters_;
  std::map<std::string, std::int64_t> bestLinks_;  // active ones, per GPU
};

}  // namespace

const ProbeKind& nvidiaProbe() {
  static const ProbeKind kind{
      "nvidia",
      "Nvidia",
      "/sys/bus/pci, and NVML (libnvidia-ml.so.1) in the child program mainstay-nvml",
      "the device nodes `/dev/nvidia*` and the driver's library, as NVIDIA's container runtime "
      "gives them with NVIDIA_VISIBLE_DEVICES=all and NVIDIA_DRIVER_CAPABILITIES=utility",
      1min,
      40s,
      kNvidiaChecks,
      makeProbe<NvidiaProbe>,
      "NvidiaGPUUnhealthy"};
  return kind;
}

}  // namespace mainstay::agent::probes
