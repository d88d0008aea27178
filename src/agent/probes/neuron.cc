#include "agent/probes/neuron.h"

#include <algorithm>
#include <array>

#include "agent/probes/counters.h"
#include "agent/probes/instance_type.h"

namespace mainstay::agent::probes {
namespace {

using namespace std::chrono_literals;

constexpr char kCountMismatch[] = "NeuronDeviceCountMismatch";
constexpr char kComponent[] = "NeuronComponentUnhealthy";
constexpr char kHbm[] = "NeuronHbmUncorrectableErrors";
constexpr char kHbmRepairable[] = "NeuronHbmRepairableErrors";
constexpr char kSram[] = "NeuronSramUncorrectableErrors";
constexpr char kHbmCorrected[] = "NeuronHbmCorrectedErrors";
constexpr char kSramCorrected[] = "NeuronSramCorrectedErrors";
constexpr char kSysfsGuide[] = "Neuron sysfs user guide; EC2 retires such an instance";

constexpr Check neuronCheck(const char* reason, Severity severity, RepairAction action, ClearOn clearOn,
                            Limit limit, Patience patience, const char* meaning, const char* source) {
  return {reason, severity, "NeuronFault", "neuron", action,   clearOn,
          limit,  patience, meaning,       source,   "2026-11"};
}

constexpr std::array kNeuronChecks = {
    neuronCheck(kHbm, Severity::kFatal, RepairAction::kReplace, ClearOn::kInstance, {0, 0s}, {1, 0s, 0s},
                "uncorrectable errors of the device's memory", kSysfsGuide),
    neuronCheck(kHbmRepairable, Severity::kFatal, RepairAction::kReboot, ClearOn::kEvidence, {0, 0s},
                {1, 0s, 0s},
                "uncorrectable errors of the device's memory that a reload of the driver repairs",
                "Neuron runtime status 1205"),
    neuronCheck(kSram, Severity::kFatal, RepairAction::kReplace, ClearOn::kInstance, {0, 0s}, {1, 0s, 0s},
                "uncorrectable errors of the device's SRAM", kSysfsGuide),
    neuronCheck(kComponent, Severity::kFatal, RepairAction::kNone, ClearOn::kEvidence, {0, 0s}, {2, 0s, 1min},
                "the device names parts of it unhealthy", "Neuron driver 2.28 health_status"),
    neuronCheck(kCountMismatch, Severity::kFatal, RepairAction::kReboot, ClearOn::kEvidence, {0, 0s},
                {4, 2min, 0s}, "fewer devices than the instance type has",
                "HyperPod agent: mismatch is a reboot"),
    neuronCheck(kHbmCorrected, Severity::kWarning, RepairAction::kNone, ClearOn::kEvidence, {100, 24h},
                {1, 0s, 1h}, "many corrected errors of the device's memory",
                "AWS accelerator operations: 100 a day"),
    neuronCheck(kSramCorrected, Severity::kWarning, RepairAction::kNone, ClearOn::kEvidence, {100, 24h},
                {1, 0s, 1h}, "many corrected errors of the device's SRAM",
                "AWS accelerator operations: 100 a day"),
};

struct NeuronCounter {
  const char* file;
  const char* reason;
};
// They count since the driver was loaded.
constexpr std::array kUncorrected = {NeuronCounter{"mem_ecc_uncorrected", kHbm},
                                     NeuronCounter{"mem_ecc_repairable_uncorrected", kHbmRepairable},
                                     NeuronCounter{"sram_ecc_uncorrected", kSram}};
constexpr std::array kCorrected = {NeuronCounter{"mem_ecc_corrected", kHbmCorrected},
                                   NeuronCounter{"sram_ecc_corrected", kSramCorrected}};

class NeuronProbe final : public Probe {
 public:
  NeuronProbe(const Host& host, const ProbeSettings& settings)
      : files_(host.files),
        expected_(expectedAccelerators(host.instanceType).value_or(Accelerators{}).neuronDevices),
        settings_(settings) {}

  Look look(TimePoint now) override {
    HostView view(files_);
    Look found;
    int devices = 0;
    for (const std::string& name : view.list(kNeuronDevices)) {
      if (name.starts_with("neuron") && parseNumber(name.substr(6))) {
        ++devices;
        checkDevice(name.substr(6), std::string(kNeuronDevices) + "/" + name, now, view, found);
      }
    }
    checkNumber(devices, view, found);
    found.blind = view.blind();
    return found;
  }

 private:
  void checkNumber(int devices, HostView& view, Look& found) const {
    if (devices >= expected_) {
      return;
    }
    if (view.exists("/sys/module/neuron")) {
      found.see(kCountMismatch, "",
                std::to_string(devices) + " Neuron devices of " + std::to_string(expected_) + " are there");
    } else {
      view.miss("the Neuron driver is not loaded, although this instance type has " +
                std::to_string(expected_) + " devices");
    }
  }

  void checkDevice(const std::string& device, const std::string& folder, TimePoint now, HostView& view,
                   Look& found) {
    if (!view.exists(folder + "/stats/hardware")) {
      view.miss(folder + "/stats/hardware is not there: a driver whose tree this release does not know");
    }
    for (const NeuronCounter& counter : kUncorrected) {
      const std::uint64_t errors = view.number(folder + kNeuronCounters + counter.file).value_or(0);
      if (static_cast<double>(errors) > settings_.limit(counter.reason).count) {
        found.see(counter.reason, device,
                  "Neuron device " + device + ": " + counter.file + " is " + std::to_string(errors));
      }
    }
    for (const NeuronCounter& counter : kCorrected) {
      const std::string path = folder + kNeuronCounters + counter.file;
      if (const auto errors = view.number(path)) {  // driver 2.30.2
        const Limit& limit = settings_.limit(counter.reason);
        const auto growth = counters_.watch(path, *errors, limit, now);
        if (growth.over) {
          found.see(counter.reason, device,
                    "Neuron device " + device + ": " + riseText(counter.file, growth, *errors, limit),
                    growth.by > 0);
        }
      }
    }
    const std::string parts = view.text(folder + "/health_status/unhealthy_components").value_or("");
    if (!parts.empty() && parts != "none" && parts != "0") {
      found.see(kComponent, device, "Neuron device " + device + ": unhealthy parts: " + parts);
    }
  }

  const HostFiles files_;
  const int expected_;
  const ProbeSettings settings_;
  Counters counters_;
};

}  // namespace

const ProbeKind& neuronProbe() {
  static const ProbeKind kind{"neuron",
                              "Neuron",
                              "/sys/devices/virtual/neuron_device/neuron*/{stats/hardware,health_status}",
                              "",
                              30s,
                              30s,
                              kNeuronChecks,
                              makeProbe<NeuronProbe>};
  return kind;
}

}  // namespace mainstay::agent::probes
