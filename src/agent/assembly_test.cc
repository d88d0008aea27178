#include "agent/assembly.h"

#include <gtest/gtest.h>

namespace mainstay::agent {
namespace {

class AssemblyTest : public ::testing::Test {
 protected:
  Result<std::vector<std::unique_ptr<Monitor>>> logMonitors(std::vector<std::string> paths) {
    Options options;
    options.systemLogMonitors = std::move(paths);
    return assembled(options);
  }
  Result<std::vector<std::unique_ptr<Monitor>>> assembled(const Options& options) {
    return assembleMonitors(options, {files, clock, metrics, std::chrono::hours(1)});
  }
  Result<std::vector<std::unique_ptr<Monitor>>> statsMonitors(std::vector<std::string> paths) {
    Options options;
    options.systemStatsMonitors = std::move(paths);
    return assembled(options);
  }
  std::string errorOf(const std::string& path) { return logMonitors({path}).error().toString(); }

  FakeFileSystem files{
      {{"/good.json", R"({"plugin": "kmsg"})"},
       {"/other.json", R"({"plugin": "kmsg"})"},
       {"/bad.json", R"({"plugin": "kmsg", "rules": [{"type": "temporary", "pattern": "("}]})"},
       {"/journal.json", R"({"plugin": "journald"})"},
       {"/site.yaml", "pack: nvidia\nrules: [{id: api-mismatch, enabled: false}]\n"},
       {"/checks.json", R"({"plugin": "custom"})"},
       {"/other-checks.json", R"({"plugin": "custom"})"},
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

TEST_F(AssemblyTest, RulePacksReadTheKernelLogToo) {
  Options options;
  options.systemLogMonitors = {"/good.json"};
  options.rulePacks = {"shipped", "/site.yaml"};
  const auto monitors = assembleMonitors(options, {files, clock, metrics, std::chrono::hours(1)});
  ASSERT_TRUE(monitors) << monitors.error().toString();
  EXPECT_EQ(monitors->size(), 1u);
  options.rulePacks = {"nvdia"};
  EXPECT_NE(assembleMonitors(options, {files, clock, metrics, std::chrono::hours(1)})
                .error()
                .toString()
                .find("no rule pack of this release is called \"nvdia\", did you mean nvidia?"),
            std::string::npos);
}

TEST_F(AssemblyTest, EachStatsConfigIsAMonitor) {
  EXPECT_EQ(statsMonitors({"/stats.json", "/stats.json"})->size(), 1u);
  EXPECT_NE(
      statsMonitors({"/bad-stats.json"}).error().toString().find("/bad-stats.json:1:20: invokeInterval"),
      std::string::npos);
}

TEST_F(AssemblyTest, ACustomPluginMonitorPerFileByEitherNameOfTheFlag) {
  Options options;
  options.customPluginMonitors = {"/checks.json"};
  EXPECT_EQ(assembled(options)->size(), 1u);
  options.systemLogMonitors = {"/good.json", "/checks.json"};
  EXPECT_FALSE(assembled(options)) << "a path is read by the first flag that names it";
  options = {};
  options.oldCustomPluginMonitors = {"/checks.json", "/checks.json", "/other-checks.json"};
  EXPECT_EQ(assembled(options)->size(), 2u);
  options.oldCustomPluginMonitors = {"/good.json"};
  EXPECT_NE(assembled(options).error().toString().find("/good.json:1:12: plugin: expected \"custom\""),
            std::string::npos)
      << assembled(options).error().toString();
}

TEST_F(AssemblyTest, NamesFileAndPlaceOfAMistake) {
  EXPECT_NE(errorOf("/bad.json").find("/bad.json:1:63: rules[0].pattern: missing"), std::string::npos)
      << errorOf("/bad.json");
  EXPECT_NE(errorOf("/journal.json").find("journald"), std::string::npos);
  EXPECT_NE(errorOf("/none.json").find("/none.json"), std::string::npos);
}

}  // namespace
}  // namespace mainstay::agent
