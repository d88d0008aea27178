#include "agent/probes/memory.h"

#include <array>
#include <cstdlib>

#include "agent/probes/counters.h"

namespace mainstay::agent::probes {
namespace {

using namespace std::chrono_literals;

constexpr char kUncorrectable[] = "MemoryUncorrectableErrors";
constexpr char kCorrectable[] = "MemoryCorrectableErrors";
constexpr char kPoisoned[] = "MemoryPagesPoisoned";
constexpr char kPressure[] = "MemoryPressureHigh";
constexpr char kOomKills[] = "MemoryOomKills";
constexpr char kSwapFull[] = "MemorySwapNearlyFull";

constexpr std::array kMemoryChecks = {
    Check{kUncorrectable,
          Severity::kFatal,
          "MemoryFault",
          "memory",
          RepairAction::kReplace,
          ClearOn::kEvidence,
          {0, 0s},
          {1, 0s, 0s},
          "uncorrectable errors since boot",
          "Linux EDAC ue_count",
          "2026-11"},
    Check{kCorrectable,
          Severity::kWarning,
          "MemoryFault",
          "memory",
          RepairAction::kNone,
          ClearOn::kEvidence,
          {100, 24h},
          {1, 0s, 1h},
          "many corrected errors of one controller",
          "mcelog.conf [socket] mem-ce-error-threshold",
          "2026-11"},
    Check{kPoisoned,
          Severity::kWarning,
          "MemoryFault",
          "memory",
          RepairAction::kNone,
          ClearOn::kEvidence,
          {0, 0s},
          {1, 0s, 0s},
          "kB of memory that the kernel took out of use",
          "Linux HardwareCorrupted",
          "2026-11"},
    Check{kPressure,
          Severity::kWarning,
          "MemoryFault",
          "memory",
          RepairAction::kNone,
          ClearOn::kEvidence,
          {20, 0s},
          {2, 1min, 5min},
          "per cent of five minutes in which nothing ran for want of memory",
          "Mainstay; systemd-oomd kills at 60 over 30 s",
          "2026-11"},
    Check{kOomKills,
          Severity::kWarning,
          "MemoryFault",
          "memory",
          RepairAction::kNone,
          ClearOn::kEvidence,
          {10, 10min},
          {1, 0s, 10min},
          "processes killed for want of memory",
          "Mainstay",
          "2026-11"},
    Check{kSwapFull,
          Severity::kWarning,
          "MemoryFault",
          "memory",
          RepairAction::kNone,
          ClearOn::kEvidence,
          {90, 0s},
          {2, 1min, 5min},
          "per cent of swap in use",
          "systemd oomd.conf SwapUsedLimit",
          "2026-11"},
};

constexpr char kControllers[] = "/sys/devices/system/edac/mc";

class MemoryProbe final : public Probe {
 public:
  MemoryProbe(const Host& host, const ProbeSettings& settings) : files_(host.files), settings_(settings) {}

  Look look(TimePoint now) override {
    HostView view(files_);
    Look found;
    for (const std::string& name : view.list(kControllers)) {
      if (name.starts_with("mc") && parseNumber(name.substr(2))) {
        checkController(name, now, view, found);
      }
    }
    checkPressure(view, found);
    checkOomKills(now, view, found);
    checkMeminfo(view, found);
    found.blind = view.blind();
    return found;
  }

 private:
  void checkController(const std::string& name, TimePoint now, HostView& view, Look& found) {
    const std::string folder = std::string(kControllers) + "/" + name;
    if (const auto errors = view.number(folder + "/ue_count");
        errors && static_cast<double>(*errors) > settings_.limit(kUncorrectable).count) {
      found.see(kUncorrectable, name,
                name + ": " + std::to_string(*errors) + " uncorrectable memory errors since boot" +
                    worstDimm(folder, "/dimm_ue_count", view));
    }
    if (const auto errors = view.number(folder + "/ce_count")) {
      const Limit& limit = settings_.limit(kCorrectable);
      const auto growth = counters_.watch(folder, *errors, limit, now);
      if (growth.over) {
        found.see(kCorrectable, name,
                  name + ": " + riseText("ce_count", growth, *errors, limit) +
                      worstDimm(folder, "/dimm_ce_count", view),
                  growth.by > 0);
      }
    }
  }

  // ", most of them in CPU_SrcID#0_MC#0_Chan#1_DIMM#0".
  static std::string worstDimm(const std::string& folder, const std::string& counter, HostView& view) {
    std::string worst;
    std::uint64_t most = 0;
    for (const std::string& name : view.list(folder)) {
      const std::string dimm = folder + "/" + name;
      const bool isDimm = name.starts_with("dimm") || name.starts_with("rank");
      const std::uint64_t errors = isDimm ? view.numberIfAny(dimm + counter).value_or(0) : 0;
      if (errors > most) {
        most = errors;
        worst = view.textIfAny(dimm + "/dimm_label").value_or(name);
      }
    }
    return worst.empty() ? "" : ", most of them in " + worst;
  }

  void checkPressure(HostView& view, Look& found) {
    // EOPNOTSUPP where the kernel was started with psi=0.
    const auto text = view.textIfAny("/proc/pressure/memory");
    const std::size_t line = text ? text->find("full ") : std::string::npos;
    const std::size_t at = line == std::string::npos ? line : text->find("avg300=", line);
    if (at == std::string::npos) {
      return;
    }
    const double share = std::strtod(text->c_str() + at + std::string_view("avg300=").size(), nullptr);
    if (share > settings_.limit(kPressure).count) {
      found.see(kPressure, "",
                "nothing ran for want of memory in " + std::to_string(static_cast<int>(share)) +
                    " % of the last five minutes");
    }
  }

  void checkOomKills(TimePoint now, HostView& view, Look& found) {
    const auto text = view.text("/proc/vmstat");
    const auto kills = text ? numberAfter(*text, "oom_kill") : std::nullopt;
    if (!kills) {
      return;
    }
    const Limit& limit = settings_.limit(kOomKills);
    const auto growth = counters_.watch("oom_kill", *kills, limit, now);
    if (growth.over) {
      found.see(kOomKills, "",
                riseText("the number of processes killed for want of memory", growth, *kills, limit),
                growth.by > 0);
    }
  }

  void checkMeminfo(HostView& view, Look& found) {
    const std::string text = view.text("/proc/meminfo").value_or("");
    const std::uint64_t poisoned = numberAfter(text, "HardwareCorrupted:").value_or(0);
    if (static_cast<double>(poisoned) > settings_.limit(kPoisoned).count) {
      found.see(kPoisoned, "", std::to_string(poisoned) + " kB of memory are out of use after memory errors");
    }
    const auto total = static_cast<double>(numberAfter(text, "SwapTotal:").value_or(0));
    const auto unused = static_cast<double>(numberAfter(text, "SwapFree:").value_or(0));
    const double used = total > 0 ? 100 * (total - unused) / total : 0;
    if (used > settings_.limit(kSwapFull).count) {
      found.see(kSwapFull, "", std::to_string(static_cast<int>(used)) + " % of the swap is in use");
    }
  }

  const HostFiles files_;
  const ProbeSettings settings_;
  Counters counters_;
};

}  // namespace

const ProbeKind& memoryProbe() {
  static const ProbeKind kind{
      "memory",
      "Memory",
      "/sys/devices/system/edac/mc, /proc/vmstat, /proc/meminfo, /proc/pressure/memory",
      "",
      30s,
      30s,
      kMemoryChecks,
      makeProbe<MemoryProbe>};
  return kind;
}

}  // namespace mainstay::agent::probes
