#include "agent/probes/host_files.h"

#include <charconv>

#include "agent/proc_text.h"
#include "base/text.h"
#include "fault/text.h"

namespace mainstay::agent::probes {
namespace {

constexpr std::size_t kMissesTold = 3;

// EINVAL is how attributes of /sys say that they do not apply just now.
bool isAbsent(const Error& error) {
  return error.code() == Code::kNotFound || error.code() == Code::kInvalidArgument;
}

}  // namespace

HostFiles::HostFiles(const FileSystem& files, const std::string& root) : files_(files), root_(root) {
  while (root_.ends_with('/')) {
    root_.pop_back();
  }
}

Result<std::string> HostFiles::read(const std::string& path) const {
  return files_.read(locate(path), kMaxHostFile);
}

Result<std::vector<std::string>> HostFiles::list(const std::string& folder) const {
  MAINSTAY_ASSIGN(auto names, files_.list(locate(folder)));
  if (names.size() > kMaxHostEntries) {
    return fail(Code::kResourceExhausted,
                folder + " holds more than " + std::to_string(kMaxHostEntries) + " entries");
  }
  return names;
}

bool HostFiles::exists(const std::string& path) const {
  return files_.exists(locate(path));
}

std::vector<std::string> HostView::list(const std::string& folder) {
  auto names = files_.list(folder);
  if (names) {
    return *std::move(names);
  }
  if (!isAbsent(names.error())) {
    miss(names.error().toString());
  }
  return {};
}

std::optional<std::string> HostView::text(const std::string& path) {
  const auto content = files_.read(path);
  if (content) {
    return sanitizeUtf8(fault::trim(*content));
  }
  if (!isAbsent(content.error())) {
    miss(content.error().toString());
  }
  return std::nullopt;
}

std::optional<std::uint64_t> HostView::number(const std::string& path) {
  const auto content = text(path);
  if (!content) {
    return std::nullopt;
  }
  const auto value = parseNumber(*content);
  if (!value) {
    miss(path + ": expected a number, found \"" + std::string(cutUtf8(*content, 40)) + "\"");
  }
  return value;
}

std::optional<std::string> HostView::textIfAny(const std::string& path) const {
  const auto content = files_.read(path);
  return content ? std::optional(sanitizeUtf8(fault::trim(*content))) : std::nullopt;
}

std::optional<std::uint64_t> HostView::numberIfAny(const std::string& path) const {
  const auto content = textIfAny(path);
  return content ? parseNumber(*content) : std::nullopt;
}

void HostView::miss(std::string what) {
  ++misses_;
  if (missed_.size() < kMissesTold) {
    missed_.push_back(std::move(what));
  }
}

std::string HostView::blind() const {
  std::string all;
  for (const std::string& what : missed_) {
    all += (all.empty() ? "" : "; ") + what;
  }
  if (misses_ > missed_.size()) {
    all += "; and " + std::to_string(misses_ - missed_.size()) + " more";
  }
  return all;
}

std::optional<std::uint64_t> parseNumber(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) {
    text.remove_prefix(2);
  }
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, hexadecimal ? 16 : 10);
  return error == std::errc() && at == end ? std::optional(value) : std::nullopt;
}

std::optional<std::uint64_t> numberAfter(std::string_view text, std::string_view name) {
  for (std::string_view line : linesOf(text)) {
    if (!line.starts_with(name)) {
      continue;
    }
    line.remove_prefix(name.size());
    const std::size_t digits = line.find_first_not_of(" \t");
    if (digits == 0 || digits == line.npos) {
      continue;
    }
    line.remove_prefix(digits);
    return parseNumber(line.substr(0, line.find_first_of(" \t")));
  }
  return std::nullopt;
}

}  // namespace mainstay::agent::probes
