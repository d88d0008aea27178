#include "base/http.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace mainstay {

namespace {

char lowerAscii(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::optional<int> hexDigit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char lower = lowerAscii(c);
  return lower >= 'a' && lower <= 'f' ? std::optional<int>(lower - 'a' + 10) : std::nullopt;
}

// A "%" without two hexadecimal digits stands for itself; "+" is a space, as in HTML forms and Go.
std::string percentDecode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const auto high = hexDigit(text[i + 1]);
      const auto low = hexDigit(text[i + 2]);
      if (high && low) {
        decoded += static_cast<char>(*high * 16 + *low);
        i += 2;
        continue;
      }
    }
    decoded += text[i] == '+' ? ' ' : text[i];
  }
  return decoded;
}

bool isUnreserved(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_' || c == '~';
}

}  // namespace

bool CaseLess::operator()(std::string_view a, std::string_view b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [](char x, char y) { return lowerAscii(x) < lowerAscii(y); });
}

Query parseQuery(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    if (pair.empty()) {
      continue;
    }
    const std::size_t equals = pair.find('=');
    const std::string_view value = equals == pair.npos ? std::string_view() : pair.substr(equals + 1);
    query.emplace_back(percentDecode(pair.substr(0, equals)), percentDecode(value));
  }
  return query;
}

std::string formatQuery(const Query& query) {
  std::string text;
  for (const auto& [key, value] : query) {
    text += text.empty() ? "" : "&";
    text += percentEncode(key) + "=" + percentEncode(value);
  }
  return text;
}

std::string percentEncode(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (isUnreserved(c)) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return encoded;
}

std::string queryValue(const Query& query, std::string_view key) {
  const auto at =
      std::find_if(query.begin(), query.end(), [&](const auto& pair) { return pair.first == key; });
  return at == query.end() ? std::string() : at->second;
}

}  // namespace mainstay
