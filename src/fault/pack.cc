#include "fault/pack.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace mainstay::fault {
namespace {

std::optional<std::uint64_t> numberOf(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = hex ? text.substr(2) : text;
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, hex ? 16 : 10);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  return whole ? std::optional(number) : std::nullopt;
}

bool sameValue(std::string_view a, std::string_view b) {
  const auto left = numberOf(a);
  return a == b || (left && left == numberOf(b));
}

bool hasBits(std::uint64_t number, std::string_view bits) {
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const char digit = bits[bits.size() - 1 - i];
    const char found = (number >> i & 1) != 0 ? '1' : '0';
    if ((digit == '0' || digit == '1') && digit != found) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string_view scopeName(Scope scope) {
  constexpr std::array<std::string_view, 4> kNames = {"node", "device", "link", "process"};
  return kNames.at(static_cast<std::size_t>(scope));
}

std::string_view corroborateName(Corroborate corroborate) {
  constexpr std::array<std::string_view, 3> kNames = {"ignore", "prefer", "require"};
  return kNames.at(static_cast<std::size_t>(corroborate));
}

bool CaptureTest::holds(const Captures& captures) const {
  const auto at = captures.find(capture);
  const std::string_view value = at == captures.end() ? std::string_view() : std::string_view(at->second);
  if (pattern) {
    Captures ignored;
    return pattern->match(value, ignored);
  }
  if (std::ranges::any_of(values, [&](const std::string& wanted) { return sameValue(wanted, value); })) {
    return true;
  }
  const auto number = numberOf(value);
  return number && std::ranges::any_of(bits, [&](const std::string& mask) { return hasBits(*number, mask); });
}

void addPack(std::vector<Pack>& packs, Pack pack) {
  const auto known = std::ranges::find(packs, pack.name, &Pack::name);
  if (known == packs.end()) {
    packs.push_back(std::move(pack));
  } else {
    *known = std::move(pack);
  }
}

EntryPlace findEntry(const std::vector<Pack>& packs, std::string_view id) {
  for (const Pack& pack : packs) {
    for (const PackRule& rule : pack.rules) {
      if (rule.id == id && rule.codes.empty()) {
        return {&rule, &rule.own};
      }
      if (id.starts_with(rule.id + "/")) {
        const auto entry = rule.codes.find(std::string(id.substr(rule.id.size() + 1)));
        return entry == rule.codes.end() ? EntryPlace{} : EntryPlace{&rule, &entry->second};
      }
    }
  }
  return {};
}

std::string normalCode(std::string code) {
  const bool digits = !code.empty() && std::ranges::all_of(code, [](char c) { return c >= '0' && c <= '9'; });
  if (digits) {
    code.erase(0, std::min(code.find_first_not_of('0'), code.size() - 1));
  }
  return code;
}

std::string expandTemplate(std::string_view text, const Captures& captures) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    const std::size_t close = text.find('}', open);
    out += text.substr(0, close == std::string_view::npos ? close : open);
    if (close == std::string_view::npos) {
      break;
    }
    const auto value = captures.find(text.substr(open + 1, close - open - 1));
    out += value == captures.end() ? std::string() : value->second;
    text.remove_prefix(close + 1);
  }
  return out;
}

std::vector<std::string> templateNames(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t open = text.find('{'); open != std::string_view::npos; open = text.find('{', open + 1)) {
    const std::size_t close = text.find('}', open);
    if (close != std::string_view::npos) {
      names.emplace_back(text.substr(open + 1, close - open - 1));
    }
  }
  return names;
}

}  // namespace mainstay::fault
