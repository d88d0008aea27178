#include "agent/monitors/plugin/plugin_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

Result<PluginConfig> parse(std::string_view text) {
  return parsePluginConfig(text, "config/ntp.json",
                           FakeFileSystem(std::map<std::string, std::string>{{"/check", ""}}));
}

std::string errorOf(std::string_view text) {
  const auto config = parse(text);
  return config ? "" : config.error().toString();
}

TEST(PluginConfigTest, DefaultsAreThoseOfNodeProblemDetector) {
  const auto config = parse(R"({"plugin": "custom", "conditions": [{"type": "T"}],
                                "rules": [{"type": "permanent", "condition": "T", "path": "/check"}]})");
  ASSERT_TRUE(config) << config.error().toString();
  EXPECT_EQ(config->maxOutput, 80u);
  EXPECT_EQ(config->concurrency, 3u);
  EXPECT_FALSE(config->messageChanges);
  EXPECT_FALSE(config->skipInitialStatus);
  EXPECT_TRUE(config->metricsReporting);
  EXPECT_EQ(config->rules[0].timeout, 5s);
  EXPECT_EQ(config->rules[0].interval, 30s);
  EXPECT_EQ(config->rules[0].traits.clearOn, fault::ClearOn::kEvidence);
  EXPECT_TRUE(config->warnings.empty());
}

TEST(PluginConfigTest, ReadsEveryKey) {
  const auto config = parse(R"({
    "plugin": "custom",
    "pluginConfig": {"invoke_interval": "1m", "timeout": "10s", "max_output_length": 200, "concurrency": 1,
                     "enable_message_change_based_condition_update": true, "skip_initial_status": true},
    "source": "ntp-monitor",
    "metricsReporting": false,
    "conditions": [{"type": "NTPProblem", "reason": "NTPIsUp", "message": "ntp service is up"}],
    "rules": [
      {"type": "temporary", "reason": "NTPIsDown", "path": "/check"},
      {"type": "permanent", "condition": "NTPProblem", "reason": "NTPIsDown", "path": "/check", "args": ["-v", "a b"],
       "timeout": "3s", "invoke_interval": "1h30m", "class": "time", "action": "reboot", "clearOn": "boot"}]})");
  ASSERT_TRUE(config) << config.error().toString();
  EXPECT_EQ(config->source, "ntp-monitor");
  EXPECT_EQ(config->maxOutput, 200u);
  EXPECT_EQ(config->concurrency, 1u);
  EXPECT_TRUE(config->messageChanges);
  EXPECT_TRUE(config->skipInitialStatus);
  EXPECT_FALSE(config->metricsReporting);
  EXPECT_EQ(config->conditions[0].message, "ntp service is up");
  const PluginRule& temporary = config->rules[0];
  EXPECT_FALSE(temporary.permanent);
  EXPECT_EQ(temporary.timeout, 10s);
  EXPECT_EQ(temporary.interval, 1min);
  const PluginRule& permanent = config->rules[1];
  EXPECT_EQ(permanent.id, "ntp.json#rules[1]");
  EXPECT_TRUE(permanent.permanent);
  EXPECT_EQ(permanent.condition, "NTPProblem");
  EXPECT_EQ(permanent.reason, "NTPIsDown");
  EXPECT_EQ(permanent.args, (std::vector<std::string>{"-v", "a b"}));
  EXPECT_EQ(permanent.timeout, 3s);
  EXPECT_EQ(permanent.interval, 90min);
  EXPECT_EQ(permanent.traits.faultClass, "time");
  EXPECT_EQ(permanent.traits.action, fault::RepairAction::kReboot);
  EXPECT_EQ(permanent.traits.clearOn, fault::ClearOn::kBoot);
}

TEST(PluginConfigTest, ReadsJsonAsGoDoes) {
  EXPECT_EQ(parse(R"({"Plugin": "custom", "PLUGINCONFIG": {"Concurrency": 2, "unknown": []}})")->concurrency,
            2u);
  EXPECT_EQ(parse(R"({"plugin": "kmsg", "plugin": "custom", "rules": null})")->rules.size(), 0u);
  EXPECT_NE(errorOf(R"({"plugin": "custom",})"), "");
}

// A rule as the last of a file that is otherwise right.
std::string withRule(const std::string& rule) {
  return R"({"plugin": "custom", "conditions": [{"type": "T"}], "rules": [)" + rule + "]}";
}
std::string withGlobals(const std::string& globals) {
  return R"({"plugin": "custom", "pluginConfig": {)" + globals + "}}";
}

