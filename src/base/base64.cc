#include "base/base64.h"

#include <cstdint>

namespace mainstay {

namespace {

constexpr std::string_view kBase64Alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string encodeBase64(std::string_view bytes) {
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char byte : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(byte);
    for (count += 8; count >= 6;) {
      count -= 6;
      text.push_back(kBase64Alphabet[(bits >> count) & 0x3F]);
    }
  }
  if (count > 0) {
    text.push_back(kBase64Alphabet[(bits << (6 - count)) & 0x3F]);
  }
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

std::optional<std::string> decodeBase64(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  std::size_t padding = 0;
  for (const char letter : text) {
    if (letter == '\n' || letter == '\r' || letter == ' ') {
      continue;
    }
    if (letter == '=') {
      ++padding;
      continue;
    }
    const std::size_t value = kBase64Alphabet.find(letter);
    if (value == std::string_view::npos || padding > 0) {
      return std::nullopt;
    }
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<char>((bits >> count) & 0xFF));
    }
  }
  return padding <= 2 && count < 6 ? std::optional(bytes) : std::nullopt;
}

}  // namespace mainstay
