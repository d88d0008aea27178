#include "agent/probes/amd_gaudi.h"

#include <algorithm>
#include <array>

#include "agent/probes/counters.h"
#include "agent/probes/pci_devices.h"
#include "fault/text.h"

namespace mainstay::agent::probes {
namespace {

using namespace std::chrono_literals;

constexpr char kAmdUncorrectable[] = "AmdUncorrectableErrors";
constexpr char kAmdCorrectable[] = "AmdCorrectableErrors";
constexpr char kAmdMissing[] = "AmdGpuWithoutDriver";
constexpr char kGaudiStatus[] = "GaudiNotOperational";
constexpr char kGaudiMissing[] = "GaudiWithoutDriver";

constexpr Check otherGpu(const char* reason, Severity severity, RepairAction action, Limit limit,
                         Patience patience, const char* meaning, const char* source) {
  return {reason, severity, "GPUFault", "gpu",  action,   ClearOn::kEvidence,
          limit,  patience, meaning,    source, "2026-11"};
}

constexpr std::array kAmdChecks = {
    otherGpu(kAmdUncorrectable, Severity::kFatal, RepairAction::kReset, {0, 0s}, {1, 0s, 0s},
             "uncorrectable errors of a block since the driver was loaded", "Linux gpu/amdgpu/ras"),
    otherGpu(kAmdCorrectable, Severity::kWarning, RepairAction::kNone, {100, 24h}, {1, 0s, 1h},
             "many corrected errors of a block", "Mainstay"),
    otherGpu(kAmdMissing, Severity::kFatal, RepairAction::kReboot, {0, 0s}, {4, 2min, 0s},
             "a GPU is on the bus and its driver, which is loaded, does not have it",
             "Linux amdgpu: Fatal error during GPU init"),
};

constexpr std::array kGaudiChecks = {
    otherGpu(kGaudiStatus, Severity::kFatal, RepairAction::kReset, {0, 0s}, {4, 2min, 1min},
             "a device is not operational, for longer than a reset takes",
             "Linux ABI/testing/sysfs-driver-habanalabs"),
    otherGpu(kGaudiMissing, Severity::kFatal, RepairAction::kReboot, {0, 0s}, {4, 2min, 0s},
             "a device is on the bus and its driver, which is loaded, does not have it",
             "Linux ABI/testing/sysfs-driver-habanalabs"),
};

// On the bus, of this vendor, and nobody's, although their driver is loaded.
void checkDrivers(std::uint64_t vendor, const std::string& driver, const char* reason, HostView& view,
                  Look& found) {
  if (!view.exists("/sys/module/" + driver)) {
    return;
  }
  for (const PciDevice& device : pciDevices(view, vendor, driver)) {
    if (isAccelerator(device) && !device.claimed) {
      found.see(reason, device.address,
                device.address + " is on the bus, and the driver " + driver + " does not have it");
    }
  }
}

// "PCI_SLOT_NAME=0000:03:00.0" of a uevent file.
std::string addressOf(const std::string& folder, const std::string& fallback, HostView& view) {
  constexpr std::string_view kSlot = "PCI_SLOT_NAME=";
  const std::string text = view.textIfAny(folder + "/uevent").value_or("");
  const std::size_t at = text.find(kSlot);
  return at == text.npos ? fallback : text.substr(at + kSlot.size(), text.find('\n', at) - at - kSlot.size());
}

class AmdProbe final : public Probe {
 public:
  AmdProbe(const Host& host, const ProbeSettings& settings) : files_(host.files), settings_(settings) {}

  Look look(TimePoint now) override {
    HostView view(files_);
    Look found;
    checkDrivers(kAmdVendor, "amdgpu", kAmdMissing, view, found);
    for (const std::string& card : view.list("/sys/class/drm")) {
      const std::string folder = "/sys/class/drm/" + card + "/device";
      const bool whole =
          card.starts_with("card") && card.find('-') == card.npos;  // card0-DP-1 is a connector
      if (whole && view.numberIfAny(folder + "/vendor") == kAmdVendor) {
        checkErrors(addressOf(folder, card, view), folder + "/ras", now, view, found);
      }
    }
    found.blind = view.blind();
    return found;
  }

 private:
  void checkErrors(const std::string& device, const std::string& folder, TimePoint now, HostView& view,
                   Look& found) {
    for (const std::string& file : view.list(folder)) {
      if (!file.ends_with("_err_count")) {
        continue;
      }
      const std::string path = folder + "/" + file;
      const auto text = view.text(path);  // "ue: 0\nce: 3"
      const auto uncorrectable = text ? numberAfter(*text, "ue:") : std::nullopt;
      const auto correctable = text ? numberAfter(*text, "ce:") : std::nullopt;
      if (!uncorrectable || !correctable) {
        view.miss(path + ": expected the lines ue: and ce:");
        continue;
      }
      const std::string block = file.substr(0, file.size() - std::string_view("_err_count").size());
      if (static_cast<double>(*uncorrectable) > settings_.limit(kAmdUncorrectable).count) {
        found.see(
            kAmdUncorrectable, device,
            device + ": " + std::to_string(*uncorrectable) + " uncorrectable errors of the block " + block);
      }
      const Limit& limit = settings_.limit(kAmdCorrectable);
      const auto growth = counters_.watch(path, *correctable, limit, now);
      if (growth.over) {
        found.see(kAmdCorrectable, device,
                  device + ": " + riseText(block + " ce", growth, *correctable, limit), growth.by > 0);
      }
    }
  }

  const HostFiles files_;
  const ProbeSettings settings_;
  Counters counters_;
};

class GaudiProbe final : public Probe {
 public:
  GaudiProbe(const Host& host, const ProbeSettings&) : files_(host.files) {}

  Look look(TimePoint) override {
    HostView view(files_);
    Look found;
    checkDrivers(kHabanaVendor, "habanalabs", kGaudiMissing, view, found);
    // Since Linux 6.2 among the accelerators, before that in a class of their own.
    for (const std::string parent : {"/sys/class/accel", "/sys/class/habanalabs"}) {
      for (const std::string& name : view.list(parent)) {
        if (view.numberIfAny(parent + "/" + name + "/device/vendor") == kHabanaVendor) {
          checkStatus(name, parent + "/" + name, view, found);
        }
      }
    }
    found.blind = view.blind();
    return found;
  }

 private:
  static void checkStatus(const std::string& name, const std::string& folder, HostView& view, Look& found) {
    auto status = view.textIfAny(folder + "/status");
    status = status ? status : view.textIfAny(folder + "/device/status");
    if (status && !fault::equalsIgnoringCase(*status, "operational")) {
      found.see(kGaudiStatus, name,
                addressOf(folder + "/device", name, view) + ": the device is \"" + *status + "\"");
    }
  }

  const HostFiles files_;
};

}  // namespace

const ProbeKind& amdProbe() {
  static const ProbeKind kind{"amd",
                              "Amd",
                              "/sys/class/drm/card*/device/ras/*_err_count, /sys/bus/pci",
                              "",
                              30s,
                              30s,
                              kAmdChecks,
                              makeProbe<AmdProbe>};
  return kind;
}

const ProbeKind& gaudiProbe() {
  static const ProbeKind kind{"gaudi",
                              "Gaudi",
                              "/sys/class/accel/*/status, /sys/class/habanalabs/*/status, /sys/bus/pci",
                              "",
                              30s,
                              30s,
                              kGaudiChecks,
                              makeProbe<GaudiProbe>};
  return kind;
}

}  // namespace mainstay::agent::probes
