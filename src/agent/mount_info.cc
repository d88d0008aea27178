#include "agent/mount_info.h"

#include <algorithm>
#include <vector>

namespace mainstay::agent {
namespace {

std::string withoutEscapes(std::string_view text) {
  std::string plain;
  const auto isOctal = [](char c) { return c >= '0' && c <= '7'; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view digits = text.substr(i + 1, 3);
    if (text[i] == '\\' && digits.size() == 3 && std::ranges::all_of(digits, isOctal)) {
      plain += static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + (digits[2] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// Between single blanks: a source may be empty.
std::vector<std::string_view> fieldsOf(std::string_view line) {
  std::vector<std::string_view> fields;
  while (!line.empty()) {
    const std::string_view field = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(line.size(), field.size() + 1));
    fields.push_back(field);
  }
  return fields;
}

}  // namespace

std::optional<MountLine> parseMountLine(std::string_view line) {
  const auto fields = fieldsOf(line);
  const auto dash = std::ranges::find(fields, "-");
  if (dash - fields.begin() < 6 || fields.end() - dash < 4) {
    return std::nullopt;
  }
  return MountLine{.number = std::string(fields[2]),
                   .root = std::string(fields[3]),
                   .point = withoutEscapes(fields[4]),
                   .options = std::string(fields[5]),
                   .type = std::string(dash[1]),
                   .source = withoutEscapes(dash[2]),
                   .superOptions = std::string(dash[3])};
}

}  // namespace mainstay::agent
