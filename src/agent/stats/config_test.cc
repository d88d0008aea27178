#include "agent/stats/config.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "agent/stats/collectors.h"
#include "base/json.h"

namespace mainstay::agent::stats {
namespace {

using namespace std::chrono_literals;

std::string errorOf(std::string_view text) {
  const auto config = parseStatsConfig(text, "config/stats.json");
  return config ? "" : config.error().toString();
}

TEST(StatsConfigTest, ReadsEveryKeyAndKeepsWhatHasAName) {
  const auto config = parseStatsConfig(R"json({
    "cpu": {"metricsConfigs": {"cpu/load_1m": {"displayName": "load"}, "cpu/load_5m": {"displayName": ""},
                               "cpu/load_15m": {}}},
    "disk": {"includeRootBlk": true, "includeAllAttachedBlk": true, "lsblkTimeout": "7s",
             "metricsConfigs": {"disk/io_time": {"displayName": "disk/io_time"}}},
    "osFeature": {"KnownModulesConfigPath": "modules.json", "metricsConfigs": {}},
    "net": {"excludeInterfaceRegexp": "^veth"},
    "invokeInterval": "1m30s", "procPath": "/host/proc"})json",
                                       "/config/stats.json");
  ASSERT_TRUE(config) << config.error().toString();
  EXPECT_EQ(config->names.size(), 2u);
  EXPECT_EQ(config->names.at("cpu/load_1m"), "load");
  EXPECT_EQ(config->names.at("disk/io_time"), "disk_io_time");
  EXPECT_TRUE(config->rootDisks);
  EXPECT_TRUE(config->attachedDisks);
  EXPECT_EQ(config->usageTimeout, 7s);
  EXPECT_EQ(config->interval, 90s);
  EXPECT_EQ(config->procPath, "/host/proc");
  EXPECT_EQ(config->knownModulesPath, "/config/modules.json");
  EXPECT_EQ(config->excludeInterfaces, "^veth");
  EXPECT_TRUE(config->warnings.empty());
}

TEST(StatsConfigTest, DefaultsAreThoseOfNodeProblemDetector) {
  const auto config =
      parseStatsConfig(R"({"invokeInterval": "", "disk": {"lsblkTimeout": ""}})", "stats.json");
  ASSERT_TRUE(config) << config.error().toString();
  EXPECT_EQ(config->interval, 60s);
  EXPECT_EQ(config->usageTimeout, 5s);
  EXPECT_EQ(config->procPath, "/proc");
  EXPECT_EQ(config->knownModulesPath, "guestosconfig/known-modules.json");
  EXPECT_FALSE(config->rootDisks);
  EXPECT_FALSE(config->attachedDisks);
  EXPECT_TRUE(config->names.empty());
  EXPECT_EQ(parseStatsConfig(R"({"osFeature": {"knownModulesConfigPath": "/etc/m.json"}})", "/c/s.json")
                ->knownModulesPath,
            "/etc/m.json");
}

TEST(StatsConfigTest, RefusesWhatNodeProblemDetectorDoesAndSaysWhere) {
  struct Case {
    const char* text;
    const char* complaint;
  };
  for (const Case& c : {
           Case{R"({"invokeInterval": "0s"})", "1:20: invokeInterval: expected a duration above 0s"},
           Case{R"({"invokeInterval": "60"})", "found \"60\""},
           Case{R"({"invokeInterval": 60})", "invokeInterval: expected a string, found an integer"},
           Case{R"({"disk": {"lsblkTimeout": "-1s"}})", "disk.lsblkTimeout: expected a duration above 0s"},
           Case{R"({"invokeInterval": "3s"})", "expected at most invokeInterval, which is 3s, found 5s"},
           Case{R"({"net": {"excludeInterfaceRegexp": "("}})", "net.excludeInterfaceRegexp: missing"},
           Case{R"({"net": {"metricsConfigs": {"net/rx_bytes": {"displayName": "net/rx_bytes"}}}})",
                "expected all 16 metrics with a displayName, or none; missing: net/rx_packets, "},
           Case{R"({"cpu": {"metricsConfigs": {"cpu/load_1m": {"displayName": "a/b"},
                                               "cpu/load_5m": {"displayName": "a_b"}}}})",
                "two metrics cannot have one name, and \"a_b\" is that of cpu/load_1m"},
           Case{R"({"cpu": {"metricsConfigs": []}})", "cpu.metricsConfigs: expected an object, found a list"},
           Case{R"({"cpu": {"metricsConfigs": {}},})", "invalid JSON"},
           Case{"[]", "expected an object, found a list"},
       }) {
    EXPECT_NE(errorOf(c.text).find(c.complaint), std::string::npos) << c.text << "\n" << errorOf(c.text);
  }
}

TEST(StatsConfigTest, TellsOneMistakeOnce) {
  EXPECT_EQ(errorOf(R"({"disk": 7})"), "config/stats.json:1:10: disk: expected an object, found an integer");
}

TEST(StatsConfigTest, AMetricThatDoesNotExistIsIgnoredWithAWarning) {
  const auto config =
      parseStatsConfig(R"({"cpu": {"metricsConfigs": {"cpu/load_2m": {"displayName": "x"}}}})", "f");
  ASSERT_TRUE(config);
  EXPECT_TRUE(config->names.empty());
  ASSERT_EQ(config->warnings.size(), 1u);
  EXPECT_NE(config->warnings[0].find("did you mean cpu/load_"), std::string::npos) << config->warnings[0];
}

std::string shipped(const std::string& name) {
  std::ifstream stream(std::string(MAINSTAY_SOURCE_DIR "/rules/npd/") + name);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(ShippedStatsConfigsTest, ParseWithoutWarningsAndAreInCanonicalForm) {
  struct Case {
    const char* name;
    std::size_t metrics;
    Duration interval;
  };
  for (const Case& c :
       {Case{"system-stats-monitor.json", 27, 60s}, Case{"windows-system-stats-monitor.json", 26, 60s},
        Case{"net-cgroup-system-stats-monitor.json", 16, 120s}}) {
    const auto config = parseStatsConfig(shipped(c.name), c.name);
    ASSERT_TRUE(config) << config.error().toString();
    EXPECT_TRUE(config->warnings.empty()) << config->warnings.front();
    EXPECT_EQ(config->names.size(), c.metrics) << c.name;
    EXPECT_EQ(config->interval, c.interval);
    EXPECT_EQ(shipped(c.name), toPrettyText(*parseJson(shipped(c.name))) + "\n");
  }
  const auto known = parseKnownModules(shipped("guestosconfig/known-modules.json"), "known-modules.json");
  ASSERT_TRUE(known) << known.error().toString();
  EXPECT_TRUE(known->contains("loadpin_trigger"));
  EXPECT_EQ(known->size(), 61u) << "some of the 67 are repeated";
}

}  // namespace
}  // namespace mainstay::agent::stats
