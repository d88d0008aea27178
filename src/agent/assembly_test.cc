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
  std::string errorOf(const std::string& path) { return logMonitors({path}).error().toString(); }

  FakeFileSystem files{
      {{"/good.json", R"({"plugin": "kmsg"})"},
       {"/other.json", R"({"plugin": "kmsg"})"},
       {"/bad.json", R"({"plugin": "kmsg", "rules": [{"type": "temporary", "pattern": "("}]})"},
       {"/checks.json", R"({"plugin": "custom"})"},
       {"/other-checks.json", R"({"plugin": "custom"})"},
       {"/journal.json", R"({"plugin": "journald"})"}}};
  SteadyWallClock clock;
  Metrics metrics;
};

TEST_F(AssemblyTest, ReadersOfTheKernelLogShareOneSource) {
  EXPECT_EQ(logMonitors({"/good.json", "/good.json", "/other.json"})->size(), 1u);
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
