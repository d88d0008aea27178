#include "agent/probes/network.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>

#include "agent/probes/counters.h"

namespace mainstay::agent::probes {
namespace {

using namespace std::chrono_literals;

constexpr char kPortDown[] = "RdmaPortDown";
constexpr char kPortSlow[] = "RdmaPortSlow";
constexpr char kPortGone[] = "RdmaDeviceGone";
constexpr char kNicDown[] = "NicLinkDown";
constexpr char kNicFlapping[] = "NicLinkFlapping";
constexpr char kNicSlow[] = "NicLinkSlow";

constexpr char kLinkCounters[] = "NVSentinel ADR-046";
constexpr char kLinkStates[] = "NVSentinel ADR-047";
constexpr char kEfaMonitor[] = "EKS node monitoring agent 1.7, efa.go";
constexpr char kDate[] = "2026-11";

constexpr Check fabric(const char* reason, Severity severity, RepairAction action, Limit limit,
                       const char* meaning, const char* source) {
  return {reason, severity,    "FabricFault", "network", action, ClearOn::kEvidence,
          limit,  {1, 0s, 1h}, meaning,       source,    kDate};
}

// A counter of a port, and the check that it feeds.
struct PortCounter {
  const char* path;
  Check check;
};

// Counters that rise at the victims of somebody else's fault (retries, drops) warn, whatever others do with
// them.
constexpr std::array kPortCounters = {
    PortCounter{"/counters/link_downed", fabric("RdmaLinkFlapping", Severity::kFatal, RepairAction::kNone,
                                                {3, 1h}, "a port lost its link again and again",
                                                "gpud infiniband flaps; NVSentinel ADR-046 takes one")},
    PortCounter{"/counters/excessive_buffer_overrun_errors",
                fabric("RdmaBufferOverruns", Severity::kFatal, RepairAction::kReplace, {0, 0s},
                       "a port of a lossless network lost packets", kLinkCounters)},
    PortCounter{"/counters/local_link_integrity_errors",
                fabric("RdmaIntegrityErrors", Severity::kFatal, RepairAction::kReplace, {0, 0s},
                       "more physical errors than the hardware tolerates", kLinkCounters)},
    PortCounter{"/counters/symbol_error",
                fabric("RdmaSymbolErrors", Severity::kFatal, RepairAction::kReplace, {120, 1h},
                       "a bit error rate above 1e-12: cable or transceiver", kLinkCounters)},
    PortCounter{"/counters/link_error_recovery",
                fabric("RdmaLinkRecoveries", Severity::kWarning, RepairAction::kNone, {5, 1min},
                       "a link trains again and again", kLinkCounters)},
    PortCounter{"/hw_counters/rnr_nak_retry_err",
                fabric("RdmaReceiverNotReady", Severity::kWarning, RepairAction::kNone, {0, 0s},
                       "a connection broke because its peer did not receive", kLinkCounters)},
    PortCounter{"/hw_counters/req_transport_retries_exceeded",
                fabric("RdmaRetriesExceeded", Severity::kWarning, RepairAction::kNone, {0, 0s},
                       "a connection broke because its peer did not answer", kLinkCounters)},
    PortCounter{"/hw_counters/roce_slow_restart",
                fabric("RdmaSlowRestarts", Severity::kWarning, RepairAction::kNone, {600, 1min},
                       "congested flows start over", kLinkCounters)},
    PortCounter{"/hw_counters/rx_drops", fabric("EfaReceiveDrops", Severity::kWarning, RepairAction::kNone,
                                                {6000, 1min}, "EFA dropped what it received", kEfaMonitor)},
    PortCounter{"/hw_counters/rdma_read_wr_err",
                fabric("EfaReadErrors", Severity::kWarning, RepairAction::kNone, {6000, 1min},
                       "EFA reads failed", kEfaMonitor)},
    PortCounter{"/hw_counters/rdma_write_wr_err",
                fabric("EfaWriteErrors", Severity::kWarning, RepairAction::kNone, {6000, 1min},
                       "EFA writes failed", kEfaMonitor)},
    PortCounter{"/hw_counters/unresponsive_remote_events",
                fabric("EfaPeerUnresponsive", Severity::kWarning, RepairAction::kNone, {6000, 1min},
                       "EFA peers do not answer", kEfaMonitor)},
    PortCounter{"/hw_counters/impaired_remote_conn_events",
                fabric("EfaConnectionsImpaired", Severity::kWarning, RepairAction::kNone, {6000, 1min},
                       "EFA connections are impaired", kEfaMonitor)},
    PortCounter{"/hw_counters/retrans_pkts", fabric("EfaRetransmits", Severity::kWarning, RepairAction::kNone,
                                                    {60000, 1min}, "EFA sends packets again", kEfaMonitor)},
    PortCounter{"/hw_counters/retrans_timeout_events",
                fabric("EfaTimeouts", Severity::kWarning, RepairAction::kNone, {6000, 1min},
                       "EFA waited in vain", kEfaMonitor)},
};

constexpr std::array kStateChecks = {
    Check{kPortDown,
          Severity::kFatal,
          "FabricFault",
          "network",
          RepairAction::kReplace,
          ClearOn::kBoot,
          {0, 0s},
          {4, 1min, 1min},
          "a port that was up in this boot is not active",
          kLinkStates,
          kDate},
    Check{kPortSlow,
          Severity::kWarning,
          "FabricFault",
          "network",
          RepairAction::kNone,
          ClearOn::kEvidence,
          {0, 0s},
          {4, 1min, 1min},
          "a port is slower than it was",
          "gpud infiniband threshold",
          kDate},
    Check{kPortGone,
          Severity::kFatal,
          "NICFault",
          "network",
          RepairAction::kReplace,
          ClearOn::kBoot,
          {0, 0s},
          {3, 30s, 0s},
          "a device that was there is gone",
          "NVSentinel nic-health-monitor: 3 polls",
          kDate},
    Check{kNicDown,
          Severity::kFatal,
          "NICFault",
          "network",
          RepairAction::kNone,
          ClearOn::kBoot,
          {0, 0s},
          {4, 1min, 1min},
          "an interface that is switched on and was up in this boot has no carrier",
          kLinkStates,
          kDate},
    Check{kNicFlapping,
          Severity::kWarning,
          "NICFault",
          "network",
          RepairAction::kNone,
          ClearOn::kEvidence,
          {2, 10min},
          {1, 0s, 10min},
          "an interface lost its carrier again and again",
          kLinkCounters,
          kDate},
    Check{kNicSlow,
          Severity::kWarning,
          "NICFault",
          "network",
          RepairAction::kNone,
          ClearOn::kEvidence,
          {0, 0s},
          {4, 1min, 1min},
          "an interface is slower than it was",
          "Mainstay",
          kDate},
};

constexpr auto kNetworkChecks = [] {
  std::array<Check, kPortCounters.size() + kStateChecks.size()> all{};
  std::ranges::copy(kStateChecks, all.begin());
  std::ranges::transform(kPortCounters, all.begin() + kStateChecks.size(), &PortCounter::check);
  return all;
}();

constexpr char kRdma[] = "/sys/class/infiniband";
constexpr char kInterfaces[] = "/sys/class/net";
constexpr std::uint64_t kInterfaceUp = 1;  // IFF_UP

class NetworkProbe final : public Probe {
 public:
  NetworkProbe(const Host& host, const ProbeSettings& settings) : files_(host.files), settings_(settings) {}

