#include "agent/probes/kernel.h"

#include <array>

#include "agent/probes/counters.h"

namespace mainstay::agent::probes {
namespace {

using namespace std::chrono_literals;

constexpr char kOops[] = "KernelOops";
constexpr char kBadPage[] = "KernelBadPage";
constexpr char kHardLockup[] = "KernelHardLockup";
constexpr char kSoftLockup[] = "KernelSoftLockup";
constexpr char kRcuStall[] = "KernelRcuStall";
constexpr char kMachineCheck[] = "KernelMachineCheck";
constexpr char kHungTasks[] = "KernelHungTasks";
constexpr char kClock[] = "ClockUnsynchronized";
constexpr char kTaintDocument[] = "Linux admin-guide/tainted-kernels";
constexpr char kCountDocument[] = "Linux ABI/testing/sysfs-kernel-*_count";

constexpr Check sinceBoot(const char* reason, Severity severity, RepairAction action, const char* meaning,
                          const char* source) {
  return {reason,  severity,    "KernelFault", "kernel", action,   ClearOn::kEvidence,
          {0, 0s}, {1, 0s, 0s}, meaning,       source,   "2026-11"};
}

constexpr std::array kKernelChecks = {
    sinceBoot(kOops, Severity::kFatal, RepairAction::kReboot, "the kernel met a fault of its own since boot",
              kTaintDocument),
    sinceBoot(kBadPage, Severity::kFatal, RepairAction::kReboot,
              "the kernel found corrupted page tables since boot", kTaintDocument),
    sinceBoot(kHardLockup, Severity::kFatal, RepairAction::kReboot,
              "a processor did not even take interrupts, since boot", kCountDocument),
    sinceBoot(kSoftLockup, Severity::kWarning, RepairAction::kNone,
              "a processor did not schedule for long, since boot", kTaintDocument),
    sinceBoot(kRcuStall, Severity::kWarning, RepairAction::kNone,
              "a processor held up all others, since boot", kCountDocument),
    sinceBoot(kMachineCheck, Severity::kWarning, RepairAction::kNone,
              "the hardware reported a machine check since boot", kTaintDocument),
    Check{kHungTasks,
          Severity::kWarning,
          "KernelFault",
          "kernel",
          RepairAction::kNone,
          ClearOn::kEvidence,
          {0, 0s},
          {1, 0s, 1h},
          "tasks that waited for longer than kernel.hung_task_timeout_secs",
          "Linux sysctl kernel.hung_task_detect_count; HyperPod agent 2025-09: a warning",
          "2026-11"},
    Check{kClock,
          Severity::kWarning,
          "KernelFault",
          "kernel",
          RepairAction::kNone,
          ClearOn::kEvidence,
          {0, 0s},
          {5, 10min, 0s},
          "the clock is not synchronized (STA_UNSYNC)",
          "adjtimex(2); patience after eks-node-monitoring-agent issue 198",
          "2026-11"},
};

// Signs that stay until the machine boots. A kernel has one kind, or both.
struct Sign {
  const char* reason;
  int taintBit;       // -1: none
  const char* count;  // file of a newer kernel; nullptr: none
};

constexpr std::array kSinceBoot = {
    Sign{kOops, 7, "/sys/kernel/oops_count"},
    Sign{kBadPage, 5, nullptr},
    Sign{kHardLockup, -1, "/sys/kernel/hardlockup_count"},
    Sign{kSoftLockup, 14, "/sys/kernel/softlockup_count"},
    Sign{kRcuStall, -1, "/sys/kernel/rcu_stall_count"},
    Sign{kMachineCheck, 4, nullptr},
};

class KernelProbe final : public Probe {
 public:
  KernelProbe(const Host& host, const ProbeSettings& settings)
      : files_(host.files), calls_(host.calls), settings_(settings) {}

  Look look(TimePoint now) override {
    HostView view(files_);
    Look found;
    const std::uint64_t taint = view.number("/proc/sys/kernel/tainted").value_or(0);
    for (const Sign& sign : kSinceBoot) {
      const bool tainted = sign.taintBit >= 0 && (taint >> sign.taintBit & 1) != 0;
      const std::uint64_t count = sign.count ? view.number(sign.count).value_or(0) : 0;
      const double least = settings_.limit(sign.reason).count;
      if (static_cast<double>(count) > least || (tainted && count == 0 && least < 1)) {
        found.see(sign.reason, "", signText(sign, count));
      }
    }
    checkHungTasks(now, view, found);
    checkClock(view, found);
    found.blind = view.blind();
    return found;
  }

 private:
  static std::string signText(const Sign& sign, std::uint64_t count) {
    const Check* check = kernelProbe().find(sign.reason);
    const std::string where = count > 0
                                  ? std::string(sign.count) + " is " + std::to_string(count)
                                  : "bit " + std::to_string(sign.taintBit) + " of kernel.tainted is set";
    return std::string(check->meaning) + " (" + where + "); the kernel log says more";
  }

  void checkHungTasks(TimePoint now, HostView& view, Look& found) {
    const auto hung = view.number("/proc/sys/kernel/hung_task_detect_count");  // Linux 6.13
    if (!hung) {
      return;
    }
    const Limit& limit = settings_.limit(kHungTasks);
    const auto growth = counters_.watch("hung", *hung, limit, now);
    if (growth.over) {
      found.see(kHungTasks, "", riseText("the number of hung tasks", growth, *hung, limit), growth.by > 0);
    }
  }

  void checkClock(HostView& view, Look& found) {
    if (!settings_.isOn(kClock)) {
      return;
    }
    const auto clock = calls_.clock();
    if (!clock) {
      view.miss(clock.error().toString());
    } else if (!clock->synchronized) {
      found.see(kClock, "",
                "the clock is not synchronized, its error may be " + humanDuration(clock->maxError));
    }
  }

  const HostFiles files_;
  const HostCalls calls_;
  const ProbeSettings settings_;
  Counters counters_;
};

}  // namespace

const ProbeKind& kernelProbe() {
  static const ProbeKind kind{
      "kernel",
      "Kernel",
      "/proc/sys/kernel/tainted and hung_task_detect_count, /sys/kernel/*_count, adjtimex",
      "",
      30s,
      30s,
      kKernelChecks,
      makeProbe<KernelProbe>};
  return kind;
}

}  // namespace mainstay::agent::probes
