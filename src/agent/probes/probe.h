// Probe: looks at one part of the machine, again and again, and says what it sees there. What may be found,
// from which threshold on, how sure a probe has to be and what is proposed is data: a Check per finding.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/probes/host_calls.h"
#include "agent/probes/host_files.h"
#include "fault/finding.h"

namespace mainstay::agent::probes {

// The words of which checks are made.
using fault::ClearOn;
using fault::RepairAction;
using fault::Severity;

// More than `count`, for what is measured; of what is counted, more than that many within `per`, or in one
// look.
struct Limit {
  double count = 0;
  Duration per{};
};

// How sure a probe has to be before something is raised, and when it is taken back.
struct Patience {
  int looks = 1;     // seen in so many looks in a row,
  Duration span{};   // the first of them at least so long ago
  Duration quiet{};  // over when it was not seen for so long
};

struct Check {
  const char* reason;
  // kFatal: makes `condition` True while it lasts. kWarning: an Event when it begins and when it is over.
  Severity severity;
  const char* condition;
  const char* faultClass;
  RepairAction action;
  // What takes it back. kEvidence: it is not seen any more. kBoot: only a look that says fine(), for what a
  // probe cannot see anew after a restart of the agent. kInstance: no look.
  ClearOn clearOn;
  Limit limit;
  Patience patience;
  const char* meaning;  // for people: what was found
  const char* source;   // where the limit and the action come from
  const char* date;     // and when that was so
};

struct CheckSettings {
  bool on = true;
  Limit limit;
  Patience patience;
};

struct ProbeSettings {
  bool on = true;
  Duration interval{};                                            // from look to look
  Duration deadline{};                                            // a look that takes longer hangs
  std::string program = {};                                       // a name or a path: ProbeKind::program
  std::map<std::string, CheckSettings, std::less<>> checks = {};  // all of the probe's, by reason

  // REQUIRES: the reason is one of the probe's.
  const Limit& limit(std::string_view reason) const { return checks.find(reason)->second.limit; }
  bool isOn(std::string_view reason) const { return checks.find(reason)->second.on; }
};

struct Sighting {
  std::string reason;
  std::string device;
  std::string message;
  bool again = false;  // it happened once more since the last look: a counter rose
};

// What one look gave. Nothing seen by a look that was blind in part is no evidence of anything.
struct Look {
  std::vector<Sighting> sightings;  // at most kMaxSightings
  std::string blind;                // what could not be seen, and why; "" = everything was

  std::set<std::pair<std::string, std::string>> isFine;  // reason, device

  void see(std::string_view reason, std::string device, std::string message, bool again = false);
  // Evidence that this is not, or not any more, so.
  void fine(std::string_view reason, const std::string& device) { isFine.emplace(reason, device); }
};
inline constexpr std::size_t kMaxSightings = 256;

// What a probe is given of the machine.
struct Host {
  HostFiles files;
  HostCalls calls;
  std::string instanceType;  // "p5.48xlarge"; "" = not known
};

// Used by one thread. It may hang: whoever asks watches the time.
class Probe {
 public:
  virtual ~Probe() = default;
  virtual Look look(TimePoint now) = 0;
};

struct ProbeKind {
  const char* name;       // "pcie"
  const char* prefix;     // "Pcie": it makes the reasons PcieProbeBlind and PcieProbeHung
  const char* reads;      // for people
  const char* privilege;  // what it needs beyond reading public files; "" = nothing
  Duration interval;
  Duration deadline;
  std::span<const Check> checks;
  std::unique_ptr<Probe> (*make)(const Host& host, const ProbeSettings& settings);
  // HyperPod's fault type of what it proposes to repair; "" = there is none.
  const char* hyperpod = "";
  // What it runs where that is installed, unless the settings name another program; "" = none.
  const char* program = "";

  const Check* find(std::string_view reason) const;
  ProbeSettings defaults() const;
};

template <class AProbe>
std::unique_ptr<Probe> makeProbe(const Host& host, const ProbeSettings& settings) {
  return std::make_unique<AProbe>(host, settings);
}

}  // namespace mainstay::agent::probes