  Look look(TimePoint now) override {
    HostView view(files_);
    Look found;
    const auto devices = view.list(kRdma);
    checkPresence(devices, found);
    for (const std::string& device : devices) {
      for (const std::string& number : view.list(std::string(kRdma) + "/" + device + "/ports")) {
        checkPort(device + "/" + number, std::string(kRdma) + "/" + device + "/ports/" + number, now, view,
                  found);
      }
    }
    for (const std::string& name : view.list(kInterfaces)) {
      const std::string folder = std::string(kInterfaces) + "/" + name;
      if (view.exists(folder + "/device")) {  // not of software alone
        checkInterface(name, folder, now, view, found);
      }
    }
    found.blind = view.blind();
    return found;
  }

 private:
  void checkPresence(const std::vector<std::string>& devices, Look& found) {
    const std::set<std::string> present(devices.begin(), devices.end());
    for (const std::string& device : known_) {
      if (!present.contains(device)) {
        found.see(kPortGone, device, device + ": the RDMA device is gone from " + kRdma);
      }
    }
    for (const std::string& device : present) {
      known_.insert(device);
      found.fine(kPortGone, device);
    }
  }

  void checkPort(const std::string& port, const std::string& folder, TimePoint now, HostView& view,
                 Look& found) {
    const std::string state = view.text(folder + "/state").value_or("");
    const bool active = state.ends_with("ACTIVE");
    // A port that was never up has no cable.
    const bool wasUp =
        wasActive_.contains(port) || view.numberIfAny(folder + "/counters/link_downed").value_or(0) > 0;
    if (active) {
      wasActive_.insert(port);
      found.fine(kPortDown, port);
      checkRate(port, "rate " + view.textIfAny(folder + "/rate").value_or(""), found);
    } else if (!state.empty() && wasUp) {
      found.see(kPortDown, port,
                port + ": the port is " + state + ", physically " +
                    view.textIfAny(folder + "/phys_state").value_or("?"));
    }
    for (const PortCounter& counter : kPortCounters) {
      const auto value = view.number(folder + counter.path);
      if (!value) {
        continue;
      }
      const Limit& limit = settings_.limit(counter.check.reason);
      const auto growth = counters_.watch(folder + counter.path, *value, limit, now);
      if (growth.over) {
        found.see(
            counter.check.reason, port,
            port + ": " +
                riseText(counter.path + std::string_view(counter.path).rfind('/') + 1, growth, *value, limit),
            growth.by > 0);
      }
    }
  }

