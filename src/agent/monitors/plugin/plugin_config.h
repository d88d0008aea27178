// The config file of a custom-plugin monitor, in node-problem-detector's JSON. A rule may carry keys of ours
// (class, action, clearOn), which node-problem-detector ignores.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "fault/npd_json.h"

namespace mainstay::agent {

// A check: a program, and what its verdict means.
struct PluginRule {
  std::string id;                 // "ntp.json#rules[1]"
  bool permanent = false;         // sets its condition; a temporary rule only makes Events
  std::string condition;          // permanent: the type
  std::string reason;             // while the check finds a problem
  std::string path;               // with a slash, or a name looked up in PATH; run without a shell
  std::vector<std::string> args;  // without the program itself
  Duration timeout{};             // above zero
  Duration interval{};            // above zero; rules of one interval run as a batch
  fault::RuleTraits traits;
};

struct PluginConfig {
  std::string file;
  std::string source;              // source.component of its Events
  std::size_t maxOutput = 80;      // bytes of a check's output that are kept as its message
  std::size_t concurrency = 3;     // checks running at once, at least 1
  bool messageChanges = false;     // another message of a condition that is True is a change, too
  bool skipInitialStatus = false;  // its conditions are not told before their first verdict
  bool metricsReporting = true;
  std::vector<fault::ConditionDefault> conditions;
  std::vector<PluginRule> rules;
  std::vector<std::string> warnings;  // what was accepted, but is probably a mistake
};

inline constexpr std::size_t kMaxConcurrency = 1000;  // a thread each, while so many rules run at once

// With Go's tolerance of keys. `files` tells whether a rule's program exists. Every error names file, line,
// column and path.
Result<PluginConfig> parsePluginConfig(std::string_view text, const std::string& file,
                                       const FileSystem& files);

}  // namespace mainstay::agent
