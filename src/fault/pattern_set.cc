// The capture patterns of rule packs. Named in pattern.h.
#include <algorithm>
#include <array>
#include <optional>

#include <re2/filtered_re2.h>

#include "fault/literal_index.h"
#include "fault/pattern.h"
#include "fault/text.h"

namespace mainstay::fault {
namespace {

// What one pattern may use for its program and its automaton; one that needs more does not compile.
constexpr std::int64_t kPatternMemory = 256 << 10;

RE2::Options captureOptions() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kPatternMemory);
  return options;
}

bool capture(const RE2& regex, std::string_view text, Captures& captures) {
  constexpr std::size_t kGroups = 16;
  std::array<re2::StringPiece, kGroups> groups;
  const re2::StringPiece subject(text.data(), text.size());
  const int count = 1 + regex.NumberOfCapturingGroups();
  if (!regex.Match(subject, 0, text.size(), RE2::UNANCHORED, groups.data(), count)) {
    return false;
  }
  for (const auto& [name, group] : regex.NamedCapturingGroups()) {
    const re2::StringPiece& taken = groups.at(static_cast<std::size_t>(group));
    captures[name] = std::string(taken.data(), taken.size());
  }
  return true;
}

}  // namespace

CapturePattern::CapturePattern() = default;
CapturePattern::CapturePattern(CapturePattern&&) noexcept = default;
CapturePattern& CapturePattern::operator=(CapturePattern&&) noexcept = default;
CapturePattern::~CapturePattern() = default;

Result<CapturePattern> CapturePattern::compile(std::string_view text) {
  constexpr int kMaxGroups = 15;
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) {
    return fail(Code::kInvalidArgument, "expected ASCII: write other characters as \\x{...}");
  }
  CapturePattern pattern;
  pattern.regex_ = std::make_unique<RE2>(withOldGroupNames(text), captureOptions());
  if (!pattern.regex_->ok()) {
    return fail(Code::kInvalidArgument, sanitizeUtf8(pattern.regex_->error()));
  }
  if (const int groups = pattern.regex_->NumberOfCapturingGroups(); groups > kMaxGroups) {
    return fail(Code::kInvalidArgument, "expected at most " + std::to_string(kMaxGroups) +
                                            " capturing groups, found " + std::to_string(groups));
  }
  return pattern;
}

const std::string& CapturePattern::text() const {
  return regex_->pattern();
}

std::vector<std::string> CapturePattern::names() const {
  std::vector<std::string> names;
  for (const auto& [name, group] : regex_->NamedCapturingGroups()) {
    names.push_back(name);
  }
  return names;
}

bool CapturePattern::match(std::string_view text, Captures& captures) const {
  return capture(*regex_, text, captures);
}

int CapturePattern::programSize() const {
  return regex_->ProgramSize();
}

struct PatternSet::Impl {
  re2::FilteredRE2 patterns{kLiteral};
  std::optional<LiteralIndex> literals;
  std::vector<std::size_t> unfiltered;
};

PatternSet::PatternSet(const std::vector<std::string>& patterns) : impl_(std::make_unique<Impl>()) {
  for (const std::string& pattern : patterns) {
    int id = 0;
    impl_->patterns.Add(withOldGroupNames(pattern), captureOptions(), &id);
  }
  std::vector<std::string> literals;
  std::vector<int> always;
  if (!patterns.empty()) {  // of a set of none RE2 complains
    impl_->patterns.Compile(&literals);
    impl_->patterns.AllPotentials({}, &always);
  }
  impl_->literals.emplace(std::move(literals));
  impl_->unfiltered.assign(always.begin(), always.end());
}

PatternSet::PatternSet(PatternSet&&) noexcept = default;
PatternSet& PatternSet::operator=(PatternSet&&) noexcept = default;
PatternSet::~PatternSet() = default;

std::vector<PatternSet::Match> PatternSet::match(std::string_view text) const {
  std::vector<Match> matches;
  std::vector<int> found;
  impl_->literals->find(text, found);
  if (found.empty() && impl_->unfiltered.empty()) {
    return matches;
  }
  std::vector<int> candidates;
  impl_->patterns.AllPotentials(found, &candidates);
  std::ranges::sort(candidates);
  for (const int candidate : candidates) {
    Match match{static_cast<std::size_t>(candidate), {}};
    if (capture(impl_->patterns.GetRE2(candidate), text, match.captures)) {
      matches.push_back(std::move(match));
    }
  }
  return matches;
}

const std::vector<std::size_t>& PatternSet::unfiltered() const {
  return impl_->unfiltered;
}

}  // namespace mainstay::fault
