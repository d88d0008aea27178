#include "agent/sources/journal.h"

#include <systemd/sd-journal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/descriptor.h"

namespace mainstay::agent {
namespace {

struct CloseJournal {
  void operator()(sd_journal* journal) const { sd_journal_close(journal); }
};
using JournalHandle = std::unique_ptr<sd_journal, CloseJournal>;

// libsystemd returns negative error numbers.
tl::unexpected<Error> journalError(std::string_view what, int result) {
  return fail(systemError(std::string(what) + " the journal", -result));
}

class SystemdJournal final : public Journal {
 public:
  // `atEntry`: it stands on an entry already, the first to give.
  SystemdJournal(JournalHandle journal, bool atEntry)
      : journal_(std::move(journal)), atEntry_(atEntry), descriptor_(sd_journal_get_fd(journal_.get())) {}

  Result<std::optional<JournalEntry>> next() override {
    int found = advance();
    if (found == 0) {
      // Takes the notices away, so that the descriptor waits for later ones; what they told of may have come after the
      // look above.
      if (const int processed = sd_journal_process(journal_.get()); processed < 0) {
        return journalError("following", processed);
      }
      found = advance();
    }
    if (found < 0) {
      return journalError("reading", found);
    }
    return found == 0 ? Result<std::optional<JournalEntry>>(std::nullopt) : entry();
  }

  int descriptor() const override { return descriptor_ < 0 ? -1 : descriptor_; }

 private:
  int advance() { return std::exchange(atEntry_, false) ? 1 : sd_journal_next(journal_.get()); }

  Result<std::optional<JournalEntry>> entry() const {
    JournalEntry entry;
    std::uint64_t micros = 0;
    char* cursor = nullptr;
    if (sd_journal_get_realtime_usec(journal_.get(), &micros) < 0 ||
        sd_journal_get_cursor(journal_.get(), &cursor) < 0) {
      return fail(Code::kDataLoss, "an entry of the journal has no time or no place");
    }
    entry.time = TimePoint(Duration(micros));
    entry.cursor = std::unique_ptr<char, decltype(&::free)>(cursor, ::free).get();
    MAINSTAY_ASSIGN(entry.message, field("MESSAGE"));
    MAINSTAY_ASSIGN(const std::string transport, field("_TRANSPORT"));
    entry.fromKernel = transport == "kernel";
    return entry;
  }

  // "" when the entry does not have it.
  Result<std::string> field(const char* name) const {
    const void* data = nullptr;
    std::size_t size = 0;
    const int found = sd_journal_get_data(journal_.get(), name, &data, &size);
    if (found == -ENOENT) {
      return "";
    }
    if (found < 0) {
      return fail(
          Code::kDataLoss,
          systemError(std::string("reading ") + name + " of an entry of the journal", -found).message());
    }
    std::string_view value(static_cast<const char*>(data), size);
    value.remove_prefix(std::min(value.find('=') + 1, size));
    return std::string(value.substr(0, kMaxJournalMessage));
  }

  JournalHandle journal_;
  bool atEntry_;
  int descriptor_;  // the journal owns it
};

bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

// What is missing, and what to do about it.
tl::unexpected<Error> noJournal(const JournalSelection& selection, std::string what) {
  const bool inMemory = selection.folder != selection.volatileFolder && exists(selection.volatileFolder);
  what += inMemory ? "; this machine keeps its journal in memory, in " + selection.volatileFolder +
                         ": name that as logPath, or let journald keep it on disk (Storage=persistent in "
                         "journald.conf)"
                   : "; in a pod, mount the node's journal there";
  return fail(Code::kNotFound, std::move(what));
}

Result<JournalHandle> openFiles(const JournalSelection& selection) {
  const std::string& folder = selection.folder;
  if (!folder.empty() && !exists(folder)) {
    return noJournal(selection, "the journal folder " + folder + " does not exist");
  }
  sd_journal* opened = nullptr;
  const int result = folder.empty() ? sd_journal_open(&opened, SD_JOURNAL_LOCAL_ONLY)
                                    : sd_journal_open_directory(&opened, folder.c_str(), 0);
  JournalHandle journal(opened);
  if (result < 0) {
    return journalError("opening", result);
  }
  std::uint64_t bytes = 0;
  if (sd_journal_get_usage(journal.get(), &bytes) < 0 || bytes == 0) {
    return noJournal(selection, "there is no journal in " + (folder.empty() ? "the usual folders" : folder) +
                                    ", or none that we may read (as root or in the group systemd-journal)");
  }
  return journal;
}

// Whether it stands on the entry to give first, or in front of it.
Result<bool> seek(sd_journal* journal, TimePoint since, const std::string& cursor) {
  const auto micros = static_cast<std::uint64_t>(std::max<std::int64_t>(since.time_since_epoch().count(), 0));
  const int sought = cursor.empty() ? sd_journal_seek_realtime_usec(journal, micros)
                                    : sd_journal_seek_cursor(journal, cursor.c_str());
  if (sought < 0) {
    return journalError("seeking in", sought);
  }
  if (cursor.empty()) {
    return false;
  }
  // At the entry of the cursor, or at the next one when that is gone.
  const int found = sd_journal_next(journal);
  if (found < 0) {
    return journalError("seeking in", found);
  }
  return found > 0 && sd_journal_test_cursor(journal, cursor.c_str()) == 0;
}

}  // namespace

Result<std::unique_ptr<Journal>> openJournal(const JournalSelection& selection, TimePoint since,
                                             const std::string& cursor) {
  MAINSTAY_ASSIGN(JournalHandle journal, openFiles(selection));
  const std::string match = "SYSLOG_IDENTIFIER=" + selection.identifier;
  if (const int added = sd_journal_add_match(journal.get(), match.data(), match.size()); added < 0) {
    return journalError("selecting from", added);
  }
  MAINSTAY_ASSIGN(const bool atEntry, seek(journal.get(), since, cursor));
  return std::make_unique<SystemdJournal>(std::move(journal), atEntry);
}

}  // namespace mainstay::agent
