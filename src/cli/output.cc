#include "cli/output.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/yaml.h"

namespace mainstay::cli {

std::vector<std::string> formatNames() {
  return {"text", "json", "yaml"};
}

Format parseFormat(const std::string& name) {
  return name == "json" ? Format::kJson : name == "yaml" ? Format::kYaml : Format::kText;
}

void print(std::ostream& out, Format format, const Json& document, const std::string& text) {
  switch (format) {
    case Format::kText:
      out << text;
      break;
    case Format::kJson:
      out << toPrettyText(document) << "\n";
      break;
    case Format::kYaml:
      out << toYamlText(document);
      break;
  }
  out.flush();
}

Palette Palette::ofTerminal(int descriptor) {
  const char* term = std::getenv("TERM");
  const bool dumb = !term || std::string_view(term) == "dumb";
  return Palette(isatty(descriptor) != 0 && !std::getenv("NO_COLOR") && !dumb);
}

std::string Palette::paint(Colour colour, const std::string& text) const {
  if (!on_ || colour == Colour::kPlain) {
    return text;
  }
  static constexpr const char* kCodes[] = {"0", "1", "2", "31", "32", "33", "34"};
  return std::string("\033[") + kCodes[static_cast<std::size_t>(colour)] + "m" + text + "\033[0m";
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], displayWidth(row[i]));
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += padded(row[i], widths[i]) + "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::size_t displayWidth(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width) {
  const std::size_t have = displayWidth(text);
  return have < width ? text + std::string(width - have, ' ') : text;
}

}  // namespace mainstay::cli
