#include "agent/sources/journal_reader.h"

#include "fault/text.h"

namespace mainstay::agent {

fault::Record recordOf(const JournalEntry& entry) {
  fault::Record record;
  record.time = entry.time;
  record.priority = entry.fromKernel ? 0 : fault::kUserPriority;
  record.text = fault::sanitizeUtf8(fault::trim(entry.message));
  return record;
}

std::vector<SourceNews> JournalReader::poll(TimePoint now) {
  std::vector<SourceNews> news;
  if (!journal_ && now >= next_) {
    open(now, news);
  }
  if (journal_) {
    readBatch(now, news);
  }
  return news;
}

void JournalReader::open(TimePoint now, std::vector<SourceNews>& news) {
  auto journal = open_(since_, cursor_);
  if (!journal) {
    goBlind(journal.error(), now, news);
    return;
  }
  journal_ = *std::move(journal);
  if (!std::exchange(reading_, true)) {
    news.push_back(SourceReading{});
  }
}

void JournalReader::readBatch(TimePoint now, std::vector<SourceNews>& news) {
  next_ = now;
  for (int i = 0; i < kBatch; ++i) {
    auto entry = journal_->next();
    if (!entry && entry.error().code() == Code::kDataLoss) {
      news.push_back(RecordsLost{1, entry.error().toString()});
      continue;
    }
    if (!entry) {
      goBlind(entry.error(), now, news);
      return;
    }
    pause_.reset();
    if (!*entry) {
      rest(now);
      return;
    }
    cursor_ = std::move((*entry)->cursor);
    news.push_back(recordOf(**entry));
  }
}

void JournalReader::rest(TimePoint now) {
  next_ = now + kLook;
  if (journal_->descriptor() < 0) {
    journal_.reset();  // without notices it does not see new files: it is opened again at the next look
  }
}

void JournalReader::goBlind(const Error& error, TimePoint now, std::vector<SourceNews>& news) {
  journal_.reset();
  reading_ = false;
  next_ = now + pause_.next();
  news.push_back(SourceBlind{error.toString()});
}

}  // namespace mainstay::agent