TEST(PluginConfigTest, RefusesWhatNodeProblemDetectorRefuses) {
  const struct {
    std::string text;
    const char* says;
  } kCases[] = {
      {R"({"plugin": "kmsg"})", "config/ntp.json:1:12: plugin: expected \"custom\", found \"kmsg\""},
      {R"({})", "plugin: expected \"custom\", found \"\""},
      {withGlobals(R"("invoke_interval": "0s")"), "pluginConfig.invoke_interval: expected more than 0"},
      {withGlobals(R"("invoke_interval": "")"), "pluginConfig.invoke_interval: \"\" is not a duration"},
      {withGlobals(R"("timeout": "5")"), "pluginConfig.timeout: \"5\" is not a duration"},
      {withGlobals(R"("max_output_length": "80")"), "max_output_length: expected an integer"},
      {withRule(R"({"type": "temporary", "path": "/check", "invoke_interval": "0"})"),
       "rules[0].invoke_interval: expected more than 0, found \"0\""},
      {withRule(R"({"type": "temporary", "path": "/check", "invoke_interval": "-1s"})"),
       "rules[0].invoke_interval: expected more than 0, found \"-1s\""},
      {withRule(R"({"type": "temporary", "path": "/check", "invoke_interval": "often"})"),
       "rules[0].invoke_interval: \"often\" is not a duration"},
      {withRule(R"({"type": "temporary", "path": "/check", "timeout": "6s"})"),
       "rules[0].timeout: expected at most pluginConfig.timeout (5s), found \"6s\""},
      {withRule(R"({"type": "temporary", "path": "/gone"})"), "rules[0].path: there is no file \"/gone\""},
      {withRule(R"({"type": "temporary"})"), "rules[0].path: there is no file \"\""},
      {withRule(R"({"type": "permanent", "condition": "U", "path": "/check"})"),
       "rules[0].condition: \"U\" is not in \"conditions\""},
      {withRule(R"({"type": "temporary", "path": "/check", "args": "-v"})"),
       "rules[0].args: expected a list"},
      {withRule("null"), "rules[0].path"}};
  for (const auto& test : kCases) {
    EXPECT_THAT(errorOf(test.text), HasSubstr(test.says)) << test.text;
  }
}

TEST(PluginConfigTest, RefusesValuesByWhichNoCheckCouldWork) {
  for (const char* globals : {R"("concurrency": 0)", R"("concurrency": -1)", R"("concurrency": 1001)",
                              R"("max_output_length": -1)", R"("timeout": "0s")", R"("timeout": "-1s")"}) {
    EXPECT_THAT(errorOf(withGlobals(globals)), HasSubstr("config/ntp.json:1:")) << globals;
  }
  EXPECT_THAT(errorOf(withRule(R"({"type": "temporary", "path": "/check", "timeout": "0"})")),
              HasSubstr("rules[0].timeout: expected more than 0"));
}

TEST(PluginConfigTest, ReportsEachMistakeOnceAndAllTogether) {
  const std::string errors = errorOf(R"({"plugin": "x", "pluginConfig": {"timeout": "0s", "concurrency": 0},
    "rules": [{"type": "temporary", "path": "/check"}, {"type": "temporary", "path": "/gone", "action": "explode"}]})");
  EXPECT_EQ(std::ranges::count(errors, '\n') + 1, 5) << errors;
  for (const char* part : {"plugin:", "pluginConfig.timeout", "pluginConfig.concurrency", "rules[1].path",
                           "rules[1].action: expected none, "}) {
    EXPECT_THAT(errors, HasSubstr(part));
  }
}

TEST(PluginConfigTest, WarnsOfWhatIsAcceptedButProbablyAMistake) {
  const auto config = parse(withRule(R"({"type": "temporry", "path": "/check"})"));
  ASSERT_TRUE(config) << config.error().toString();
  ASSERT_EQ(config->warnings.size(), 2u);
  EXPECT_THAT(config->warnings[0], HasSubstr("taken as permanent"));
  EXPECT_THAT(config->warnings[1], HasSubstr("will never report anything"));
  EXPECT_THAT(parse(R"({"plugin": "custom"})")->warnings[0], HasSubstr("checks nothing"));
}

}  // namespace
}  // namespace mainstay::agent
