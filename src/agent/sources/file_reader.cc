#include "agent/sources/file_reader.h"

#include <utility>

#include "fault/text.h"

namespace mainstay::agent {
namespace {

constexpr std::size_t kQuotedLine = 200;  // bytes of a line that is shown to people

}  // namespace

std::vector<SourceNews> FileReader::poll(TimePoint now) {
  std::vector<SourceNews> news;
  if (failed_ && now < next_) {
    return news;
  }
  const auto look = file_.read();
  failed_ = !look;
  if (failed_) {
    next_ = now + pause_.next();
    goBlind(look.error().toString(), news);
  } else {
    next_ = look->more ? now : now + kLook;
    pause_.reset();
    take(*look, now, news);
  }
  return news;
}

void FileReader::take(const FollowedFile::Look& look, TimePoint now, std::vector<SourceNews>& news) {
  tellSight(look.missing, now, news);
  if (look.unread > 0) {
    news.push_back(RecordsLost{1, std::to_string(look.unread) + " bytes were cut off before they were read"});
  }
  if (look.text.tooLong > 0) {
    news.push_back(
        RecordsLost{look.text.tooLong, "longer than " + std::to_string(LineSplitter::kMaxLine) + " bytes"});
  }
  takeLines(look.text, now, news);
}

void FileReader::takeLines(const Lines& text, TimePoint now, std::vector<SourceNews>& news) const {
  LinesUnparsed unparsed;
  for (const std::string& line : text.lines) {
    if (format_.skips(line)) {
      continue;
    }
    auto record = format_.read(line, now);
    if (record) {
      news.push_back(*std::move(record));
    } else if (++unparsed.count == 1) {
      unparsed.example = record.error().message() + ": " +
                         fault::sanitizeUtf8(std::string_view(line).substr(0, kQuotedLine));
    }
  }
  if (unparsed.count > 0) {
    news.push_back(std::move(unparsed));
  }
}

void FileReader::tellSight(bool missing, TimePoint now, std::vector<SourceNews>& news) {
  if (!missing) {
    missingSince_.reset();
    if (!std::exchange(reading_, true)) {
      news.push_back(SourceReading{});
    }
    return;
  }
  missingSince_ = missingSince_.value_or(now);
  if (reading_ && now - *missingSince_ >= kAway) {
    goBlind(path_ + " was moved away or deleted, and no new one has come since", news);
  }
}

void FileReader::goBlind(std::string why, std::vector<SourceNews>& news) {
  reading_ = false;
  news.push_back(SourceBlind{std::move(why)});
}

}  // namespace mainstay::agent
