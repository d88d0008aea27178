#include "fault/rule.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "fault/json_places.h"

namespace mainstay::fault {
namespace {

using namespace std::chrono_literals;

std::string errorOf(std::string_view text) {
  const auto config = parseLogMonitorConfig(text, "config/kernel-monitor.json");
  return config ? "" : config.error().toString();
}

constexpr char kSmall[] = R"json({
  "plugin": "kmsg",
  "pluginConfig": {"Key": "value"},
  "logPath": "/dev/kmsg",
  "lookback": "5m",
  "delay": "1m30s",
  "bufferSize": 3,
  "source": "kernel-monitor",
  "metricsReporting": false,
  "skipList": ["audit:"],
  "conditions": [{"type": "NeuronHealth", "reason": "NeuronHasNoError", "message": "Neuron has no error"}],
  "rules": [
    {"type": "temporary", "reason": "Oops", "pattern": "BUG: .*", "patternGeneratedMessageSuffix": "see the log"},
    {"type": "permanent", "condition": "NeuronHealth", "reason": "Dma", "pattern": ".* DMA .*",
     "class": "neuron", "action": "replace", "clearOn": "instance", "device": "nd-id=(\\d+)"
}
  ]
  })json";

TEST(LogMonitorConfigTest, ReadsEveryKey) {
  const auto config = parseLogMonitorConfig(kSmall, "config/kernel-monitor.json");
  ASSERT_TRUE(config) << config.error().toString();
  EXPECT_EQ(config->plugin, "kmsg");
  EXPECT_EQ(config->pluginConfig.at("Key"), "value");
  EXPECT_EQ(config->lookback, 5min);
  EXPECT_EQ(config->delay, 90s);
  EXPECT_EQ(config->bufferSize, 3u);
  EXPECT_FALSE(config->metricsReporting);
  EXPECT_EQ(config->skipList, std::vector<std::string>{"audit:"});
  ASSERT_EQ(config->conditions.size(), 1u);
  EXPECT_EQ(config->conditions[0].message, "Neuron has no error");
  ASSERT_EQ(config->rules.size(), 2u);
  EXPECT_FALSE(config->rules[0].permanent);
  EXPECT_EQ(config->rules[0].messageSuffix, "see the log");
  EXPECT_EQ(config->rules[0].clearOn, ClearOn::kBoot);
  EXPECT_TRUE(config->rules[1].permanent);
  EXPECT_EQ(config->rules[1].id, "kernel-monitor.json#rules[1]");
  EXPECT_EQ(config->rules[1].action, RepairAction::kReplace);
  EXPECT_EQ(config->rules[1].clearOn, ClearOn::kInstance);
  EXPECT_TRUE(config->warnings.empty());
}

TEST(LogMonitorConfigTest, DefaultsAreThoseOfNodeProblemDetector) {
  const auto config = parseLogMonitorConfig(R"({"lookback": "", "delay": "", "bufferSize": 0})", "f");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->bufferSize, 10u);
  EXPECT_EQ(config->lookback, 0s);
  EXPECT_TRUE(config->metricsReporting);
}

TEST(LogMonitorConfigTest, ReadsJsonAsGoDoes) {
  EXPECT_EQ(parseLogMonitorConfig(R"({"PLUGIN": "kmsg", "unknown": [1]})", "f")->plugin, "kmsg");
  EXPECT_EQ(parseLogMonitorConfig(R"({"plugin": "a", "plugin": "b"})", "f")->plugin, "b");
  EXPECT_EQ(parseLogMonitorConfig(R"({"plugin": "a", "Plugin": "b"})", "f")->plugin, "b");
  EXPECT_EQ(parseLogMonitorConfig(R"({"plugin": "a", "rules": null})", "f")->plugin, "a");
  EXPECT_NE(errorOf("{\"plugin\": \"a\",}"), "");
  EXPECT_NE(errorOf("\xEF\xBB\xBF{}"), "");
  EXPECT_NE(errorOf("{} {}"), "");
  EXPECT_NE(errorOf(""), "");
}

