#include "fault/json_places.h"

namespace mainstay::fault {

JsonPlaces::JsonPlaces(std::string_view text) : text_(text) {
  scanValue("");
  text_ = {};
}

SourcePlace JsonPlaces::find(std::string path) const {
  auto found = places_.find(path);
  while (found == places_.end() && !path.empty()) {
    const std::size_t parent = path.find_last_of(".[");
    path.resize(parent == std::string::npos ? 0 : parent);
    found = places_.find(path);
  }
  return found == places_.end() ? SourcePlace{} : found->second;
}

void JsonPlaces::scanValue(const std::string& path) {
  skipSpace();
  places_[path] = here_;
  if (peek() == '{') {
    scanObject(path);
  } else if (peek() == '[') {
    scanArray(path);
  } else if (peek() == '"') {
    scanString();
  } else {
    while (at_ < text_.size() && std::string_view(",]} \t\r\n").find(peek()) == std::string_view::npos) {
      advance();
    }
  }
}

void JsonPlaces::scanObject(const std::string& path) {
  advance();
  for (skipSpace(); peek() == '"'; skipSpace()) {
    const std::string_view quoted = scanString();
    const auto key = parseJson(quoted);
    skipSpace();
    advance();  // the colon
    const std::string name = key && key->is_string() ? std::string(key->get_string()) : std::string(quoted);
    scanValue(path.empty() ? name : path + "." + name);
    skipSpace();
    if (peek() == ',') {
      advance();
    }
  }
  advance();  // the brace
}

void JsonPlaces::scanArray(const std::string& path) {
  advance();
  skipSpace();
  for (std::size_t index = 0; at_ < text_.size() && peek() != ']'; ++index) {
    scanValue(path + "[" + std::to_string(index) + "]");
    skipSpace();
    if (peek() == ',') {
      advance();
    }
  }
  advance();  // the bracket
}

// With its quotes.
std::string_view JsonPlaces::scanString() {
  const std::size_t begin = at_;
  advance();
  while (at_ < text_.size() && peek() != '"') {
    if (peek() == '\\') {
      advance();
    }
    advance();
  }
  advance();
  return text_.substr(begin, at_ - begin);
}

void JsonPlaces::skipSpace() {
  while (at_ < text_.size() && std::string_view(" \t\r\n").find(peek()) != std::string_view::npos) {
    advance();
  }
}

void JsonPlaces::advance() {
  if (at_ < text_.size()) {
    here_.column = peek() == '\n' ? 1 : here_.column + 1;
    here_.line += peek() == '\n' ? 1 : 0;
    ++at_;
  }
}

}  // namespace mainstay::fault
