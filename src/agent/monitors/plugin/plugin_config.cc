#include "agent/monitors/plugin/plugin_config.h"

#include <algorithm>

namespace mainstay::agent {
namespace {

using fault::field;

Duration positive(const Cursor& cursor, Duration fallback, const char* otherwise) {
  const Duration span = cursor.duration(fallback);
  if (span > Duration(0)) {
    return span;
  }
  cursor.error("expected more than 0, found \"" + cursor.string() + "\": " + otherwise);
  return fallback;
}

std::size_t within(const Cursor& cursor, std::size_t fallback, std::size_t least, std::size_t most) {
  const auto number = cursor.integer(static_cast<std::int64_t>(fallback));
  if (number < static_cast<std::int64_t>(least) || number > static_cast<std::int64_t>(most)) {
    cursor.error("expected a number from " + std::to_string(least) + " to " + std::to_string(most) +
                 ", found " + std::to_string(number));
    return fallback;
  }
  return static_cast<std::size_t>(number);
}

// What a rule may have of its own, else the file says.
struct RuleDefaults {
  Duration timeout{};
  Duration interval{};
};

constexpr char kNeverRuns[] = "a check cannot run at an interval of no time";
constexpr char kKilledAtOnce[] = "every check would be killed as soon as it starts";

RuleDefaults readGlobals(const Cursor& globals, PluginConfig& config) {
  config.maxOutput = within(field(globals, "max_output_length"), config.maxOutput, 0, 1 << 20);
  config.concurrency = within(field(globals, "concurrency"), config.concurrency, 1, kMaxConcurrency);
  config.messageChanges =
      field(globals, "enable_message_change_based_condition_update").boolean(config.messageChanges);
  config.skipInitialStatus = field(globals, "skip_initial_status").boolean(config.skipInitialStatus);
  return {positive(field(globals, "timeout"), std::chrono::seconds(5), kKilledAtOnce),
          positive(field(globals, "invoke_interval"), std::chrono::seconds(30), kNeverRuns)};
}

void checkTimeout(const Cursor& cursor, Duration timeout, Duration most) {
  if (timeout > most) {
    cursor.error("expected at most pluginConfig.timeout (" + formatDuration(most) + "), found \"" +
                 cursor.string() + "\"; raise that one, or lower this");
  }
}

void checkPath(const Cursor& cursor, const std::string& path, const FileSystem& files) {
  if (path.empty() || !files.exists(path)) {
    cursor.error("there is no file \"" + path + "\"; a relative path starts at the agent's working folder");
  }
}

// A rule whose type is misspelt is accepted by node-problem-detector, and never tells anything.
void checkCondition(const Cursor& rule, const std::string& type, PluginConfig& config) {
  if (std::ranges::any_of(config.conditions, [&](const auto& condition) { return condition.type == type; })) {
    return;
  }
  const Cursor cursor = field(rule, "condition");
  const std::string what = "\"" + type + "\" is not in \"conditions\", where its healthy state is told";
  if (field(rule, "type").string("") == "permanent") {
    cursor.error(what);
  } else {
    config.warnings.push_back(cursor.path() + ": " + what + ", so this rule will never report anything");
  }
}

PluginRule readRule(const Cursor& cursor, const RuleDefaults& defaults, const FileSystem& files,
                    PluginConfig& config) {
  PluginRule rule;
  rule.id = fault::ruleId(config.file, cursor);
  rule.permanent = fault::readPermanent(cursor, config.warnings);
  rule.condition = field(cursor, "condition").string("");
  rule.reason = field(cursor, "reason").string("");
  rule.path = field(cursor, "path").string("");
  for (const Cursor& argument : field(cursor, "args").elements()) {
    rule.args.push_back(argument.string());
  }
  const Cursor timeout = field(cursor, "timeout");
  rule.timeout = positive(timeout, defaults.timeout, kKilledAtOnce);
  checkTimeout(timeout, rule.timeout, defaults.timeout);
  rule.interval = positive(field(cursor, "invoke_interval"), defaults.interval, kNeverRuns);
  checkPath(field(cursor, "path"), rule.path, files);
  // A check's OK is the evidence.
  rule.traits = fault::readTraits(cursor, fault::ClearOn::kEvidence);
  if (rule.permanent) {
    checkCondition(cursor, rule.condition, config);
  }
  return rule;
}

}  // namespace

Result<PluginConfig> parsePluginConfig(std::string_view text, const std::string& file,
                                       const FileSystem& files) {
  MAINSTAY_ASSIGN(const fault::NpdDocument document, fault::parseNpdJson(text, file));
  DecodeErrors errors = document.errors();
  const Cursor root(document.value, errors);

  PluginConfig config;
  config.file = file;
  const Cursor plugin = field(root, "plugin");
  if (const std::string name = plugin.string(""); name != "custom") {
    plugin.error("expected \"custom\", found \"" + name + "\"");
  }
  const RuleDefaults defaults = readGlobals(field(root, "pluginConfig"), config);
  config.source = field(root, "source").string("");
  config.metricsReporting = field(root, "metricsReporting").boolean(true);
  config.conditions = fault::readConditions(root);
  for (const Cursor& element : field(root, "rules").elements()) {
    config.rules.push_back(readRule(element, defaults, files, config));
  }
  MAINSTAY_TRY(errors.result());
  if (config.rules.empty()) {
    config.warnings.push_back("rules: there is none, so this file checks nothing");
  }
  return config;
}

}  // namespace mainstay::agent
