// JournalReader: what one program (SYSLOG_IDENTIFIER) writes to the systemd journal, as a source. A journal that failed
// is opened again with growing pauses, and read on behind the last entry.
#pragma once

#include <string>

#include "agent/sources/journal.h"
#include "agent/sources/retry_pause.h"
#include "agent/sources/source.h"

namespace mainstay::agent {

class JournalReader final : public WaitableSource {
 public:
  // Begins with the first entry that is not older than `since`.
  JournalReader(OpenJournal open, TimePoint since) : open_(std::move(open)), since_(since) {}

  // At most kBatch records; nextPoll() is then at once.
  std::vector<SourceNews> poll(TimePoint now) override;
  TimePoint nextPoll() const override { return next_; }
  int descriptor() const override { return journal_ ? journal_->descriptor() : -1; }

  static constexpr int kBatch = 256;
  // How often it looks though nothing was said.
  static constexpr Duration kLook = std::chrono::seconds(5);

 private:
  void open(TimePoint now, std::vector<SourceNews>& news);
  void readBatch(TimePoint now, std::vector<SourceNews>& news);
  void rest(TimePoint now);
  void goBlind(const Error& error, TimePoint now, std::vector<SourceNews>& news);

  const OpenJournal open_;
  const TimePoint since_;
  std::unique_ptr<Journal> journal_;
  std::string cursor_;  // of the last entry
  TimePoint next_{};
  RetryPause pause_;
  bool reading_ = false;  // and told so
};

// The text is valid UTF-8 and trimmed.
fault::Record recordOf(const JournalEntry& entry);

}  // namespace mainstay::agent
