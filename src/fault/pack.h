// Rule packs: what faults look like in a kernel log, what they mean and what cures them, as data with a source
// (rules/*.yaml; docs/add-a-rule.md tells the form). Read here, carried out by fault/engine.h.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fault/finding.h"
#include "fault/pattern.h"
#include "fault/rule.h"

namespace mainstay::fault {

// Whose lines count: the kernel's own (facility 0, which user space cannot write), or everybody's.
enum class Trust { kKernel, kAny };
// How far a fault reaches.
enum class Scope { kNode, kDevice, kLink, kProcess };
std::string_view scopeName(Scope scope);  // node device link process
// Whether a witness has to bear a line out before it marks the node: a line that a program can have printed is told all
// the same. kPrefer: unless a witness contradicts it.
enum class Corroborate { kIgnore, kPrefer, kRequire };
std::string_view corroborateName(Corroborate corroborate);  // ignore prefer require

// Other findings that a new one has to do with: of these ids, seen not longer ago than this.
struct Relation {
  // "nvidia/xid/79", "nvidia/xid" (all of that rule), written short in a pack: 79, any, other-rule.
  std::vector<std::string> of;
  Duration within{};
  bool acrossDevices = false;  // otherwise of the same device only
};

// An occurrence that only tells more about an earlier finding, and changes it.
struct Revision : Relation {
  std::string reason;                  // "" = as it was
  std::optional<RepairAction> action;  // nullopt = as it was
};

struct Effect;
using EffectPtr = std::shared_ptr<const Effect>;

// So many occurrences within a span mean more than one.
struct Repeat {
  std::size_t count = 0;
  Duration within{};
  std::vector<std::string> by;  // captures that must agree, besides the device
  std::string distinct;         // count different values of this capture; "" = every occurrence
  std::string id;               // of what they mean: added to the finding's
  std::string name;
  EffectPtr effect;
};

// What an occurrence means. An effect without a condition is told by an Event and proposes its action, but does not mark
// the node.
struct Effect {
  std::string condition;  // type; "" = none
  std::string reason;     // of the condition; may hold {code}
  std::string event;      // reason of its Event; "" = none
  std::string faultClass;
  Severity severity = Severity::kWarning;
  Scope scope = Scope::kDevice;
  RepairAction action = RepairAction::kNone;
  ClearOn clearOn = ClearOn::kBoot;
  Corroborate corroborate = Corroborate::kIgnore;
  Duration dedupe = std::chrono::minutes(10);  // no second Event of one device within it
  Duration hold{};                             // how long it waits for what cancels or explains it
  std::string advice;                          // for the person on call
  std::vector<std::string> collect;            // captures whose values are listed in the message
  std::vector<std::string> cancels;            // ids of findings, of the same device, that it ends
  std::optional<Relation> follows;             // with one of these it is a part of it
  std::optional<Revision> revises;
  std::optional<Repeat> repeat;
  ForeignName hyperpod;  // reasons may hold {code}
  ForeignName eks;
};

// What a capture must be: one of `values` (numbers by their value), found by `pattern`, or the number whose binary digits
// are as one of `bits` says ("--01": 0 and 1 must be so, the lowest digit last).
struct CaptureTest {
  std::string capture;
  std::vector<std::string> values;
  std::vector<std::string> bits;
  std::shared_ptr<const CapturePattern> pattern;

  bool holds(const Captures& captures) const;
};

// The same code with another meaning.
struct Variant {
  std::vector<CaptureTest> when;  // all of them
  std::string id;                 // added to the finding's; "" = the same finding
  std::string name;
  EffectPtr effect;
};

struct Entry {
  std::string code;  // "79"; "" = the rule has no codes
  std::string name;  // what it is, for people
  EffectPtr effect;
  std::shared_ptr<const CapturePattern> detail;  // finds more captures in the line
  std::vector<Variant> variants;                 // the first that fits
};

// A line of a rule's fixtures, and what must come of it (keys: device, code, reason, action, severity, event, condition).
struct Example {
  std::string line;
  std::map<std::string, std::string> gives;
};

struct PackRule {
  std::string id;                     // "nvidia/xid"
  std::vector<std::string> patterns;  // one, or the lines of a message that comes in several records
  Duration joinWithin{};              // of several: from the first to the last
  std::size_t joinLines = 0;          // the same, in records
  Trust trust = Trust::kKernel;
  std::string device;  // template over the captures: "nd{nd}"; "" = the node
  std::string source;
  std::string date;                     // when it was last checked against the source, 2026-01-15
  Entry own;                            // when it has no codes
  std::map<std::string, Entry> codes;   // by the capture `code`
  std::optional<Entry> unknown;         // any other code
  std::vector<Variant> variants;        // of every code; before an entry's own
  std::string implies;                  // it says the same as this one: "nvidia/xid/79"
  std::vector<Example> examples;        // must match
  std::vector<std::string> notMatches;  // must not
  std::string place;                    // "rules/nvidia.yaml:12"
};

struct Pack {
  std::string name;
  std::string about;
  std::string source;
  std::string date;
  std::string faultClass;
  Trust trust = Trust::kKernel;
  std::vector<ConditionDefault> conditions;
  std::map<std::string, EffectPtr, std::less<>> effects;  // named ones
  std::vector<PackRule> rules;
};

// Reads a pack. Where `base` holds one of the same name, the new one is laid over it: rules and codes that it names
// replace those of the base, fields that it leaves out stay, `enabled: false` takes a rule away. The error holds every
// mistake, with file, line and column.
Result<Pack> parsePack(std::string_view text, const std::string& file, const std::vector<Pack>& base = {});

// Adds `pack`, or puts it in the place of the one that it was laid over.
void addPack(std::vector<Pack>& packs, Pack pack);

// The entry that an id names, with its rule; nullptr when there is none.
struct EntryPlace {
  const PackRule* rule = nullptr;
  const Entry* entry = nullptr;
};
EntryPlace findEntry(const std::vector<Pack>& packs, std::string_view id);

// A code as it is looked up: a number without leading zeros, or the word itself.
std::string normalCode(std::string code);

// "Xid{code}" with the captures put in.
std::string expandTemplate(std::string_view text, const Captures& captures);
// The names in braces.
std::vector<std::string> templateNames(std::string_view text);

}  // namespace mainstay::fault
