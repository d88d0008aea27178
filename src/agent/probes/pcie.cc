#include "agent/probes/pcie.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "agent/probes/counters.h"

namespace mainstay::agent::probes {
namespace {

using namespace std::chrono_literals;

constexpr char kFatalErrors[] = "PcieFatalErrors";
constexpr char kNonFatalErrors[] = "PcieNonFatalErrors";
constexpr char kCorrectableErrors[] = "PcieCorrectableErrors";
constexpr char kLinkNarrow[] = "PcieLinkNarrow";
constexpr char kLinkSlow[] = "PcieLinkSlow";
constexpr char kDeviceLost[] = "PcieDeviceLost";

constexpr std::array kPcieChecks = {
    Check{kFatalErrors,
          Severity::kFatal,
          "PCIeFault",
          "pcie",
          RepairAction::kReboot,
          ClearOn::kEvidence,
          {0, 0s},
          {1, 0s, 1h},
          "a device or port counted a fatal error: its link was reset",
          "Linux AER",
          "2026-11"},
    Check{kNonFatalErrors,
          Severity::kWarning,
          "PCIeFault",
          "pcie",
          RepairAction::kNone,
          ClearOn::kEvidence,
          {10, 1h},
          {1, 0s, 1h},
          "uncorrectable errors that did not break the link",
          "Mainstay",
          "2026-11"},
    Check{kCorrectableErrors,
          Severity::kWarning,
          "PCIeFault",
          "pcie",
          RepairAction::kNone,
          ClearOn::kEvidence,
          {1000, 1h},
          {1, 0s, 1h},
          "a link repeats transfers: it becomes slow, or breaks",
          "Mainstay",
          "2026-11"},
    Check{kLinkNarrow,
          Severity::kFatal,
          "PCIeFault",
          "pcie",
          RepairAction::kNone,
          ClearOn::kEvidence,
          {0, 0s},
          {5, 2min, 2min},
          "a link has fewer lanes than both its ends can",
          "DCGM_FR_PCIE_WIDTH",
          "2026-11"},
    Check{kLinkSlow,
          Severity::kWarning,
          "PCIeFault",
          "pcie",
          RepairAction::kNone,
          ClearOn::kEvidence,
          {0, 0s},
          {5, 2min, 2min},
          "a link runs slower than both its ends can (not of GPUs, which slow it down when idle)",
          "Linux, \"available PCIe bandwidth, limited by\"",
          "2026-11"},
    Check{kDeviceLost,
          Severity::kFatal,
          "PCIeFault",
          "pcie",
          RepairAction::kReboot,
          ClearOn::kEvidence,
          {0, 0s},
          {3, 0s, 1min},
          "a device does not answer: it fell off the bus",
          "PCI: a read of nothing gives all ones",
          "2026-11"},
};

constexpr char kDevices[] = "/sys/bus/pci/devices/";
constexpr std::uint64_t kMaxLanes = 32;  // more is how drivers say that they do not know

// By class: what a node is rented for.
enum class Device { kOther, kGpu, kWatched };
Device kindOf(std::uint64_t pciClass) {
  switch (pciClass >> 16) {
    case 0x03:
      return Device::kGpu;
    case 0x02:  // network
    case 0x0b:  // coprocessors
    case 0x12:  // processing accelerators
      return Device::kWatched;
    default:
      return pciClass >> 8 == 0x0108 ? Device::kWatched : Device::kOther;  // NVMe
  }
}

// "16.0 GT/s PCIe"; 0 for "Unknown".
double speedOf(const std::optional<std::string>& text) {
  return text ? std::strtod(text->c_str(), nullptr) : 0;
}

class PcieProbe final : public Probe {
 public:
  PcieProbe(const Host& host, const ProbeSettings& settings) : files_(host.files), settings_(settings) {}