TEST(LogMonitorConfigTest, BytesThatAreNotUtf8AreReplacedAsInGo) {
  EXPECT_EQ(parseLogMonitorConfig("{\"source\": \"caf\xe9\"}", "f")->source, "caf\xEF\xBF\xBD");
}

TEST(LogMonitorConfigTest, HalfASurrogatePairIsReplacedAsInGo) {
  const std::string bad = "\xEF\xBF\xBD";
  const auto source = [](const std::string& text) {
    const auto config = parseLogMonitorConfig("{\"source\": \"" + text + "\"}", "f");
    return config ? config->source : config.error().toString();
  };
  EXPECT_EQ(source(R"(a\ud800b)"), "a" + bad + "b");
  EXPECT_EQ(source(R"(\uDC00)"), bad);
  EXPECT_EQ(source(R"(\ud83d\ude00)"), "\xF0\x9F\x98\x80");
  EXPECT_EQ(source(R"(\ud83d\ud83d\ude00)"), bad + "\xF0\x9F\x98\x80");
  EXPECT_EQ(source(R"(\ude00\ud83d\u0041)"), bad + bad + "A");
  EXPECT_EQ(source(R"(\\ud800)"), "\\ud800") << "an escaped backslash";
  EXPECT_NE(source(R"(\ud8)").find("f:1:"), std::string::npos);
}

TEST(LogMonitorConfigTest, AWrongTypeIsAnErrorAndNullIsAbsent) {
  for (const char* text :
       {R"({"plugin": 1})", R"({"pluginConfig": {"a": 1}})", R"({"pluginConfig": []})",
        R"({"skipList": "a"})", R"({"logPath": {}})", R"({"lookback": 5})", R"({"bufferSize": 3.5})",
        R"({"metricsReporting": "true"})", R"({"conditions": {}})", R"({"conditions": [1]})",
        R"({"rules": [{"pattern": 1}]})", "[]", "1"}) {
    EXPECT_NE(errorOf(text), "") << text;
  }
  EXPECT_EQ(
      errorOf(R"({"plugin": null, "pluginConfig": null, "skipList": null, "bufferSize": null, "rules": null,
    "lookback": null, "metricsReporting": null, "conditions": null})"),
      "");
  EXPECT_EQ(errorOf("null"), "");
}

TEST(LogMonitorConfigTest, DurationsAreThoseOfGo) {
  const auto lookback = [](const std::string& text) {
    const auto config = parseLogMonitorConfig(R"({"lookback": ")" + text + "\"}", "f");
    return config ? std::optional(config->lookback) : std::nullopt;
  };
  EXPECT_EQ(lookback("1h30m"), 90min);
  EXPECT_EQ(lookback("1.5h"), 90min);
  EXPECT_EQ(lookback("0"), 0s);
  for (const char* wrong : {"abc", "5", "5 m", "1d", "m"}) {
    EXPECT_FALSE(lookback(wrong)) << wrong;
  }
  EXPECT_NE(errorOf(R"({"delay": "abc"})"), "");
}

TEST(LogMonitorConfigTest, AsksForWhatAPluginCannotDoWithout) {
  EXPECT_EQ(errorOf(R"({"plugin": "journald", "pluginConfig": {"Source": "kubelet"}})"),
            "config/kernel-monitor.json:1:40: pluginConfig.source: expected the SYSLOG_IDENTIFIER of the "
            "program to "
            "watch, such as \"kubelet\", but it is missing")
      << "keys of a map are not a matter of taste";
  EXPECT_NE(errorOf(R"({"plugin": "filelog"})").find("logPath: expected the file to watch"),
            std::string::npos);
  const std::string wrong =
      errorOf("{\"plugin\": \"filelog\", \"logPath\": \"/f\",\n \"pluginConfig\": {\"message\": \"(\"}}");
  EXPECT_TRUE(wrong.starts_with("config/kernel-monitor.json:2:30: pluginConfig.message: missing )")) << wrong;
}

TEST(LogMonitorConfigTest, AFileLogWithoutAllItsKeysIsAcceptedWithAWarning) {
  const auto config = parseLogMonitorConfig(
      R"({"plugin": "filelog", "logPath": "/f", "pluginConfig": {"message": ".*"}})", "f");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->warnings,
            (std::vector<std::string>{
                "pluginConfig.timestamp: missing, so no line of /f will be understood",
                "pluginConfig.timestampFormat: missing, so no line of /f will be understood"}));
}

