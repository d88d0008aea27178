#include "agent/assembly.h"

#include <gtest/gtest.h>

namespace mainstay::agent {
namespace {

class AssemblyTest : public ::testing::Test {
 protected:
  Result<std::vector<std::unique_ptr<Monitor>>> logMonitors(std::vector<std::string> paths) {
    Options options;
    options.systemLogMonitors = std::move(paths);
    return assembleMonitors(options, {files, clock, metrics, std::chrono::hours(1)});
  }
  Result<std::vector<std::unique_ptr<Monitor>>> statsMonitors(std::vector<std::string> paths) {
    Options options;
    options.systemStatsMonitors = std::move(paths);
    return assembleMonitors(options, {files, clock, metrics, std::chrono::hours(1)});
  }
  std::string errorOf(const std::string& path) { return logMonitors({path}).error().toString(); }

  FakeFileSystem files{
      {{"/good.json", R"({"plugin": "kmsg"})"},
       {"/other.json", R"({"plugin": "kmsg"})"},
       {"/bad.json", R"({"plugin": "kmsg", "rules": [{"type": "temporary", "pattern": "("}]})"},
       {"/journal.json", R"({"plugin": "journald"})"},
       {"/stats.json",
        R"({"procPath": "/p", "cpu": {"metricsConfigs": {"cpu/load_1m": {"displayName": "l"}}}})"},
       {"/bad-stats.json", R"({"invokeInterval": 5})"},
       {"/p/loadavg", ""}}};
  SteadyWallClock clock;
  Metrics metrics;
};

TEST_F(AssemblyTest, ReadersOfTheKernelLogShareOneSource) {
  EXPECT_EQ(logMonitors({"/good.json", "/good.json", "/other.json"})->size(), 1u);
}

TEST_F(AssemblyTest, EachStatsConfigIsAMonitor) {
  EXPECT_EQ(statsMonitors({"/stats.json", "/stats.json"})->size(), 1u);
  EXPECT_NE(
      statsMonitors({"/bad-stats.json"}).error().toString().find("/bad-stats.json:1:20: invokeInterval"),
      std::string::npos);
}

TEST_F(AssemblyTest, NamesFileAndPlaceOfAMistake) {
  EXPECT_NE(errorOf("/bad.json").find("/bad.json:1:63: rules[0].pattern: missing"), std::string::npos)
      << errorOf("/bad.json");
  EXPECT_NE(errorOf("/journal.json").find("journald"), std::string::npos);
  EXPECT_NE(errorOf("/none.json").find("/none.json"), std::string::npos);
}

}  // namespace
}  // namespace mainstay::agent