  // "rate 400 Gb/sec (4X NDR)".
  void checkRate(const std::string& port, const std::string& text, Look& found) {
    const double rate = std::strtod(text.c_str() + std::string_view("rate ").size(), nullptr);
    double& best = bestRate_[port];
    if (rate > 0 && rate < best) {
      found.see(kPortSlow, port,
                port + ": the port's " + text + ", it was " + std::to_string(static_cast<int>(best)));
    }
    best = std::max(best, rate);
  }

  void checkInterface(const std::string& name, const std::string& folder, TimePoint now, HostView& view,
                      Look& found) {
    const bool on = (view.number(folder + "/flags").value_or(0) & kInterfaceUp) != 0;
    const auto carrier = view.number(folder + "/carrier");  // EINVAL while it is switched off
    const bool wasUp = view.number(folder + "/carrier_up_count").value_or(0) > 0;
    if (carrier == 1) {
      found.fine(kNicDown, name);
      const auto speed = view.numberIfAny(folder + "/speed");  // "-1" where it is not known
      if (speed) {
        checkSpeed(name, *speed, found);
      }
    } else if (on && carrier == 0 && wasUp) {
      found.see(kNicDown, name, name + ": the interface is switched on and has no carrier");
    }
    if (const auto downs = view.number(folder + "/carrier_down_count"); downs && on) {
      const Limit& limit = settings_.limit(kNicFlapping);
      const auto growth = counters_.watch(folder, *downs, limit, now);
      if (growth.over) {
        found.see(kNicFlapping, name, name + ": " + riseText("carrier_down_count", growth, *downs, limit),
                  growth.by > 0);
      }
    }
  }

  void checkSpeed(const std::string& name, std::uint64_t speed, Look& found) {
    std::uint64_t& best = bestSpeed_[name];
    if (speed < best) {
      found.see(kNicSlow, name,
                name + ": the interface runs at " + std::to_string(speed) + " Mb/s, it was " +
                    std::to_string(best));
    }
    best = std::max(best, speed);
  }

  const HostFiles files_;
  const ProbeSettings settings_;
  Counters counters_;
  std::set<std::string> known_;
  std::set<std::string> wasActive_;
  std::map<std::string, double> bestRate_;
  std::map<std::string, std::uint64_t> bestSpeed_;
};

}  // namespace

const ProbeKind& networkProbe() {
  static const ProbeKind kind{
      "network",
      "Network",
      "/sys/class/infiniband/*/ports/*/{state,rate,counters,hw_counters}, /sys/class/net/*",
      "",
      15s,
      30s,
      kNetworkChecks,
      makeProbe<NetworkProbe>};
  return kind;
}

}  // namespace mainstay::agent::probes
