#include "fault/rule.h"

#include <algorithm>

#include "fault/line_format.h"
#include "fault/pattern.h"
#include "fault/text.h"

namespace mainstay::fault {
namespace {

// "" means the same as absent.
Duration durationOf(const Cursor& cursor) {
  const bool empty = cursor.exists() && cursor.value().is_string() && cursor.value().get_string().empty();
  return empty ? Duration{} : cursor.duration(Duration{});
}

std::size_t bufferSizeOf(const Cursor& cursor) {
  const std::int64_t size = cursor.integer(0);
  if (size < 0 || size > static_cast<std::int64_t>(kMaxBufferSize)) {
    cursor.error("expected a number of lines from 0 (the default of 10) to " +
                 std::to_string(kMaxBufferSize) + ", found " + std::to_string(size));
  }
  return size <= 0 ? 10 : static_cast<std::size_t>(size);
}

void checkPattern(const Cursor& cursor, const std::string& pattern, LogMonitorConfig& config) {
  const auto compiled = Pattern::compile(pattern);
  if (!compiled) {
    cursor.error(compiled.error().message());
  } else if (compiled->looseAlternation()) {
    config.warnings.push_back(
        cursor.path() + ": only the last branch of \"" + pattern +
        "\" is tied to the end of the newest line, so the others match again on every new "
        "line; put the branches in parentheses");
  }
}

Rule readRule(const Cursor& cursor, LogMonitorConfig& config) {
  Rule rule;
  rule.id = ruleId(config.file, cursor);
  rule.permanent = readPermanent(cursor, config.warnings);
  rule.condition = field(cursor, "condition").string("");
  rule.reason = field(cursor, "reason").string("");
  rule.pattern = field(cursor, "pattern").string("");
  rule.messageSuffix = field(cursor, "patternGeneratedMessageSuffix").string("");
  checkPattern(field(cursor, "pattern"), rule.pattern, config);

  const RuleTraits traits = readTraits(cursor, ClearOn::kBoot);
  rule.faultClass = traits.faultClass;
  rule.action = traits.action;
  rule.clearOn = traits.clearOn;
  const Cursor device = field(cursor, "device");
  rule.device = device.string("");
  if (!rule.device.empty()) {
    if (const auto extractor = Extractor::compile(rule.device); !extractor) {
      device.error(extractor.error().message());
    }
  }
  return rule;
}

// With one key missing node-problem-detector goes on, and so do we; with an expression that does not compile it ends.
void checkLineFormat(const Cursor& plugin, LogMonitorConfig& config) {
  for (const char* key : {LineFormat::kTimestamp, LineFormat::kMessage, LineFormat::kTimeLayout}) {
    const std::string& value = config.pluginConfig[key];
    if (value.empty()) {
      config.warnings.push_back(plugin.at(key).path() + ": missing, so no line of " + config.logPath +
                                " will be understood");
    } else if (key != LineFormat::kTimeLayout) {
      if (const auto compiled = LastGroup::compile(value); !compiled) {
        plugin.at(key).error(compiled.error().message());
      }
    }
  }
}

// What a plugin cannot work without.
void checkPlugin(const Cursor& root, LogMonitorConfig& config) {
  const Cursor plugin = field(root, "pluginConfig");
  if (config.plugin == "journald" && config.pluginConfig[kJournalSource].empty()) {
    plugin.at(kJournalSource)
        .error(
            "expected the SYSLOG_IDENTIFIER of the program to watch, such as \"kubelet\", but it is missing");
  }
  if (config.plugin == "filelog") {
    if (config.logPath.empty()) {
      field(root, "logPath")
          .error("expected the file to watch, such as \"/var/log/messages\", but it is missing");
    }
    checkLineFormat(plugin, config);
  }
}

void warnOfUndeclaredConditions(LogMonitorConfig& config) {
  for (const Rule& rule : config.rules) {
    const bool declared =
        std::any_of(config.conditions.begin(), config.conditions.end(),
                    [&](const ConditionDefault& condition) { return condition.type == rule.condition; });
    if (rule.permanent && !declared) {
      config.warnings.push_back(rule.id + ": condition \"" + rule.condition +
                                "\" is not in \"conditions\", so this rule will never report anything");
    }
  }
}

}  // namespace

Result<LogMonitorConfig> parseLogMonitorConfig(std::string_view bytes, const std::string& file) {
  MAINSTAY_ASSIGN(const NpdDocument document, parseNpdJson(bytes, file));
  DecodeErrors errors = document.errors();
  const Cursor root(document.value, errors);

  LogMonitorConfig config;
  config.file = file;
  config.plugin = field(root, "plugin").string("");
  config.pluginPlace = document.places.find(field(root, "plugin").path());
  config.pluginConfig = field(root, "pluginConfig").stringMap();
  for (const Cursor& element : field(root, "skipList").elements()) {
    config.skipList.push_back(element.string());
  }
  config.logPath = field(root, "logPath").string("");
  checkPlugin(root, config);
  config.lookback = durationOf(field(root, "lookback"));
  config.delay = durationOf(field(root, "delay"));
  config.bufferSize = bufferSizeOf(field(root, "bufferSize"));
  config.source = field(root, "source").string("");
  config.metricsReporting = field(root, "metricsReporting").boolean(true);
  config.conditions = readConditions(root);
  for (const Cursor& element : field(root, "rules").elements()) {
    config.rules.push_back(readRule(element, config));
  }
  MAINSTAY_TRY(errors.result());
  warnOfUndeclaredConditions(config);
  return config;
}

}  // namespace mainstay::fault
