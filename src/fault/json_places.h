// JsonPlaces: where each value of a JSON text stands, so that an error names line and column.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json.h"

namespace mainstay::fault {

class JsonPlaces {
 public:
  // REQUIRES: parseJson accepts the text.
  explicit JsonPlaces(std::string_view text);

  // Of the value at a Cursor's path ("rules[3].pattern"); where there is none, of the nearest value that
  // would hold it.
  SourcePlace find(std::string path) const;

 private:
  void scanValue(const std::string& path);
  void scanObject(const std::string& path);
  void scanArray(const std::string& path);
  std::string_view scanString();
  void skipSpace();
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void advance();

  std::string_view text_;  // only while the constructor runs
  std::size_t at_ = 0;
  SourcePlace here_{1, 1};
  std::map<std::string, SourcePlace> places_;
};

}  // namespace mainstay::fault
