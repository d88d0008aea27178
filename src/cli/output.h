// What commands print: tables that line up, colours only on a terminal, and the same data as JSON or YAML.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/json.h"

namespace mainstay::cli {

enum class Format { kText, kJson, kYaml };

// Choices of every command's `-o`.
std::vector<std::string> formatNames();  // text json yaml
Format parseFormat(const std::string& name);

// Prints a document in the format asked for; `text` is what people get.
void print(std::ostream& out, Format format, const Json& document, const std::string& text);

enum class Colour { kPlain, kBold, kDim, kRed, kGreen, kYellow, kBlue };

// Paints only when the stream is a terminal, NO_COLOR is unset and TERM is not "dumb": colour is never the
// only carrier of meaning.
class Palette {
 public:
  explicit Palette(bool on) : on_(on) {}
  static Palette ofTerminal(int descriptor);
  std::string paint(Colour colour, const std::string& text) const;

 private:
  bool on_;
};

// Columns as wide as their widest cell (in characters, not bytes), two spaces between, no trailing spaces.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Characters of UTF-8 text, as a terminal counts them for the texts that we print.
std::size_t displayWidth(std::string_view text);
std::string padded(const std::string& text, std::size_t width);

}  // namespace mainstay::cli
