#include "agent/sources/kmsg_reader.h"

#include <algorithm>
#include <ctime>

namespace mainstay::agent {

KmsgReader::KmsgReader(OpenKernelLog open, std::function<Duration()> logClock, std::optional<LogMark> told)
    : open_(std::move(open)), logClock_(std::move(logClock)), told_(told) {}

std::vector<SourceNews> KmsgReader::poll(TimePoint now) {
  std::vector<SourceNews> news;
  if (!log_ && now >= next_) {
    open(now, news);
  }
  if (log_) {
    readBatch(now, news);
  }
  return news;
}

void KmsgReader::open(TimePoint now, std::vector<SourceNews>& news) {
  auto log = open_();
  if (!log) {
    goBlind(log.error(), now, news);
    return;
  }
  log_ = *std::move(log);
  news.push_back(SourceReading{});
}

void KmsgReader::readBatch(TimePoint now, std::vector<SourceNews>& news) {
  next_ = now;
  for (int i = 0; i < kBatch; ++i) {
    auto read = log_->read();
    if (!read) {
      goBlind(read.error(), now, news);
      return;
    }
    pause_.reset();
    if (read->kind == KernelLogRead::Kind::kEmpty) {
      next_ = kNever;
      return;
    }
    if (read->kind == KernelLogRead::Kind::kOverrun) {
      overrun_ = true;  // the gap before the next record tells how many
    } else {
      take(read->record, now, news);
    }
  }
}

void KmsgReader::take(const std::string& raw, TimePoint now, std::vector<SourceNews>& news) {
  auto record = fault::parseKernelRecord(raw);
  if (!record) {
    news.push_back(RecordsLost{1, record.error().toString()});
    return;
  }
  if (lastSeq_ && record->seq <= *lastSeq_ && record->sinceBoot <= newestStamp_) {
    return;  // seen before the log was opened again; smaller numbers with a newer stamp are a log that began
             // anew
  }
  tellGap(record->seq, news);
  overrun_ = false;
  lastSeq_ = record->seq;
  newestStamp_ = std::max(newestStamp_, record->sinceBoot);
  if (record->text.empty()) {
    return;  // not even an empty line of the window, as in node-problem-detector
  }
  record->time = now - std::max(logClock_() - record->sinceBoot, Duration{});
  news.push_back(*std::move(record));
}

// The numbers between the last record that was read, by this run or an earlier one, and this one.
void KmsgReader::tellGap(std::uint64_t seq, std::vector<SourceNews>& news) const {
  const bool away = !lastSeq_ && told_;
  const std::uint64_t expected = lastSeq_ ? *lastSeq_ + 1 : told_ ? told_->seq + 1 : seq;
  if (seq <= expected) {
    return;
  }
  const std::uint64_t count = seq - expected;
  std::string what = count == 1 ? "record " + std::to_string(expected) + " of the kernel log is gone"
                                : "records " + std::to_string(expected) + " to " + std::to_string(seq - 1) +
                                      " of the kernel log are gone";
  what += away ? ", overwritten while no agent read" : overrun_ ? ", overwritten before it was read" : "";
  news.push_back(RecordsLost{count, std::move(what)});
}

void KmsgReader::goBlind(const Error& error, TimePoint now, std::vector<SourceNews>& news) {
  log_.reset();
  next_ = now + pause_.next();
  news.push_back(SourceBlind{error.toString()});
}

Duration monotonicTime() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::chrono::duration_cast<Duration>(std::chrono::seconds(time.tv_sec) +
                                              std::chrono::nanoseconds(time.tv_nsec));
}

}  // namespace mainstay::agent
