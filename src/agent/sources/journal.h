// Journal: the door to a systemd journal, so that what reads it can be tried without one.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

namespace mainstay::agent {

struct JournalEntry {
  TimePoint time{};         // when journald took it in (wall clock)
  std::string message;      // as written, at most kMaxJournalMessage bytes; "" when it has none
  bool fromKernel = false;  // journald itself read it from the kernel: no process can claim that
  std::string cursor;       // its place: reading can go on behind it
};

inline constexpr std::size_t kMaxJournalMessage = 64 << 10;

// Owned and used by one thread.
class Journal {
 public:
  virtual ~Journal() = default;
  // The next entry; nullopt when there is none yet. Never waits. kDataLoss: an entry that cannot be read was skipped.
  // Any other error: this journal can not be read any more, open it again.
  virtual Result<std::optional<JournalEntry>> next() = 0;
  // Readable (POLLIN) when there may be an entry after there was none; -1 when the system has no more notices to give
  // out: then only opening it again shows what is new.
  virtual int descriptor() const = 0;
};

// Opens it at the first entry that is not older than `since`, or behind the one that `cursor` names, unless that is "".
using OpenJournal =
    std::function<Result<std::unique_ptr<Journal>>(TimePoint since, const std::string& cursor)>;

struct JournalSelection {
  std::string folder;      // "" = where this machine keeps its journal
  std::string identifier;  // exactly the SYSLOG_IDENTIFIER of what is read
  // Where journald writes when it keeps no journal on disk: named when `folder` holds none.
  std::string volatileFolder = "/run/log/journal";
};

// kNotFound: there is no journal that can be read; the text says what to do.
Result<std::unique_ptr<Journal>> openJournal(const JournalSelection& selection, TimePoint since,
                                             const std::string& cursor);

}  // namespace mainstay::agent
