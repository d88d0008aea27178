#include "agent/tools/log_patterns.h"

#include <charconv>

namespace mainstay::agent {
namespace {

// Of a longer line the rest is not searched.
constexpr std::size_t kMaxSearchedLine = 64u << 10;

}  // namespace

void GrepPattern::Free::operator()(regex_t* regex) const {
  ::regfree(regex);
  delete regex;
}

Result<GrepPattern> GrepPattern::compile(const std::string& text) {
  auto regex = std::make_unique<regex_t>();
  if (const int code = ::regcomp(regex.get(), text.c_str(), REG_ICASE | REG_NOSUB); code != 0) {
    char why[256];
    ::regerror(code, regex.get(), why, sizeof why);
    return fail(Code::kInvalidArgument, "\"" + text + "\" is not a basic regular expression: " + why);
  }
  return GrepPattern(std::unique_ptr<regex_t, Free>(regex.release()));
}

bool GrepPattern::isIn(const std::string& line) const {
  return ::regexec(regex_.get(), line.c_str(), 0, nullptr, 0) == 0;
}

Result<std::vector<LogPattern>> parseLogPatterns(const std::vector<std::string>& flags) {
  std::map<std::string, std::size_t> thresholds;
  for (const std::string& flag : flags) {
    const std::size_t colon = std::min(flag.find(':'), flag.size());
    std::size_t count = 0;
    const auto [end, error] = std::from_chars(flag.data(), flag.data() + colon, count);
    if (error != std::errc() || end != flag.data() + colon || count == 0 || colon + 1 >= flag.size()) {
      return fail(Code::kInvalidArgument,
                  "--log-pattern: expected <count>:<pattern> with a count above 0, found \"" + flag + "\"");
    }
    thresholds[flag.substr(colon + 1)] = count;
  }
  std::vector<LogPattern> patterns;
  for (const auto& [text, threshold] : thresholds) {
    auto pattern = GrepPattern::compile(text);
    if (!pattern) {
      return fail(std::move(pattern).error().with("--log-pattern"));
    }
    patterns.push_back({text, threshold, std::move(*pattern)});
  }
  return patterns;
}

void LineCounter::take(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t end = std::min(piece.find('\n'), piece.size());
    line_.append(piece.substr(0, std::min(end, kMaxSearchedLine - line_.size())));
    if (end < piece.size()) {
      finish();
    }
    piece.remove_prefix(std::min(end + 1, piece.size()));
  }
}

void LineCounter::finish() {
  if (line_.empty()) {
    return;
  }
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    counts_[i] += patterns_[i].pattern.isIn(line_) ? 1 : 0;
  }
  line_.clear();
}

std::string LineCounter::complaint() const {
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    if (counts_[i] >= patterns_[i].threshold) {
      return patterns_[i].text + ": " + std::to_string(counts_[i]) + " lines, " +
             std::to_string(patterns_[i].threshold) + " are too many";
    }
  }
  return "";
}

}  // namespace mainstay::agent