  Look look(TimePoint now) override {
    HostView view(files_);
    Look found;
    for (const std::string& name : view.list("/sys/bus/pci/devices")) {
      const Device device = kindOf(view.number(kDevices + name + "/class").value_or(0));
      countErrors(name, now, view, found);
      const bool asleep = view.textIfAny(kDevices + name + "/power/runtime_status") == "suspended";
      if (device != Device::kOther && !asleep && !isLost(name, found)) {
        checkLink(name, device, view, found);
      }
    }
    found.blind = view.blind();
    return found;
  }

 private:
  void countErrors(const std::string& name, TimePoint now, HostView& view, Look& found) {
    struct Kind {
      const char* file;
      const char* total;
      const char* reason;
    };
    constexpr std::array kKinds = {Kind{"/aer_dev_fatal", "TOTAL_ERR_FATAL", kFatalErrors},
                                   Kind{"/aer_dev_nonfatal", "TOTAL_ERR_NONFATAL", kNonFatalErrors},
                                   Kind{"/aer_dev_correctable", "TOTAL_ERR_COR", kCorrectableErrors}};
    for (const Kind& kind : kKinds) {
      const std::string path = kDevices + name + kind.file;
      const auto text = view.text(path);
      if (!text) {
        continue;
      }
      const auto total = numberAfter(*text, kind.total);
      if (!total) {
        view.miss(path + ": no line " + kind.total);
        continue;
      }
      const Limit& limit = settings_.limit(kind.reason);
      const auto growth = counters_.watch(path, *total, limit, now);
      if (growth.over) {
        found.see(kind.reason, name, name + ": " + riseText(kind.total, growth, *total, limit),
                  growth.by > 0);
      }
    }
  }

  bool isLost(const std::string& name, Look& found) {
    const auto config = files_.read(kDevices + name + "/config");
    const bool lost = config && config->size() >= 4 && config->substr(0, 4) == "\xff\xff\xff\xff";
    if (lost) {
      found.see(kDeviceLost, name, name + ": the device does not answer (its configuration reads all ones)");
    }
    return lost;
  }

  // The far end is the parent: the kernel resolves the link that stands in /sys/bus before it goes up.
  void checkLink(const std::string& name, Device device, HostView& view, Look& found) {
    const std::string folder = kDevices + name;
    const auto lanes = [&](const char* file) { return view.numberIfAny(folder + file).value_or(0); };
    const std::uint64_t width = lanes("/current_link_width");
    const std::uint64_t ability = lanes("/max_link_width");
    const std::uint64_t farAbility = lanes("/../max_link_width");
    if (width == 0 || width > kMaxLanes || ability > kMaxLanes) {
      return;
    }
    const std::uint64_t expected = farAbility == 0 ? ability : std::min(ability, farAbility);
    if (width < expected) {
      found.see(kLinkNarrow, name,
                name + ": the link has " + std::to_string(width) + " lanes of " + std::to_string(expected));
    }
    const auto speedText = view.textIfAny(folder + "/current_link_speed");
    const double speed = speedOf(speedText);
    const double farBest = speedOf(view.textIfAny(folder + "/../max_link_speed"));
    const double best = speedOf(view.textIfAny(folder + "/max_link_speed"));
    if (device != Device::kGpu && speed > 0 && speed < (farBest > 0 ? std::min(best, farBest) : best)) {
      found.see(kLinkSlow, name, name + ": the link runs at " + *speedText + ", both ends can more");
    }
  }

  const HostFiles files_;
  const ProbeSettings settings_;
  Counters counters_;
};

}  // namespace

const ProbeKind& pcieProbe() {
  static const ProbeKind kind{"pcie",
                              "Pcie",
                              "/sys/bus/pci/devices/*/{aer_dev_*,current_link_*,max_link_*,config}",
                              "",
                              30s,
                              30s,
                              kPcieChecks,
                              makeProbe<PcieProbe>};
  return kind;
}

}  // namespace mainstay::agent::probes
