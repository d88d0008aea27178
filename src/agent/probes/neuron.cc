#include "agent/probes/neuron.h"

#include <algorithm>
#include <array>

#include "agent/probes/counters.h"
#include "agent/probes/instance_type.h"
#include "agent/probes/neuron_stream.h"

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

// The driver and several reports may tell of the same errors.
void seeOnce(Look& found, const char* reason, const std::string& device, std::string message,
             bool again = false) {
  const bool seen = std::ranges::any_of(found.sightings, [&](const Sighting& sighting) {
    return sighting.reason == reason && sighting.device == device;
  });
  if (!seen) {
    found.see(reason, device, std::move(message), again);
  }
}

class NeuronProbe final : public Probe {
 public:
  NeuronProbe(const Host& host, const ProbeSettings& settings)
      : files_(host.files),
        expected_(expectedAccelerators(host.instanceType).value_or(Accelerators{}).neuronDevices),
        settings_(settings),
        stream_(host.calls.stream, settings.program) {}

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
    if (devices > 0 || expected_ > 0) {
      checkStream(now, view, found);
    }
    found.blind = view.blind();
    return found;
  }

 private:
  using ReadCounter = std::function<std::optional<std::uint64_t>(const char* counter)>;

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
    checkCounters("Neuron device " + device, device, now, found,
                  [&](const char* counter) { return view.number(folder + kNeuronCounters + counter); });
    const std::string parts = view.text(folder + "/health_status/unhealthy_components").value_or("");
    if (!parts.empty() && parts != "none" && parts != "0") {
      found.see(kComponent, device, "Neuron device " + device + ": unhealthy parts: " + parts);
    }
  }

  // What it printed last stands until it prints again.
  void checkStream(TimePoint now, HostView& view, Look& found) {
    std::vector<NeuronReport> reports = stream_.poll(now);
    if (reports.empty()) {
      reports.push_back(newest_);
    }
    for (const NeuronReport& report : reports) {
      for (const auto& of : report) {
        checkCounters(settings_.program + ", Neuron device " + of.first, of.first, now, found,
                      [&counters = of.second](const char* counter) {
                        const auto at = counters.find(counter);
                        return at == counters.end() ? std::nullopt : std::optional(at->second);
                      });
      }
    }
    newest_ = std::move(reports.back());
    if (!stream_.trouble().empty()) {
      view.miss(stream_.trouble());
    }
  }

  void checkCounters(const std::string& whose, const std::string& device, TimePoint now, Look& found,
                     const ReadCounter& read) {
    for (const NeuronCounter& counter : kUncorrected) {
      const std::uint64_t errors = read(counter.file).value_or(0);
      if (static_cast<double>(errors) > settings_.limit(counter.reason).count) {
        seeOnce(found, counter.reason, device, whose + ": " + counter.file + " is " + std::to_string(errors));
      }
    }
    for (const NeuronCounter& counter : kCorrected) {
      if (const auto errors = read(counter.file)) {  // driver 2.30.2
        const Limit& limit = settings_.limit(counter.reason);
        const auto growth = counters_.watch(whose + counter.file, *errors, limit, now);
        if (growth.over) {
          seeOnce(found, counter.reason, device,
                  whose + ": " + riseText(counter.file, growth, *errors, limit), growth.by > 0);
        }
      }
    }
  }

  const HostFiles files_;
  const int expected_;
  const ProbeSettings settings_;
  Counters counters_;
  NeuronStream stream_;
  NeuronReport newest_;
};

}  // namespace

const ProbeKind& neuronProbe() {
  static const ProbeKind kind{"neuron",
                              "Neuron",
                              "/sys/devices/virtual/neuron_device/neuron*/{stats/hardware,health_status}, "
                              "and what the program neuron-monitor prints, where it is installed",
                              "",
                              30s,
                              30s,
                              kNeuronChecks,
                              makeProbe<NeuronProbe>,
                              "",
                              "neuron-monitor"};
  return kind;
}

}  // namespace mainstay::agent::probes
