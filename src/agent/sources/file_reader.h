// FileReader: a text log as a source, in the way of node-problem-detector's filelog plugin.
#pragma once

#include <optional>
#include <string>

#include "agent/sources/followed_file.h"
#include "agent/sources/retry_pause.h"
#include "agent/sources/source.h"
#include "fault/line_format.h"

namespace mainstay::agent {

class FileReader final : public WaitableSource {
 public:
  FileReader(std::string path, fault::LineFormat format)
      : path_(std::move(path)), format_(std::move(format)), file_(path_) {}

  std::vector<SourceNews> poll(TimePoint now) override;
  TimePoint nextPoll() const override { return next_; }
  int descriptor() const override { return file_.descriptor(); }

  // How often it looks though nothing was said: notices do not come from every file system.
  static constexpr Duration kLook = std::chrono::seconds(1);
  // How long a log may be away between its old file and the new one before that is told.
  static constexpr Duration kAway = std::chrono::seconds(30);

 private:
  void take(const FollowedFile::Look& look, TimePoint now, std::vector<SourceNews>& news);
  void takeLines(const Lines& text, TimePoint now, std::vector<SourceNews>& news) const;
  void tellSight(bool missing, TimePoint now, std::vector<SourceNews>& news);
  void goBlind(std::string why, std::vector<SourceNews>& news);

  const std::string path_;
  const fault::LineFormat format_;
  FollowedFile file_;
  TimePoint next_{};
  RetryPause pause_;
  bool failed_ = false;                      // the last look
  bool reading_ = false;                     // and told so
  std::optional<TimePoint> missingSince_{};  // nothing stands at the path
};

}  // namespace mainstay::agent
