#include "agent/sources/followed_file.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace mainstay::agent {
namespace {

constexpr std::size_t kKeptEnd = 64;  // bytes: enough to tell one log's text from another's

std::string folderOf(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace

FollowedFile::FollowedFile(std::string path)
    : path_(std::move(path)), notices_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

Result<FollowedFile::Look> FollowedFile::read() {
  takeNotices();
  if (!file_) {
    MAINSTAY_TRY(open());
  }
  Look look;
  MAINSTAY_TRY(noticeTruncation(look));
  MAINSTAY_TRY(readSome(look));
  if (!look.more) {
    MAINSTAY_TRY(followName(look));
  }
  return look;
}

// Takes them away, so that the descriptor waits for later ones, and asks for those of whatever stands at the path now.
// Without notices (the system has no more to give out) the regular looks remain.
void FollowedFile::takeNotices() {
  std::array<char, 4096> ignored{};
  while (::read(notices_.get(), ignored.data(), ignored.size()) > 0) {
  }
  ::inotify_add_watch(notices_.get(), folderOf(path_).c_str(),
                      IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE);
  ::inotify_add_watch(notices_.get(), path_.c_str(), IN_MODIFY);
}

Result<> FollowedFile::open() {
  Descriptor file(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    return fail(systemError("opening " + path_));
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(Code::kInvalidArgument, path_ + " is not a regular file");
  }
  file_ = std::move(file);
  if (status.st_dev != device_ || status.st_ino != inode_) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
    offset_ = 0;
    seenSize_ = 0;
    end_.clear();
  }
  return {};
}

Result<> FollowedFile::noticeTruncation(Look& look) {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) {
    file_.reset();
    return fail(systemError("reading " + path_));
  }
  if (status.st_size < offset_ || !endStands()) {
    splitter_.finish(look.text);
    look.unread = static_cast<std::uint64_t>(std::max<off_t>(seenSize_ - offset_, 0));
    offset_ = 0;
    end_.clear();
  }
  seenSize_ = status.st_size;
  return {};
}

// A file that was truncated may have grown beyond the old size since.
bool FollowedFile::endStands() const {
  std::array<char, kKeptEnd> there{};
  const ssize_t got =
      ::pread(file_.get(), there.data(), end_.size(), offset_ - static_cast<off_t>(end_.size()));
  return got < 0 || std::string_view(there.data(), static_cast<std::size_t>(got)) == end_;
}

Result<> FollowedFile::readSome(Look& look) {
  std::array<char, kMaxRead> buffer;
  const ssize_t got = ::pread(file_.get(), buffer.data(), buffer.size(), offset_);
  if (got < 0) {
    file_.reset();
    return fail(systemError("reading " + path_));
  }
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
  splitter_.take(bytes, look.text);
  offset_ += got;
  end_ += bytes.substr(bytes.size() - std::min(bytes.size(), kKeptEnd));
  end_.erase(0, end_.size() - std::min(end_.size(), kKeptEnd));
  look.more = bytes.size() == buffer.size();
  return {};
}

// At the end of the file that is open: whether another one stands at its path.
Result<> FollowedFile::followName(Look& look) {
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) {
    look.missing = true;
    return {};
  }
  const bool same = status.st_dev == device_ && status.st_ino == inode_;
  if (same || status.st_size == 0) {
    return {};  // as long as the new file is empty, its writer may still have the old one
  }
  MAINSTAY_TRY(readSome(look));  // what came to the old one before its writer left it
  if (!look.more) {
    splitter_.finish(look.text);
    file_.reset();
    look.more = true;
  }
  return {};
}

}  // namespace mainstay::agent
