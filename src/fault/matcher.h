// Matcher: the rules of one log monitor against the last lines of its log, as node-problem-detector defines
// it, at the price of one pass over the newest line.
//
// The definition: a ring of `bufferSize` lines, joined with line feeds (slots that were never filled are
// empty lines in front); after every line each rule is searched in that text, with `\z` appended to its
// pattern; a rule whose leftmost match is not empty at the very end has matched, with the lines that reach
// from the match to the end.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fault/pattern.h"
#include "fault/record.h"

namespace mainstay::fault {

// What one RE2::Set may use for its program and its automaton. The shipped rules need less; a set that cannot
// be built within it is split, and a single rule that cannot is searched by itself.
inline constexpr std::size_t kSetMemory = 4u << 20;

// Tells which of many patterns can match a text, in one pass.
class Prefilter {
 public:
  // `patterns` are effective ones; `rules` says which of them take part.
  Prefilter(const std::vector<Pattern>& patterns, const std::vector<std::size_t>& rules, std::size_t memory);
  Prefilter(Prefilter&&) noexcept;
  Prefilter& operator=(Prefilter&&) noexcept;
  ~Prefilter();

  bool empty() const;
  // Appends every rule that matches; may append one that does not.
  void candidates(std::string_view text, std::vector<std::size_t>& out) const;

 private:
  struct Group;
  void build(const std::vector<Pattern>& patterns, std::vector<std::size_t> rules, std::size_t memory);

  std::vector<Group> groups_;
  std::vector<std::size_t> always_;  // too large for any set
};

class Matcher {
 public:
  struct Match {
    std::size_t rule;   // index of the pattern
    std::size_t lines;  // the match covers this many records at the end of window()
  };

  // REQUIRES: bufferSize >= 1.
  Matcher(std::vector<Pattern> patterns, std::size_t bufferSize, std::size_t setMemory = kSetMemory);

  // Takes in a line; every rule that has matched, in the order of the patterns.
  std::vector<Match> push(Record record);
  // The last lines, oldest first, at most bufferSize.
  const std::deque<Record>& window() const { return window_; }

 private:
  std::string joinedWindow() const;
  std::size_t coveredLines(std::size_t bytesFromEnd) const;

  std::vector<Pattern> patterns_;
  std::size_t bufferSize_;
  Prefilter newestLine_;   // rules that never leave the newest line
  Prefilter wholeWindow_;  // the others
  std::deque<Record> window_;
  std::vector<std::size_t> candidates_;  // kept to reuse its memory
};

}  // namespace mainstay::fault
