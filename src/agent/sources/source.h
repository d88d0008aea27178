// Source: where records come from, and what it says about itself. A source that loses records or goes blind
// tells it: silence is never good news.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/signal.h"
#include "fault/record.h"

namespace mainstay::agent {

// Records are gone, or came in a form that cannot be read.
struct RecordsLost {
  std::uint64_t count = 0;
  std::string what;  // for people: which, and why
};
// Lines of a text log that are not in the form that the config gives: as a rule, those of other programs.
struct LinesUnparsed {
  std::uint64_t count = 0;
  std::string example;  // for people: one of them, and why
};
// The source cannot be read any more; it goes on trying.
struct SourceBlind {
  std::string why;
};
// The source is open and being read (again).
struct SourceReading {};

// How far a log whose records are numbered was read, and what was found in it told.
struct LogMark {
  std::uint64_t seq = 0;  // of the last record
  Duration stamp{};       // the newest up to it, on the log's own clock
  TimePoint until{};      // what came due until then was told, too

  // Smaller numbers with a newer stamp are those of a log that began anew.
  bool covers(const fault::Record& record) const { return record.seq <= seq && record.sinceBoot <= stamp; }
};

using SourceNews = std::variant<fault::Record, RecordsLost, LinesUnparsed, SourceBlind, SourceReading>;

// Used by one loop, whose Signal it raises when there is news.
class Source {
 public:
  virtual ~Source() = default;
  // What has come since the last call, in order; never waits.
  virtual std::vector<SourceNews> poll(TimePoint now) = 0;
  // When to poll again though nothing was signalled; kNever = not before the signal.
  virtual TimePoint nextPoll() const = 0;
};

// A source that somebody else waits for, by its descriptor: see SourceThread. Used by one thread.
class WaitableSource : public Source {
 public:
  // Readable (POLLIN) when there may be news before nextPoll(); -1 when there is nothing to wait on.
  virtual int descriptor() const = 0;
};

// Builds a source that raises the signal of the loop that owns it.
using MakeSource = std::function<std::unique_ptr<Source>(Signal& signal)>;

}  // namespace mainstay::agent
