#include "local/api/rules.h"

#include <charconv>
#include <optional>

namespace mainstay::local {
namespace {

constexpr int kMaxNesting = 32;

bool isNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Reads and evaluates in one go, from left to right. No operand has an effect, so that both sides of || and
// && are always read. A truth value of nullopt is CEL's error: it spreads, unless || or && decide without it.
class RuleReader {
 public:
  using Truth = std::optional<bool>;

  RuleReader(std::string_view text, const Json& self, const Json* oldSelf)
      : rest_(text), self_(self), oldSelf_(oldSelf) {}

  Verdict run() {
    const Truth truth = either();
    skipSpace();
    if (unknownForm_ || !rest_.empty()) {
      return Verdict::kUnevaluated;
    }
    return (usesOld_ && !oldSelf_) || truth.value_or(false) ? Verdict::kHolds : Verdict::kBroken;
  }

 private:
  Truth either() {
    Truth left = both();
    while (take("||")) {
      const Truth right = both();
      const bool decided = left.value_or(false) || right.value_or(false);
      left = decided ? Truth(true) : left && right ? Truth(false) : std::nullopt;
    }
    return left;
  }

  Truth both() {
    Truth left = single();
    while (take("&&")) {
      const Truth right = single();
      const bool decided = !left.value_or(true) || !right.value_or(true);
      left = decided ? Truth(false) : left && right ? Truth(true) : std::nullopt;
    }
    return left;
  }

  Truth single() {
    if (++nesting_ > kMaxNesting) {
      return refuseForm();
    }
    const Truth truth = peek("!=") ? refuseForm() : take("!") ? negated(single()) : primary();
    --nesting_;
    return truth;
  }

  static Truth negated(Truth truth) { return truth ? Truth(!*truth) : std::nullopt; }

  Truth primary() {
    if (take("(")) {
      const Truth inside = either();
      return take(")") ? inside : refuseForm();
    }
    if (take("has(")) {
      const auto field = operand();
      return take(")") ? Truth(field.has_value()) : refuseForm();
    }
    return comparison();
  }

  Truth comparison() {
    const std::optional<Json> left = operand();
    for (const std::string_view sign : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (take(sign)) {
        const std::optional<Json> right = operand();
        return left && right ? compare(*left, sign, *right) : std::nullopt;
      }
    }
    return left && left->is_bool() ? Truth(left->get_bool()) : std::nullopt;
  }

  static Truth compare(const Json& left, std::string_view sign, const Json& right) {
    if (sign == "==" || sign == "!=") {
      return (left == right) == (sign == "==");
    }
    if (!left.is_number() || !right.is_number()) {
      return std::nullopt;
    }
    const double a = left.to_number<double>();
    const double b = right.to_number<double>();
    return sign == "<" ? a < b : sign == "<=" ? a <= b : sign == ">" ? a > b : a >= b;
  }

  // nullopt: an absent field.
  std::optional<Json> operand() {
    skipSpace();
    if (rest_.empty()) {
      refuseForm();
      return std::nullopt;
    }
    if (rest_[0] == '\'' || rest_[0] == '"') {
      return text(rest_[0]);
    }
    if ((rest_[0] >= '0' && rest_[0] <= '9') || rest_[0] == '-') {
      return number();
    }
    const std::string_view name = takeName();
    if (name == "true" || name == "false") {
      return Json(name == "true");
    }
    if (name == "self") {
      return field(&self_);
    }
    if (name == "oldSelf") {
      usesOld_ = true;
      return field(oldSelf_);
    }
    refuseForm();
    return std::nullopt;
  }

  std::optional<Json> field(const Json* at) {
    while (!rest_.empty() && rest_[0] == '.') {
      rest_.remove_prefix(1);
      const std::string_view name = takeName();
      at = at ? findMember(*at, name) : nullptr;
    }
    if (!rest_.empty() && (rest_[0] == '(' || rest_[0] == '[')) {
      refuseForm();  // a function or an index
    }
    return at ? std::optional(*at) : std::nullopt;
  }

  std::optional<Json> text(char quote) {
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos || rest_.substr(0, end).find('\\') != std::string_view::npos) {
      refuseForm();
      return std::nullopt;
    }
    Json value(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return value;
  }

  std::optional<Json> number() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    const bool whole = error == std::errc() && (rest_.empty() || (rest_[0] != '.' && !isNameChar(rest_[0])));
    if (!whole) {
      refuseForm();
    }
    return Json(value);
  }

  std::string_view takeName() {
    std::size_t length = 0;
    while (length < rest_.size() && isNameChar(rest_[length])) {
      ++length;
    }
    const std::string_view name = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return name;
  }

  void skipSpace() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t')) {
      rest_.remove_prefix(1);
    }
  }

  bool peek(std::string_view token) {
    skipSpace();
    return rest_.starts_with(token);
  }

  bool take(std::string_view token) {
    const bool found = peek(token);
    rest_.remove_prefix(found ? token.size() : 0);
    return found;
  }

  Truth refuseForm() {
    unknownForm_ = true;
    return std::nullopt;
  }

  std::string_view rest_;
  const Json& self_;
  const Json* oldSelf_;
  bool usesOld_ = false;
  bool unknownForm_ = false;
  int nesting_ = 0;
};

}  // namespace

Verdict evaluateRule(std::string_view rule, const Json& self, const Json* oldSelf) {
  return RuleReader(rule, self, oldSelf).run();
}

}  // namespace mainstay::local
