#include "fault/line_format.h"

#include <algorithm>

#include "fault/text.h"

namespace mainstay::fault {
namespace {

std::string valueOf(const std::map<std::string, std::string>& config, const char* key) {
  const auto found = config.find(key);
  return found == config.end() ? "" : found->second;
}

Result<LastGroup> compileKey(const std::map<std::string, std::string>& config, const char* key) {
  auto compiled = LastGroup::compile(valueOf(config, key));
  if (!compiled) {
    return fail(std::move(compiled).error().with(key));
  }
  return compiled;
}

}  // namespace

Result<LineFormat> LineFormat::create(const std::map<std::string, std::string>& pluginConfig,
                                      std::vector<std::string> skipList) {
  MAINSTAY_ASSIGN(LastGroup timestamp, compileKey(pluginConfig, kTimestamp));
  MAINSTAY_ASSIGN(LastGroup message, compileKey(pluginConfig, kMessage));
  return LineFormat(std::move(timestamp), std::move(message), TimeLayout(valueOf(pluginConfig, kTimeLayout)),
                    std::move(skipList));
}

LineFormat::LineFormat(LastGroup timestamp, LastGroup message, TimeLayout layout,
                       std::vector<std::string> skipList)
    : timestamp_(std::move(timestamp)),
      message_(std::move(message)),
      layout_(std::move(layout)),
      skipList_(std::move(skipList)) {}

bool LineFormat::skips(std::string_view line) const {
  return std::ranges::any_of(skipList_,
                             [&](const std::string& text) { return line.find(text) != line.npos; });
}

Result<Record> LineFormat::read(std::string_view line, TimePoint now) const {
  const std::string text = sanitizeUtf8(line);
  const auto message = message_.find(text);  // first: most lines of a shared log are none of this monitor's
  if (!message) {
    return fail(Code::kInvalidArgument, "\"message\" does not match");
  }
  const auto timestamp = timestamp_.find(text);
  if (!timestamp) {
    return fail(Code::kInvalidArgument, "\"timestamp\" does not match");
  }
  const auto time = layout_.parse(*timestamp, now);
  if (!time) {
    return fail(Code::kInvalidArgument,
                "\"" + std::string(*timestamp) + "\" is not a time in the form of \"timestampFormat\"");
  }
  Record record;
  record.time = *time;
  record.priority = kUserPriority;
  record.text = *message;
  return record;
}

}  // namespace mainstay::fault
