// Patterns of rules: Go's regular expressions, as RE2 of the distribution takes them, and what can be told
// from their text.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace mainstay::fault {

// The regular expression of a rule. node-problem-detector appends `\z` to the text of a pattern, so that a
// match must reach the end of the newest line; in "a|b" that binds only the last branch, and we keep it so.
class Pattern {
 public:
  // The error is what is wrong with the pattern, in RE2's words.
  static Result<Pattern> compile(std::string_view text);
  // Without `\z`: a match may stand anywhere in the text, as in the configs' other expressions.
  static Result<Pattern> compileAnywhere(std::string_view text);

  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  // With `\z`, if any, as given to RE2.
  const std::string& effective() const { return effective_; }
  // Proven from the text: a match never leaves the newest line, so that only this line needs to be searched.
  bool newestLineOnly() const { return newestLineOnly_; }
  // "a|b" without parentheses around it: worth a warning.
  bool looseAlternation() const { return looseAlternation_; }

  // Offset of the leftmost match in `text` (valid UTF-8); npos when there is none.
  std::size_t find(std::string_view text) const;

 private:
  Pattern();
  static Result<Pattern> compile(std::string_view text, std::string_view anchor);

  std::string effective_;
  bool newestLineOnly_ = false;
  bool looseAlternation_ = false;
  std::unique_ptr<re2::RE2> regex_;
};

// What the first group of `extractor` (a regular expression of ours, without `\z`) finds in `text`; "" when
// it does not match.
class Extractor {
 public:
  static Result<Extractor> compile(std::string_view text);

  Extractor(Extractor&&) noexcept;
  Extractor& operator=(Extractor&&) noexcept;
  ~Extractor();

  std::string extract(std::string_view text) const;

 private:
  Extractor();
  std::unique_ptr<re2::RE2> regex_;
};

// Go's newer (?<name>...) spelled (?P<name>...), which older RE2 wants.
std::string withOldGroupNames(std::string_view pattern);

// What named groups took in: {"code": "79"}. A group that took no part is "".
using Captures = std::map<std::string, std::string, std::less<>>;

// A regular expression of a rule pack, whose named groups are what it is for. Found anywhere, unless it begins with ^.
class CapturePattern {
 public:
  static Result<CapturePattern> compile(std::string_view text);

  CapturePattern(CapturePattern&&) noexcept;
  CapturePattern& operator=(CapturePattern&&) noexcept;
  ~CapturePattern();

  const std::string& text() const;
  std::vector<std::string> names() const;
  // Whether it is found in `text`; what its groups took in is added to `captures`, where it replaces what had the same
  // name.
  bool match(std::string_view text, Captures& captures) const;
  // RE2's measure of what it costs to run.
  int programSize() const;

 private:
  CapturePattern();
  std::unique_ptr<re2::RE2> regex_;
};

// Many capture patterns against one line: a look at the line's bytes tells which of them can match, and only these are
// run. Ordinary lines hold none of the texts that the patterns ask for, and cost nothing more.
class PatternSet {
 public:
  // REQUIRES: CapturePattern::compile accepts each.
  explicit PatternSet(const std::vector<std::string>& patterns);
  PatternSet(PatternSet&&) noexcept;
  PatternSet& operator=(PatternSet&&) noexcept;
  ~PatternSet();

  struct Match {
    std::size_t pattern;
    Captures captures;
  };
  // Every pattern that is found in `text` (valid UTF-8), in their order.
  std::vector<Match> match(std::string_view text) const;
  // Patterns that ask for no text of kLiteral bytes, so that each line pays for them.
  const std::vector<std::size_t>& unfiltered() const;

  static constexpr int kLiteral = 4;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The expressions by which node-problem-detector takes a line apart: what counts is the last group, or the whole match
// when there is no group.
class LastGroup {
 public:
  static Result<LastGroup> compile(std::string_view text);

  LastGroup(LastGroup&&) noexcept;
  LastGroup& operator=(LastGroup&&) noexcept;
  ~LastGroup();

  // Of the leftmost match in `text` (valid UTF-8); nullopt when there is none. A group that took no part is "".
  std::optional<std::string_view> find(std::string_view text) const;

 private:
  LastGroup();
  std::unique_ptr<re2::RE2> regex_;
};

}  // namespace mainstay::fault
