#include "base/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/descriptor.h"

namespace mainstay {

namespace {

std::string parentOf(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

Error tooLarge(const std::string& path, std::size_t limit) {
  return {Code::kResourceExhausted,
          path + " is larger than the limit of " + std::to_string(limit) + " bytes"};
}

Result<> writeAll(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = ::write(file, content.data(), content.size());
    if (count < 0 && errno != EINTR) {
      return fail(systemError("write"));
    }
    content.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
  return {};
}

// A rename is on disk when its folder is.
Result<> syncFolder(const std::string& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor || ::fsync(descriptor.get()) != 0) {
    return fail(systemError("syncing folder " + folder));
  }
  return {};
}

// Fills the file `temporary` and gives it the name `path`.
Result<> fillAndRename(const Descriptor& file, const std::string& temporary, const std::string& path,
                       std::string_view content) {
  struct stat old {};
  if (::stat(path.c_str(), &old) == 0 && ::fchmod(file.get(), old.st_mode & 07777) != 0) {
    return fail(systemError("setting the mode"));
  }
  MAINSTAY_TRY(writeAll(file.get(), content));
  if (::fsync(file.get()) != 0) {
    return fail(systemError("fsync"));
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    return fail(systemError("rename"));
  }
  return syncFolder(parentOf(path));
}

}  // namespace

Result<std::string> RealFileSystem::read(const std::string& path, std::size_t limit) const {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    return fail(systemError("reading " + path));
  }
  // Until the end: files of /proc and /sys do not tell their size.
  std::string content;
  char buffer[16384];
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return fail(systemError("reading " + path));
    }
    if (count == 0) {
      return content;
    }
    content.append(buffer, static_cast<std::size_t>(count));
    if (content.size() > limit) {
      return fail(tooLarge(path, limit));
    }
  }
}

Result<> RealFileSystem::write(const std::string& path, std::string_view content) {
  std::string temporary = path + ".XXXXXX";
  const Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file) {
    return fail(systemError("writing " + path));
  }
  auto written = fillAndRename(file, temporary, path, content);
  if (!written) {
    ::unlink(temporary.c_str());
    return fail(std::move(written).error().with("writing " + path));
  }
  return {};
}

Result<std::vector<std::string>> RealFileSystem::list(const std::string& folder) const {
  std::error_code error;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  if (error) {
    return fail(systemError("listing " + folder, error.value()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool RealFileSystem::exists(const std::string& path) const {
  return ::access(path.c_str(), F_OK) == 0;
}

void FakeFileSystem::failOn(const std::string& path, Error error) {
  const std::lock_guard lock(mutex_);
  failures_.insert_or_assign(path, std::move(error));
}

void FakeFileSystem::addFolder(const std::string& path) {
  const std::lock_guard lock(mutex_);
  folders_.insert(path);
}

void FakeFileSystem::remove(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto within = [&](const std::string& other) { return other == path || other.starts_with(path + "/"); };
  std::erase_if(files_, [&](const auto& file) { return within(file.first); });
  std::erase_if(folders_, within);
}

Result<> FakeFileSystem::failureOf(const std::string& path) const {
  const auto failure = failures_.find(path);
  return failure == failures_.end() ? Result<>() : fail(failure->second);
}

bool FakeFileSystem::isFolder(const std::string& path) const {
  const std::string inside = path == "/" ? path : path + "/";
  const auto next = files_.lower_bound(inside);
  return folders_.contains(path) || (next != files_.end() && next->first.starts_with(inside));
}

Result<std::string> FakeFileSystem::read(const std::string& path, std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  MAINSTAY_TRY(failureOf(path));
  const auto file = files_.find(path);
  if (file == files_.end()) {
    return fail(systemError("reading " + path, isFolder(path) ? EISDIR : ENOENT));
  }
  if (file->second.size() > limit) {
    return fail(tooLarge(path, limit));
  }
  return file->second;
}

Result<> FakeFileSystem::write(const std::string& path, std::string_view content) {
  const std::lock_guard lock(mutex_);
  MAINSTAY_TRY(failureOf(path));
  if (!isFolder(parentOf(path))) {
    return fail(systemError("writing " + path, ENOENT));
  }
  files_.insert_or_assign(path, std::string(content));
  return {};
}

Result<std::vector<std::string>> FakeFileSystem::list(const std::string& folder) const {
  const std::lock_guard lock(mutex_);
  MAINSTAY_TRY(failureOf(folder));
  if (!isFolder(folder)) {
    return fail(systemError("listing " + folder, files_.contains(folder) ? ENOTDIR : ENOENT));
  }
  const std::string inside = folder == "/" ? folder : folder + "/";
  std::set<std::string> names;
  for (auto at = files_.lower_bound(inside); at != files_.end() && at->first.starts_with(inside); ++at) {
    names.insert(at->first.substr(inside.size(), at->first.find('/', inside.size()) - inside.size()));
  }
  return std::vector<std::string>(names.begin(), names.end());
}

bool FakeFileSystem::exists(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  return files_.contains(path) || isFolder(path);
}

TemporaryFolder::TemporaryFolder(std::string_view prefix) {
  const char* base = std::getenv("TMPDIR");
  path_ =
      std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/" + std::string(prefix) + "XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "making the temporary folder " + path_);
  }
}

TemporaryFolder::~TemporaryFolder() {
  if (!keep_) {
    std::error_code unimportant;  // what cannot be removed stays in a folder for temporary things
    std::filesystem::remove_all(path_, unimportant);
  }
}

}  // namespace mainstay
