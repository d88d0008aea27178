// What the JSON config files of node-problem-detector have in common: keys as Go reads them, conditions,
// rules, and the keys of ours that its parser ignores. Readers add what is wrong to the cursor's errors and
// go on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "fault/finding.h"
#include "fault/json_places.h"

namespace mainstay::fault {

// A file as Go's encoding/json reads it.
struct NpdDocument {
  Json value;
  JsonPlaces places;
  std::string file;

  // Errors that print file:line:column. The document outlives them.
  DecodeErrors errors() const;
};
// Bytes that are not UTF-8, and escaped halves of surrogate pairs, become U+FFFD. The error begins with file:line:column.
Result<NpdDocument> parseNpdJson(std::string_view bytes, const std::string& file);

// What a condition says while there is no problem.
struct ConditionDefault {
  std::string type;
  std::string reason;
  std::string message;
};

// The member as Go finds it: without regard to case, the last one.
Cursor field(const Cursor& object, std::string_view name);

// Of the root: "conditions".
std::vector<ConditionDefault> readConditions(const Cursor& root);

// "kernel-monitor.json#rules[3]", from the file's path and the rule's.
std::string ruleId(const std::string& file, const Cursor& rule);

// Of a rule, "type": all but "temporary" act as permanent; what is neither is worth a warning.
bool readPermanent(const Cursor& rule, std::vector<std::string>& warnings);

// Of a rule, the keys of ours: "class", "action", "clearOn".
struct RuleTraits {
  std::string faultClass;
  RepairAction action = RepairAction::kNone;
  ClearOn clearOn = ClearOn::kBoot;
};
RuleTraits readTraits(const Cursor& rule, ClearOn usualClearOn);

}  // namespace mainstay::fault
