// The words in which monitors tell the node's state what they found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fault/finding.h"

namespace mainstay::agent {

// Something that happened, as a monitor reports it.
struct Problem {
  std::string source;     // source.component of its Events
  std::string condition;  // the type that it makes True; "" = it only makes an Event
  std::string reason;
  std::string message;
  TimePoint time{};
  bool countsInMetrics = true;
  // What the finding is made of; only with a condition.
  std::string rule;
  std::string faultClass;
  std::string device;
  std::string line;
  fault::RepairAction action = fault::RepairAction::kNone;
  std::uint64_t seq = 0;
};

// A condition type that somebody of this agent sets, with what it says while there is no problem.
struct ConditionSpec {
  std::string source;
  std::string type;
  std::string reason;
  std::string message;
};

// A reason that may be reported: its series exist, at zero, from the start.
struct ReasonSpec {
  std::string condition;  // "" = temporary
  std::string reason;
  fault::ClearOn clearOn = fault::ClearOn::kBoot;
  bool countsInMetrics = true;
};

}  // namespace mainstay::agent
