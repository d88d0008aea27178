#include "agent/tools/log_counter.h"

#include <algorithm>

#include "agent/log_monitor.h"
#include "agent/sources/journal_reader.h"
#include "fault/matcher.h"

namespace mainstay::agent {
namespace {

constexpr std::size_t kLines = 1000;                  // that a pattern can reach back
constexpr Duration kQuiet = std::chrono::seconds(1);  // after which nothing is waited for any more
constexpr std::size_t kPattern = 0;                   // the rules of the matcher
constexpr std::size_t kRevert = 1;

tl::unexpected<Error> wrongFlag(const std::string& flag, const std::string& problem) {
  return fail(Code::kInvalidArgument, "--" + flag + ": " + problem);
}

Result<Duration> durationOf(const std::string& flag, const std::string& text) {
  const auto span = text.empty() ? Duration{} : parseDuration(text);
  if (!span) {
    return wrongFlag(flag, "\"" + text + "\" is not a duration (write it as 90s, 5m or 1h30m)");
  }
  return *span;
}

Result<fault::Pattern> patternOf(const std::string& flag, const std::string& text) {
  auto pattern = fault::Pattern::compile(text);
  if (!pattern) {
    return wrongFlag(flag, "\"" + text + "\": " + pattern.error().message());
  }
  return pattern;
}

Result<fault::Matcher> matcherOf(const LogCounterOptions& options) {
  std::vector<fault::Pattern> patterns;
  MAINSTAY_ASSIGN(fault::Pattern pattern, patternOf("pattern", options.pattern));
  MAINSTAY_ASSIGN(fault::Pattern revert, patternOf("revert-pattern", options.revertPattern));
  patterns.push_back(std::move(pattern));
  patterns.push_back(std::move(revert));
  return fault::Matcher(std::move(patterns), kLines);
}

}  // namespace

void addFlags(Flags& flags, LogCounterOptions& options) {
  flags.add("journald-source", options.journaldSource, "SYSLOG_IDENTIFIER of the program whose entries count")
      .add("log-path", options.logPath, "folder of the journal; empty: where this machine keeps it")
      .add("lookback", options.lookback, "how old an entry may be; never from before the boot")
      .add("delay", options.delay, "time after the boot in which entries do not count")
      .add("pattern", options.pattern, "regular expression of what counts, tied to the end of the entry")
      .add("revert-pattern", options.revertPattern, "regular expression of what takes one from the count")
      .add("count", options.count, "from which count on it is a problem");
}

Result<int> countLogs(const LogCounterOptions& options, const LogCounterDoors& doors, TimePoint now,
                      Duration uptime) {
  if (options.journaldSource.empty()) {
    return wrongFlag("journald-source", "expected the program to watch, such as kubelet, but it is missing");
  }
  MAINSTAY_ASSIGN(const Duration lookback, durationOf("lookback", options.lookback));
  MAINSTAY_ASSIGN(const Duration delay, durationOf("delay", options.delay));
  MAINSTAY_ASSIGN(fault::Matcher matcher, matcherOf(options));
  const TimePoint start = startTime(now, uptime, lookback, delay);
  const JournalSelection selection{.folder = options.logPath, .identifier = options.journaldSource};
  MAINSTAY_ASSIGN(const auto journal, doors.open(selection, std::min(start, now)));

  int count = 0;
  Deadline quiet = Deadline::after(kQuiet);
  while (true) {
    MAINSTAY_ASSIGN(const auto entry, journal->next());
    if (!entry && doors.wait(journal->descriptor(), quiet)) {
      continue;
    }
    if (!entry || entry->time > now) {
      return count;
    }
    quiet = Deadline::after(kQuiet);
    if (entry->time < start) {
      continue;
    }
    for (const fault::Matcher::Match& match : matcher.push(recordOf(*entry))) {
      count += match.rule == kPattern ? 1 : 0;
      count -= match.rule == kRevert ? 1 : 0;
    }
  }
}

PluginAnswer answerOf(const Result<int>& counted, int threshold) {
  constexpr int kProblem = 1;
  constexpr int kUnknown = 2;
  if (!counted) {
    return {kUnknown, counted.error().toString() + "\n"};
  }
  if (*counted >= threshold) {
    return {kProblem, "Found " + std::to_string(*counted) + " matching logs, which meets the threshold of " +
                          std::to_string(threshold) + "\n"};
  }
  return {};
}

}  // namespace mainstay::agent
