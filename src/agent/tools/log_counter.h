// LogCounter: how often a program has logged something of late: what the program log-counter, which plugins of
// node-problem-detector call, finds in the journal.
#pragma once

#include <functional>
#include <string>

#include "agent/sources/journal.h"
#include "base/flags.h"

namespace mainstay::agent {

struct LogCounterOptions {
  std::string journaldSource = {};
  std::string logPath = {};
  std::string lookback = {};
  std::string delay = {};
  std::string pattern = {};
  std::string revertPattern = {};
  int count = 1;
};

void addFlags(Flags& flags, LogCounterOptions& options);

// Waits until the descriptor is readable; false when that takes longer than the deadline.
using WaitReadable = std::function<bool(int descriptor, Deadline deadline)>;

struct LogCounterDoors {
  std::function<Result<std::unique_ptr<Journal>>(const JournalSelection& selection, TimePoint since)> open;
  WaitReadable wait;
};

// Entries from the start (see startTime) to `now` that end with `pattern`, less those that end with `revertPattern`; it
// waits for late ones until none has come for a second. An entry that cannot be read is an error: the count would be
// anything.
Result<int> countLogs(const LogCounterOptions& options, const LogCounterDoors& doors, TimePoint now,
                      Duration uptime);

// What a plugin of node-problem-detector says: exit code 0 and no text = fine, 1 = problem, 2 = unknown.
struct PluginAnswer {
  int code = 0;
  std::string text;
};
PluginAnswer answerOf(const Result<int>& counted, int threshold);

}  // namespace mainstay::agent
