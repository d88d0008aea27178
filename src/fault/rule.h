// Rules of a log monitor, read from node-problem-detector's JSON files. A file serves both programs: keys of
// ours (class, action, clearOn, device) are unknown to it, and it ignores unknown keys.
//
// Our own pack form (with source, date and fixtures per rule) will be read into the same structs.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fault/npd_json.h"

namespace mainstay::fault {

struct Rule {
  std::string id;          // "kernel-monitor.json#rules[3]"
  bool permanent = false;  // sets its condition; a temporary rule only makes Events
  std::string condition;   // permanent: the type
  std::string reason;
  std::string pattern;        // as written; see fault/pattern.h
  std::string messageSuffix;  // patternGeneratedMessageSuffix
  // Ours.
  std::string faultClass;  // "class"
  RepairAction action = RepairAction::kNone;
  ClearOn clearOn = ClearOn::kBoot;
  std::string device;  // regular expression with one group: the device in the matched lines
};

struct LogMonitorConfig {
  std::string file;
  std::string plugin;  // "kmsg", "journald", "filelog"; others are refused by whoever builds sources
  SourcePlace pluginPlace;
  std::map<std::string, std::string> pluginConfig;
  std::vector<std::string> skipList;
  std::string logPath;
  Duration lookback{};
  Duration delay{};
  std::size_t bufferSize = 10;  // lines
  std::string source;           // source.component of its Events
  bool metricsReporting = true;
  std::vector<ConditionDefault> conditions;
  std::vector<Rule> rules;
  std::vector<std::string> warnings;  // what was accepted, but is probably a mistake
};

// Key of the pluginConfig of a journald monitor: the SYSLOG_IDENTIFIER that it reads. (Those of filelog: LineFormat.)
inline constexpr char kJournalSource[] = "source";

inline constexpr std::size_t kMaxBufferSize = 10000;  // lines of up to 2 KiB each

// With Go's tolerance: keys match without regard to case, unknown keys are ignored, the last duplicate wins, bytes that
// are not UTF-8 become U+FFFD; a wrong type, a pattern that does not compile or what a plugin cannot do without is an
// error. Every error names file, line, column and path.
Result<LogMonitorConfig> parseLogMonitorConfig(std::string_view bytes, const std::string& file);

}  // namespace mainstay::fault
