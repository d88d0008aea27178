// YAML as JSON values that remember where they stood in the file.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace mainstay {

struct YamlDocument {
  Json value;
  std::map<std::string, SourcePlace> places;  // by Cursor path: "spec.faults[0].match"
  std::string file;

  // Errors that print file:line:column: of the value, of its key when it holds others, or of the nearest
  // parent when it is missing.
  DecodeErrors errors() const;
};

// Reads every document of a stream (--- separated; empty ones are skipped). YAML 1.2 core scalars:
// true/false, null, integers, floats; everything quoted is a string. A key that stands twice is an error.
// Bounded: 1 MiB, 64 levels, no more than 10,000 nodes and 4 MiB after aliases are expanded. Errors name
// file, line and column.
Result<std::vector<YamlDocument>> parseYaml(std::string_view text, const std::string& file);

// Block style, two-space indent, for `-o yaml`.
std::string toYamlText(const Json& value);

}  // namespace mainstay
