#include "fault/text.h"

#include <algorithm>
#include <charconv>

namespace mainstay::fault {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const std::size_t begin = text.find_first_not_of(kSpace);
  return begin == std::string_view::npos ? std::string_view()
                                         : text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string quoteLikeGo(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::string_view kNamed = "\a\b\f\n\r\t\v\\\"";
  constexpr std::string_view kNames = "abfnrtv\\\"";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (const std::size_t named = kNamed.find(c); named != std::string_view::npos) {
      out += {'\\', kNames[named]};
    } else if (byte < 0x20 || byte == 0x7F) {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string decodeKernelEscapes(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    unsigned byte = 0;
    const char* digits = text.data() + i + 2;
    const bool escape = text.substr(i).starts_with("\\x") && i + 4 <= text.size() &&
                        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    out += escape ? static_cast<char>(byte) : text[i];
    i += escape ? 4 : 1;
  }
  return sanitizeUtf8(out);
}

std::string normalPciAddress(std::string_view address) {
  std::string out(address);
  std::ranges::transform(out, out.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const auto colons = std::ranges::count(out, ':');
  if (colons == 0 || colons > 2) {
    return out;
  }
  if (colons == 1) {
    out.insert(0, "0000:");
  }
  const std::size_t domain = out.find(':');
  if (domain > 4) {  // some programs write eight digits
    const std::size_t zeros = std::min(out.find_first_not_of('0'), domain - 4);
    out.erase(0, zeros);
  }
  return out.find('.') == std::string::npos ? out + ".0" : out;
}

bool equalsIgnoringCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace mainstay::fault
