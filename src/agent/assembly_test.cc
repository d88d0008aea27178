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
  std::string errorOf(const std::string& path) { return logMonitors({path}).error().toString(); }

  FakeFileSystem files{
      {{"/good.json", R"({"plugin": "kmsg"})"},
       {"/other.json", R"({"plugin": "kmsg"})"},
       {"/bad.json", R"({"plugin": "kmsg", "rules": [{"type": "temporary", "pattern": "("}]})"},
       {"/journal.json", R"({"plugin": "journald"})"},
       {"/probes.yaml", "probes: {memory: {off: true}}"},
       {"/wrong.yaml", "probes: {memory: {of: true}}"}}};
  SteadyWallClock clock;
  Metrics metrics;
};

TEST_F(AssemblyTest, ReadersOfTheKernelLogShareOneSource) {
  EXPECT_EQ(logMonitors({"/good.json", "/good.json", "/other.json"})->size(), 1u);
}

TEST_F(AssemblyTest, NamesFileAndPlaceOfAMistake) {
  EXPECT_NE(errorOf("/bad.json").find("/bad.json:1:63: rules[0].pattern: missing"), std::string::npos)
      << errorOf("/bad.json");
  EXPECT_NE(errorOf("/journal.json").find("journald"), std::string::npos);
  EXPECT_NE(errorOf("/none.json").find("/none.json"), std::string::npos);
}

TEST_F(AssemblyTest, BuildsAMonitorForEachProbeThatIsToRun) {
  const auto probes = [&](std::vector<std::string> names, const std::string& config = "") {
    Options options;
    options.probes = std::move(names);
    options.probeConfig = config;
    return assembleMonitors(options, {files, clock, metrics, std::chrono::hours(1)});
  };
  EXPECT_EQ(probes({})->size(), 0u);
  EXPECT_EQ(probes({"pcie", "memory"})->size(), 2u);
  EXPECT_EQ(probes({"pcie", "memory"}, "/probes.yaml")->size(), 1u);
  EXPECT_NE(probes({"gpus"}).error().toString().find("no probe \"gpus\""), std::string::npos);
  EXPECT_NE(probes({"pcie"}, "/wrong.yaml").error().toString().find("/wrong.yaml:1:"), std::string::npos);
}

}  // namespace
}  // namespace mainstay::agent
