#include "fault/pattern.h"

#include <re2/re2.h>

#include <vector>

#include "fault/text.h"

namespace mainstay::fault {
namespace {

RE2::Options quietOptions() {
  RE2::Options options;
  options.set_log_errors(false);
  return options;
}

// The next token of a regular expression: an escape, a quotation, a class, the head of a group, or one
// character.
std::string_view takeToken(std::string_view& rest) {
  static const RE2 kToken(
      R"re((?s)(\\Q.*?(?:\\E|\z)|\\x\{[^}]*\}|\\x..|\\[pP](?:\{[^}]*\}|.)|\\[0-7]{1,3}|\\.)re"
      R"re(|\[\^?\]?(?:\[:[^\]]*:\]|\\.|[^\]\\])*\])re"
      R"re(|\(\?P?<\w+>|\(\?[A-Za-z-]*[:)]|.))re");
  re2::StringPiece input(rest.data(), rest.size());
  re2::StringPiece token;
  if (!RE2::Consume(&input, kToken, &token)) {
    token = re2::StringPiece(rest.data(), rest.size());  // not UTF-8: the compiler will say so
  }
  const std::string_view taken = rest.substr(0, token.size());
  rest.remove_prefix(token.size());
  return taken;
}

bool opensGroup(std::string_view token) {
  return token.starts_with('(') && !token.ends_with(')');
}

// (?s) lets the dot cross lines, (?m) lets ^ and $ stop at lines.
bool setsLineFlags(std::string_view token) {
  return token.starts_with("(?") && !token.ends_with('>') &&
         token.find_first_of("sm") != std::string_view::npos;
}

// A token that can take in a line feed, or that looks for the start of the whole text.
bool leavesLine(std::string_view token) {
  if (token == "^" || token == "\\A" || setsLineFlags(token)) {
    return true;
  }
  if (token.starts_with("\\Q")) {
    // Without its end the quotation also swallows the `\z` that is appended.
    return !token.ends_with("\\E") || token.find('\n') != std::string_view::npos;
  }
  if (token.size() > 1 && !token.starts_with('(')) {
    return RE2::FullMatch("\n", RE2(re2::StringPiece(token.data(), token.size()), quietOptions()));
  }
  return token == "\n";
}

struct Shape {
  bool newestLineOnly = true;
  bool looseAlternation = false;
  bool bytes = false;  // \C, which Go does not have
};

Shape readShape(std::string_view pattern) {
  Shape shape;
  int depth = 0;
  for (std::string_view rest = pattern; !rest.empty();) {
    const std::string_view token = takeToken(rest);
    depth += opensGroup(token) ? 1 : token == ")" ? -1 : 0;
    shape.looseAlternation |= token == "|" && depth == 0;
    shape.bytes |= token == "\\C";
    shape.newestLineOnly = shape.newestLineOnly && !leavesLine(token);
  }
  shape.newestLineOnly = shape.newestLineOnly && !shape.looseAlternation;
  return shape;
}

Result<std::unique_ptr<RE2>> compileRegex(const std::string& text) {
  auto regex = std::make_unique<RE2>(text, quietOptions());
  if (!regex->ok()) {
    return fail(Code::kInvalidArgument, sanitizeUtf8(regex->error()));
  }
  return regex;
}

}  // namespace

std::string withOldGroupNames(std::string_view pattern) {
  std::string text;
  while (!pattern.empty()) {
    const std::string_view token = takeToken(pattern);
    if (token.starts_with("(?<")) {
      text += "(?P";
      text += token.substr(2);
    } else {
      text += token;
    }
  }
  return text;
}

Pattern::Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Result<Pattern> Pattern::compile(std::string_view text) {
  return compile(text, "\\z");
}

Result<Pattern> Pattern::compileAnywhere(std::string_view text) {
  return compile(text, "");
}

Result<Pattern> Pattern::compile(std::string_view text, std::string_view anchor) {
  const Shape shape = readShape(text);
  if (shape.bytes) {
    return fail(Code::kInvalidArgument, "\\C (one byte) is not part of the syntax");
  }
  // By itself first: what is wrong is then told without our `\z`, and a last backslash cannot quote it.
  const std::string spelled = withOldGroupNames(text);
  MAINSTAY_TRY(compileRegex(spelled));
  Pattern pattern;
  pattern.effective_ = spelled + std::string(anchor);
  pattern.newestLineOnly_ = shape.newestLineOnly;
  pattern.looseAlternation_ = shape.looseAlternation;
  MAINSTAY_ASSIGN(pattern.regex_, compileRegex(pattern.effective_));
  return pattern;
}

std::size_t Pattern::find(std::string_view text) const {
  re2::StringPiece match;
  const re2::StringPiece subject(text.data(), text.size());
  const bool found = regex_->Match(subject, 0, text.size(), RE2::UNANCHORED, &match, 1);
  return found ? static_cast<std::size_t>(match.data() - text.data()) : std::string_view::npos;
}

Extractor::Extractor() = default;
Extractor::Extractor(Extractor&&) noexcept = default;
Extractor& Extractor::operator=(Extractor&&) noexcept = default;
Extractor::~Extractor() = default;

Result<Extractor> Extractor::compile(std::string_view text) {
  Extractor extractor;
  MAINSTAY_ASSIGN(extractor.regex_, compileRegex(withOldGroupNames(text)));
  if (extractor.regex_->NumberOfCapturingGroups() != 1) {
    return fail(Code::kInvalidArgument, "expected exactly one group (...), the part that names the device");
  }
  return extractor;
}

std::string Extractor::extract(std::string_view text) const {
  std::string part;
  const bool found = RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *regex_, &part);
  return found ? part : std::string();
}

LastGroup::LastGroup() = default;
LastGroup::LastGroup(LastGroup&&) noexcept = default;
LastGroup& LastGroup::operator=(LastGroup&&) noexcept = default;
LastGroup::~LastGroup() = default;

Result<LastGroup> LastGroup::compile(std::string_view text) {
  LastGroup group;
  MAINSTAY_ASSIGN(group.regex_, compileRegex(withOldGroupNames(text)));
  return group;
}

std::optional<std::string_view> LastGroup::find(std::string_view text) const {
  const int groups = 1 + regex_->NumberOfCapturingGroups();
  std::vector<re2::StringPiece> found(static_cast<std::size_t>(groups));
  const re2::StringPiece subject(text.data(), text.size());
  if (!regex_->Match(subject, 0, text.size(), RE2::UNANCHORED, found.data(), groups)) {
    return std::nullopt;
  }
  return std::string_view(found.back().data(), found.back().size());
}

}  // namespace mainstay::fault
