#include "fault/matcher.h"

#include <re2/set.h>

#include <algorithm>

namespace mainstay::fault {
namespace {

std::vector<std::size_t> rulesOfReach(const std::vector<Pattern>& patterns, bool newestLineOnly) {
  std::vector<std::size_t> rules;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (patterns[i].newestLineOnly() == newestLineOnly) {
      rules.push_back(i);
    }
  }
  return rules;
}

}  // namespace

struct Prefilter::Group {
  std::vector<std::size_t> rules;  // by the set's own numbers
  std::unique_ptr<RE2::Set> set;
};

Prefilter::Prefilter(const std::vector<Pattern>& patterns, const std::vector<std::size_t>& rules,
                     std::size_t memory) {
  build(patterns, rules, memory);
}

Prefilter::Prefilter(Prefilter&&) noexcept = default;
Prefilter& Prefilter::operator=(Prefilter&&) noexcept = default;
Prefilter::~Prefilter() = default;

void Prefilter::build(const std::vector<Pattern>& patterns, std::vector<std::size_t> rules,
                      std::size_t memory) {
  if (rules.empty()) {
    return;
  }
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(static_cast<std::int64_t>(memory));
  Group group{rules, std::make_unique<RE2::Set>(options, RE2::UNANCHORED)};
  const bool added = std::all_of(rules.begin(), rules.end(), [&](std::size_t rule) {
    return group.set->Add(patterns[rule].effective(), nullptr) >= 0;
  });
  if (added && group.set->Compile()) {
    groups_.push_back(std::move(group));
  } else if (rules.size() == 1) {
    always_.push_back(rules.front());
  } else {
    const auto middle = rules.begin() + static_cast<std::ptrdiff_t>(rules.size() / 2);
    build(patterns, {rules.begin(), middle}, memory);
    build(patterns, {middle, rules.end()}, memory);
  }
}

bool Prefilter::empty() const {
  return groups_.empty() && always_.empty();
}

void Prefilter::candidates(std::string_view text, std::vector<std::size_t>& out) const {
  out.insert(out.end(), always_.begin(), always_.end());
  const re2::StringPiece subject(text.data(), text.size());
  std::vector<int> hits;
  for (const Group& group : groups_) {
    RE2::Set::ErrorInfo error{RE2::Set::kNoError};
    if (group.set->Match(subject, &hits, &error)) {
      for (const int hit : hits) {
        out.push_back(group.rules[static_cast<std::size_t>(hit)]);
      }
    } else if (error.kind != RE2::Set::kNoError) {
      // The automaton outgrew its memory on this text: every rule is looked at by itself.
      out.insert(out.end(), group.rules.begin(), group.rules.end());
    }
  }
}

Matcher::Matcher(std::vector<Pattern> patterns, std::size_t bufferSize, std::size_t setMemory)
    : patterns_(std::move(patterns)),
      bufferSize_(bufferSize),
      newestLine_(patterns_, rulesOfReach(patterns_, true), setMemory),
      wholeWindow_(patterns_, rulesOfReach(patterns_, false), setMemory) {}

std::vector<Matcher::Match> Matcher::push(Record record) {
  if (window_.size() == bufferSize_) {
    window_.pop_front();
  }
  window_.push_back(std::move(record));

  const std::string_view newest = window_.back().text;
  const std::string joined = wholeWindow_.empty() ? std::string() : joinedWindow();
  candidates_.clear();
  newestLine_.candidates(newest, candidates_);
  wholeWindow_.candidates(joined, candidates_);
  std::sort(candidates_.begin(), candidates_.end());

  std::vector<Match> matches;
  for (const std::size_t rule : candidates_) {
    const std::string_view text = patterns_[rule].newestLineOnly() ? newest : std::string_view(joined);
    const std::size_t start = patterns_[rule].find(text);
    if (start < text.size()) {
      matches.push_back({rule, coveredLines(text.size() - start)});
    }
  }
  return matches;
}

std::string Matcher::joinedWindow() const {
  std::string text(bufferSize_ - window_.size(), '\n');
  for (const Record& record : window_) {
    text += record.text;
    text += '\n';
  }
  text.pop_back();
  return text;
}

// How many lines the last `bytes` bytes of the joined text reach into. A match that starts with a line feed
// does not reach into the line before it.
std::size_t Matcher::coveredLines(std::size_t bytes) const {
  std::size_t lines = 0;
  for (std::size_t covered = 0; covered < bytes && lines < window_.size(); ++lines) {
    covered += window_[window_.size() - 1 - lines].text.size() + 1;
  }
  return lines;
}

}  // namespace mainstay::fault
