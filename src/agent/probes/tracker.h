// Tracker: what one probe's looks amount to. Pure: looks in; what begins, happens again and is over out.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/probes/probe.h"

namespace mainstay::agent::probes {

struct Change {
  enum class Kind {
    kBegins,    // confirmed: raise it
    kAgain,     // raised, and it happened once more
    kOver,      // take it back
    kHeldBack,  // confirmed, but planned work is under way: tell it, once, and do not raise it
  };
  Kind kind;
  const Check* check;
  std::string device;
  std::string message;  // kOver: the last that was seen
};

class Tracker {
 public:
  // `kind` outlives it.
  Tracker(const ProbeKind& kind, ProbeSettings settings) : kind_(kind), settings_(std::move(settings)) {}

  // `heldBy`: the planned work that explains what is seen; "" = there is none.
  std::vector<Change> take(const Look& look, const std::string& heldBy, TimePoint now);
  // Something that an earlier run of this agent raised and that still stands; `last` is when it was last
  // seen. False when no check of this probe is called so.
  bool adopt(const std::string& reason, const std::string& device, TimePoint last);
  // How many are raised, by reason; every reason is in it.
  std::map<std::string, int> raised() const;

 private:
  struct Seen {
    int looks = 0;
    TimePoint first{};
    TimePoint last{};
    bool raised = false;
    bool told = false;  // that it is held back
    std::string message;
  };
  using Key = std::pair<std::string, std::string>;  // reason, device

  void take(const Sighting& sighting, const std::string& heldBy, TimePoint now, std::vector<Change>& changes);
  void endUnseen(const Look& look, TimePoint now, std::vector<Change>& changes);

  const ProbeKind& kind_;
  const ProbeSettings settings_;
  std::map<Key, Seen> seen_;
};

}  // namespace mainstay::agent::probes
