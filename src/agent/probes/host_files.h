// The host's files as probes read them: under a root, so that a container sees the host's and a test a tree
// of its own; and one look at them, which remembers what it could not see.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"

namespace mainstay::agent::probes {

// Bounds of what is believed of a host: a file of /sys or /proc that is larger, a folder that holds more.
inline constexpr std::size_t kMaxHostFile = 1u << 20;
inline constexpr std::size_t kMaxHostEntries = 4096;

// Thread-safe. `files` outlives it, and every thread that still hangs in a read of it.
class HostFiles {
 public:
  explicit HostFiles(const FileSystem& files, const std::string& root = "/");

  // Paths are the host's own: absolute, without the root.
  Result<std::string> read(const std::string& path) const;
  Result<std::vector<std::string>> list(const std::string& folder) const;
  bool exists(const std::string& path) const;
  // What this process sees itself, such as /proc/self: without the root.
  Result<std::string> readOurs(const std::string& path) const { return files_.read(path, kMaxHostFile); }
  // Where this process finds that path.
  std::string locate(const std::string& path) const { return root_ + path; }

 private:
  const FileSystem& files_;
  std::string root_;  // without a final slash; "" = "/"
};

// What is not there, or does not apply, is nothing to watch. What is there and cannot be read, or is not what
// it should be, makes the look blind.
class HostView {
 public:
  explicit HostView(const HostFiles& files) : files_(files) {}

  // Names in a folder; none when it is not there.
  std::vector<std::string> list(const std::string& folder);
  // Trimmed, valid UTF-8; nullopt when it is not there.
  std::optional<std::string> text(const std::string& path);
  std::optional<std::uint64_t> number(const std::string& path);
  // For attributes whose reading fails in the ordinary course of things: nullopt for every failure.
  std::optional<std::string> textIfAny(const std::string& path) const;
  std::optional<std::uint64_t> numberIfAny(const std::string& path) const;
  bool exists(const std::string& path) const { return files_.exists(path); }

  void miss(std::string what);
  // The first few things that were missed and the number of the others; "" = all was seen.
  std::string blind() const;

 private:
  const HostFiles& files_;
  std::vector<std::string> missed_;  // the first kMissesTold
  std::size_t misses_ = 0;
};

// A whole number in decimal, or in hexadecimal after "0x"; nullopt for anything else.
std::optional<std::uint64_t> parseNumber(std::string_view text);
// The number that follows `name` and blanks at the start of one of the lines: "oom_kill 12", "SwapTotal:  4
// kB".
std::optional<std::uint64_t> numberAfter(std::string_view text, std::string_view name);

}  // namespace mainstay::agent::probes
