// The door to files that programs read and write: real, or a tree in memory for tests.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mainstay {

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  // The whole file, at most `limit` bytes (kResourceExhausted above it).
  virtual Result<std::string> read(const std::string& path, std::size_t limit = 16 << 20) const = 0;
  // Atomically: a temporary file beside it, fsync, rename. Parent folders must exist. A new file is for its
  // owner only; one that existed keeps its mode.
  virtual Result<> write(const std::string& path, std::string_view content) = 0;
  // Names in a folder, sorted.
  virtual Result<std::vector<std::string>> list(const std::string& folder) const = 0;
  virtual bool exists(const std::string& path) const = 0;
};

class RealFileSystem final : public FileSystem {
 public:
  Result<std::string> read(const std::string& path, std::size_t limit) const override;
  Result<> write(const std::string& path, std::string_view content) override;
  Result<std::vector<std::string>> list(const std::string& folder) const override;
  bool exists(const std::string& path) const override;
};

// A tree from a map of absolute paths; failures on purpose by path. A folder exists when a file lies in it,
// or it was added.
class FakeFileSystem final : public FileSystem {
 public:
  FakeFileSystem() = default;
  explicit FakeFileSystem(std::map<std::string, std::string> files) : files_(std::move(files)) {}
  void failOn(const std::string& path, Error error);
  void addFolder(const std::string& path);
  // A file, or a folder with all that is in it.
  void remove(const std::string& path);
  Result<std::string> read(const std::string& path, std::size_t limit) const override;
  Result<> write(const std::string& path, std::string_view content) override;
  Result<std::vector<std::string>> list(const std::string& folder) const override;
  bool exists(const std::string& path) const override;

 private:
  Result<> failureOf(const std::string& path) const;
  bool isFolder(const std::string& path) const;

  mutable std::mutex mutex_;  // guards all below
  std::map<std::string, std::string> files_;
  std::set<std::string> folders_;
  std::map<std::string, Error> failures_;
};

// A fresh folder under TMPDIR (or /tmp), removed with all it holds by the destructor.
class TemporaryFolder {
 public:
  // Throws std::system_error when it cannot be made: there is nothing to go on with.
  explicit TemporaryFolder(std::string_view prefix);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  // Leaves it in place.
  void keep() { keep_ = true; }

 private:
  std::string path_;
  bool keep_ = false;
};

}  // namespace mainstay
