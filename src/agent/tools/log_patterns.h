// Log patterns of the health checker: how often each is found in lines, as `grep -i` finds it.
#pragma once

#include <regex.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mainstay::agent {

// A basic regular expression (POSIX), without regard to case.
class GrepPattern {
 public:
  static Result<GrepPattern> compile(const std::string& text);
  bool isIn(const std::string& line) const;

 private:
  struct Free {
    void operator()(regex_t* regex) const;
  };
  explicit GrepPattern(std::unique_ptr<regex_t, Free> regex) : regex_(std::move(regex)) {}
  std::unique_ptr<regex_t, Free> regex_;
};

struct LogPattern {
  std::string text;
  std::size_t threshold = 0;  // so many lines are too many; at least 1
  GrepPattern pattern;
};

// Of "<count>:<pattern>" each; the pattern may hold colons. Of a pattern that is named twice the last count
// is taken.
Result<std::vector<LogPattern>> parseLogPatterns(const std::vector<std::string>& flags);

// Counts in text that comes in pieces.
class LineCounter {
 public:
  // `patterns` outlive it.
  explicit LineCounter(const std::vector<LogPattern>& patterns)
      : patterns_(patterns), counts_(patterns.size()) {}
  void take(std::string_view piece);
  // The last line may lack its end.
  void finish();
  // "<pattern>: 12 lines, 10 are too many"; "" while no pattern has reached its threshold.
  std::string complaint() const;

 private:
  const std::vector<LogPattern>& patterns_;
  std::vector<std::size_t> counts_;
  std::string line_;
};

}  // namespace mainstay::agent
