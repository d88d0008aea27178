// Replay: a kernel log that was written down, played through the agent's own pieces (reader, engine, node state) in the
// time of its records. What `mainstay explain` shows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/node_state.h"
#include "fault/engine.h"

namespace mainstay::agent {

struct ReplayInput {
  std::string kmsg;  // as read from /dev/kmsg: a record a line, each followed by its dictionary lines
  std::vector<fault::Pack> packs;
  TimePoint boot{};  // what the stamps of the records count from
  // What the records up to here say was handled: the agent remembers it over a restart.
  std::optional<Duration> handledUntil;
  fault::Witness witness = {};  // what else is known of the devices
};

// One fault of one device, and its story.
struct ReplayedFinding {
  enum class State {
    kStands,
    kHeld,            // waits for what may cancel it
    kPart,            // of another finding
    kCancelled,       // before it counted
    kResolved,        // by evidence
    kUntrusted,       // user space wrote the line: it does not count
    kUncorroborated,  // nothing bears the line out: it is told, and marks nothing
  };
  State state = State::kStands;
  fault::Sighting sighting;
  std::vector<std::string> reasons;  // sentences, in the order of time
};
// stands held part cancelled resolved untrusted uncorroborated
std::string_view stateName(ReplayedFinding::State state);

// The one thing to do.
struct Proposal {
  fault::RepairAction action = fault::RepairAction::kNone;
  std::string finding;  // "nvidia/xid/79@0000:5e:00.0"; "" = nothing asks for anything
  std::string why;
};

struct Replayed {
  std::size_t records = 0;
  std::vector<ReplayedFinding> findings;  // in the order of their first record
  std::vector<fault::Finding> published;  // what the node's annotation would say
  std::vector<api::Condition> conditions;
  std::vector<NodeEvent> events;
  Proposal proposal;
};

// After the last record the time goes on for kAfterwards, so that what waits is decided. kInvalidArgument: not a kernel
// log.
Result<Replayed> replay(ReplayInput input);

inline constexpr Duration kAfterwards = std::chrono::minutes(15);

}  // namespace mainstay::agent
