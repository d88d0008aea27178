// FollowedFile: the lines that are appended to a text file, through its rotation (renamed and made anew), its truncation
// and copytruncate.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "agent/sources/line_splitter.h"
#include "base/descriptor.h"

namespace mainstay::agent {

// Used by one thread.
class FollowedFile {
 public:
  explicit FollowedFile(std::string path);

  struct Look {
    Lines text;
    bool more = false;         // there is more to read just now
    bool missing = false;      // nothing stands at the path; what was moved away is read on
    std::uint64_t unread = 0;  // bytes that were cut off before they were read
  };
  // What has come since the last look, at most kMaxRead bytes of it; at first from the beginning of the file. Never
  // waits. After an error the next look opens the file again, and goes on where this one stood.
  Result<Look> read();
  // Readable (POLLIN) when a look may show something new; -1 when there is nothing to wait on.
  int descriptor() const { return file_ ? notices_.get() : -1; }

  static constexpr std::size_t kMaxRead = 16 << 10;

 private:
  void takeNotices();
  Result<> open();
  Result<> noticeTruncation(Look& look);
  Result<> readSome(Look& look);
  Result<> followName(Look& look);
  bool endStands() const;

  const std::string path_;
  Descriptor notices_;  // inotify
  Descriptor file_;
  dev_t device_ = 0;  // of the file that we read
  ino_t inode_ = 0;
  off_t offset_ = 0;    // of what is read next
  off_t seenSize_ = 0;  // of the file, at the last look
  std::string
      end_;  // the last bytes that were read: elsewhere than before `offset_`, the file was written anew
  LineSplitter splitter_;
};

}  // namespace mainstay::agent
