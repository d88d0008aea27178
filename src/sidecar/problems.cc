#include "sidecar/problems.h"

#include <charconv>
#include <cmath>
#include <optional>

namespace mainstay::sidecar {
namespace {

constexpr char kCounter[] = "problem_counter";
constexpr char kGauge[] = "problem_gauge";

struct Sample {
  std::string_view name;
  std::string reason;  // the label; "" when there is none
  double value = 0;
};

// One line, eaten from the left.
struct Line {
  std::string_view rest;

  bool take(char wanted) {
    const bool found = rest.starts_with(wanted);
    rest.remove_prefix(found ? 1 : 0);
    return found;
  }
  void skipBlanks() { rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size())); }
  std::string_view takeUntil(std::string_view ends) {
    const std::string_view taken = rest.substr(0, rest.find_first_of(ends));
    rest.remove_prefix(taken.size());
    return taken;
  }
};

// Letters, digits, '_' and, in names of metrics, ':'; no digit first.
bool isName(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:";
  constexpr std::string_view kRest = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:0123456789";
  return !text.empty() && kLetters.find(text.front()) != std::string_view::npos &&
         text.find_first_not_of(kRest) == std::string_view::npos;
}

// "text", where a backslash stands before a quote, a backslash and the n of a newline.
std::optional<std::string> quoted(Line& line) {
  if (!line.take('"')) {
    return std::nullopt;
  }
  std::string text;
  while (true) {
    text += line.takeUntil("\\\"");
    if (line.take('"')) {
      return text;
    }
    if (!line.take('\\') || line.rest.empty()) {
      return std::nullopt;
    }
    const char escaped = line.rest.front();
    line.rest.remove_prefix(1);
    text += escaped == 'n' ? '\n' : escaped;
  }
}

// {name="value",...}: the value of `reason`; "" when it is not among them.
std::optional<std::string> reasonOf(Line& line) {
  std::string reason;
  line.skipBlanks();
  while (!line.take('}')) {
    Line name{line.takeUntil("=")};
    const std::string_view label = name.takeUntil(" \t");
    if (!isName(label) || !line.take('=')) {
      return std::nullopt;
    }
    line.skipBlanks();
    auto value = quoted(line);
    line.skipBlanks();
    if (!value || (!line.take(',') && !line.rest.starts_with('}'))) {
      return std::nullopt;
    }
    line.skipBlanks();
    if (label == "reason") {
      reason = *std::move(value);
    }
  }
  return reason;
}

// A number as Go and C write them; NaN and infinity are numbers here, too.
std::optional<double> number(std::string_view text) {
  text.remove_prefix(text.starts_with('+') ? 1 : 0);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

// name{labels} value [timestamp]
std::optional<Sample> sampleOf(std::string_view text) {
  Line line{text};
  Sample sample;
  sample.name = line.takeUntil("{ \t");
  line.skipBlanks();
  if (line.take('{')) {
    auto reason = reasonOf(line);
    if (!reason) {
      return std::nullopt;
    }
    sample.reason = *std::move(reason);
    line.skipBlanks();
  }
  const auto value = number(line.takeUntil(" \t"));
  line.skipBlanks();
  const bool timestamp = line.rest.empty() || number(line.takeUntil(" \t")).has_value();
  line.skipBlanks();
  if (!isName(sample.name) || !value || !timestamp || !line.rest.empty()) {
    return std::nullopt;
  }
  sample.value = *value;
  return sample;
}

}  // namespace

Problems readProblems(std::string_view text, const std::set<std::string>& reasons) {
  Problems problems;
  while (!text.empty()) {
    Line line{text.substr(0, text.find('\n'))};
    text.remove_prefix(std::min(line.rest.size() + 1, text.size()));
    line.skipBlanks();
    if (line.rest.empty() || line.rest.starts_with('#')) {
      continue;
    }
    const auto sample = sampleOf(line.rest);
    if (!sample) {
      ++problems.wrongLines;
    } else if ((sample->name == kCounter || sample->name == kGauge) && std::isfinite(sample->value) &&
               reasons.contains(sample->reason)) {
      problems.seen[sample->reason] |= sample->value > 0;
    }
  }
  return problems;
}

}  // namespace mainstay::sidecar
