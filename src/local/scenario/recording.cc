#include "local/scenario/recording.h"

#include <cstdio>

namespace mainstay::local {

void World::apply(const Entry& entry) {
  Things& things = things_[entry.kind];
  if (entry.after) {
    things[entry.key] = entry.after.get();
  } else if (entry.kind != "events") {  // one that has expired has happened all the same
    things.erase(entry.key);
  }
}

const World::Things& World::all(std::string_view kind) const {
  static const Things none;
  const auto at = things_.find(kind);
  return at == things_.end() ? none : at->second;
}

const Json* World::find(std::string_view kind, const std::string& key) const {
  const Things& things = all(kind);
  const auto at = things.find(key);
  return at == things.end() ? nullptr : at->second;
}

std::string flowText(const Json& value) {
  const auto joined = [](const auto& parts, const auto& show) {
    std::string text;
    for (const auto& part : parts) {
      text += (text.empty() ? "" : ", ") + show(part);
    }
    return text;
  };
  if (value.is_object()) {
    const auto member = [](const auto& pair) {
      return std::string(pair.key()) + ": " + flowText(pair.value());
    };
    return "{" + joined(value.get_object(), member) + "}";
  }
  if (value.is_array()) {
    return "[" + joined(value.get_array(), [](const Json& element) { return flowText(element); }) + "]";
  }
  return value.is_string() ? std::string(value.get_string()) : toText(value);
}

std::string sinceZero(const Recording& recording, TimePoint at) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", static_cast<double>((at - recording.zero).count()) / 1e6);
  return text;
}

}  // namespace mainstay::local
