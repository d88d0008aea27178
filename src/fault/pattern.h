// Patterns of rules: Go's regular expressions, as RE2 of the distribution takes them, and what can be told
// from their text.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

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

  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  // With `\z`, as given to RE2.
  const std::string& effective() const { return effective_; }
  // Proven from the text: a match never leaves the newest line, so that only this line needs to be searched.
  bool newestLineOnly() const { return newestLineOnly_; }
  // "a|b" without parentheses around it: worth a warning.
  bool looseAlternation() const { return looseAlternation_; }

  // Offset of the leftmost match in `text` (valid UTF-8); npos when there is none.
  std::size_t find(std::string_view text) const;

 private:
  Pattern();

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