TEST(LogMonitorConfigTest, ErrorsNameFileLineColumnAndPath) {
  EXPECT_EQ(errorOf("{\n  \"bufferSize\": \"3\"\n}"),
            "config/kernel-monitor.json:2:17: bufferSize: expected an integer, found a string");
  const std::string pattern =
      errorOf("{\n \"rules\": [\n  {\"type\": \"temporary\", \"Pattern\": \"(?P<gpu>Xid.*\"}\n]}");
  EXPECT_TRUE(pattern.starts_with("config/kernel-monitor.json:3:36: rules[0].Pattern: missing")) << pattern;
  EXPECT_NE(pattern.find("(?P<gpu>Xid.*"), std::string::npos) << pattern;
  EXPECT_EQ(pattern.find("\\z"), std::string::npos)
      << "our own anchor is not the user's business: " << pattern;
}

TEST(LogMonitorConfigTest, ReportsAllMistakesAtOnce) {
  const std::string errors = errorOf(R"({"lookback": "5", "rules": [{"reason": 1}, 7,
    {"type": "permanent", "action": "explode", "clearOn": "x", "device": "a"}], "bufferSize": -1})");
  for (const char* part : {"lookback", "rules[0].reason", "rules[1]", "rules[2].action: expected none, ",
                           "rules[2].clearOn: expected evidence, boot or instance, found \"x\"",
                           "rules[2].device: expected exactly one group", "bufferSize"}) {
    EXPECT_NE(errors.find(part), std::string::npos) << part << " in " << errors;
  }
}

TEST(LogMonitorConfigTest, WarnsOfWhatIsAcceptedButProbablyAMistake) {
  const auto config = parseLogMonitorConfig(
      R"({"rules": [{"type": "x", "condition": "Unknown", "reason": "r", "pattern": "a|b"}]})", "dir/f.json");
  ASSERT_TRUE(config);
  ASSERT_EQ(config->warnings.size(), 3u);
  EXPECT_NE(config->warnings[0].find("taken as permanent"), std::string::npos);
  EXPECT_NE(config->warnings[1].find("only the last branch of \"a|b\""), std::string::npos);
  EXPECT_NE(config->warnings[2].find("f.json#rules[0]: condition \"Unknown\""), std::string::npos);
}

TEST(ShippedRulesTest, ParseWithoutWarningsAndAreInCanonicalForm) {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(MAINSTAY_SOURCE_DIR "/rules")) {
    if (entry.path().extension() != ".json") {
      continue;
    }
    std::ifstream stream(entry.path());
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    EXPECT_EQ(text, toPrettyText(*parseJson(text)) + "\n") << entry.path();
    const std::string plugin = findString(*parseJson(text), "plugin");
    if (plugin != "kmsg" && plugin != "journald" && plugin != "filelog") {
      continue;  // the config of another kind of monitor
    }
    ++files;
    const auto config = parseLogMonitorConfig(text, entry.path());
    ASSERT_TRUE(config) << config.error().toString();
    EXPECT_TRUE(config->warnings.empty()) << config->warnings.front();
  }
  EXPECT_GE(files, 16);
}

TEST(JsonPlacesTest, FindsValuesAndTheNearestHolderOfMissingOnes) {
  const JsonPlaces places("{\"a\": [1, {\"b\\u0041\": \"x\\\"]\"},\n [ ] ], \"c\": {}}");
  const auto at = [&](const char* path) {
    const SourcePlace place = places.find(path);
    return std::to_string(place.line) + ":" + std::to_string(place.column);
  };
  EXPECT_EQ(at(""), "1:1");
  EXPECT_EQ(at("a"), "1:7");
  EXPECT_EQ(at("a[0]"), "1:8");
  EXPECT_EQ(at("a[1].bA"), "1:23");
  EXPECT_EQ(at("a[2]"), "2:2");
  EXPECT_EQ(at("c"), "2:14");
  EXPECT_EQ(at("c.missing[3].deep"), "2:14");
}

}  // namespace
}  // namespace mainstay::fault
