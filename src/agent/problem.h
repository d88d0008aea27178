// The words in which monitors tell the node's state what they found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fault/finding.h"

namespace mainstay::agent {

// source.component of what no config of node-problem-detector names: our packs, our probes, the agent itself.
inline constexpr char kAgentSource[] = "mainstay-agent";

// Something that happened, as a monitor reports it.
struct Problem {
  std::string source;     // source.component of its Events
  std::string condition;  // the type that it makes True; "" = it only makes an Event
  std::string reason;
  std::string message;
  TimePoint time{};
  bool countsInMetrics = true;
  // How a condition that is True already takes it. node-problem-detector's log monitors replace: a new reason is a
  // change, with an Event and a new transition. Ours join: a condition holds as long as one of its findings does, says
  // the worst of them, and became True when the first of them came.
  bool joins = false;
  // What the finding is made of; only with a condition.
  std::string rule;
  std::string faultClass;
  std::string device;
  std::string line;
  fault::RepairAction action = fault::RepairAction::kNone;
  std::uint64_t seq = 0;
};

// What a check (a plugin) says of a condition: not an occurrence but a state, told again at every run.
struct Verdict {
  std::string source;
  std::string condition;
  std::string status;  // "True" = problem, "False", "Unknown"
  std::string reason;  // for False and Unknown: the condition's default
  std::string message;
  TimePoint time{};
  bool countsInMetrics = true;
  // True with another message is a change, too.
  bool messageMatters = false;
  // Without kEvidence, a problem once found stays: what the check says later does not clear it.
  fault::ClearOn clearOn = fault::ClearOn::kEvidence;
  // What the finding is made of, while it is True.
  std::string rule;
  std::string faultClass;
  std::string device;
  fault::RepairAction action = fault::RepairAction::kNone;
};

// A condition type that somebody of this agent sets, with what it says while there is no problem.
struct ConditionSpec {
  std::string source;
  std::string type;
  std::string reason;
  std::string message;
  bool silentAtFirst = false;  // nothing is published of it before somebody has spoken
};

// A reason that may be reported.
struct ReasonSpec {
  std::string condition;  // "" = temporary
  std::string reason;
  fault::ClearOn clearOn = fault::ClearOn::kBoot;
  bool countsInMetrics = true;
  // Its series exist, at zero, before it is seen; not for the hundreds of reasons of a table of codes.
  bool countsFromStart = true;
  // Only of this device; "" = of any. A source's own reasons end with the source, when a configuration has it no more.
  std::string device = {};
};

}  // namespace mainstay::agent
