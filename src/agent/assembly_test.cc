#include "agent/assembly.h"

#include <gtest/gtest.h>

namespace mainstay::agent {
namespace {

constexpr char kFile[] = R"json({"plugin": "filelog", "logPath": "/var/log/messages", "pluginConfig":
  {"timestamp": "^.{15}", "message": "kernel: (.*)", "timestampFormat": "Jan _2 15:04:05"}})json";

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
  // What is watched, and "-file" for each file that cannot be used.
  std::vector<std::string> watched(const Options& options) {
    std::vector<std::string> names;
    const auto monitors = assembled(options);
    EXPECT_TRUE(monitors) << monitors.error().toString();
    for (const auto& monitor : *monitors) {
      for (const SourceStatus& source : monitor->sources()) {
        names.push_back((source.trouble.empty() ? "" : "-") + source.name);
      }
    }
    return names;
  }

  FakeFileSystem files{
      {{"/good.json", R"({"plugin": "kmsg"})"},
       {"/other.json", R"({"plugin": "kmsg"})"},
       {"/bad.json", R"({"plugin": "kmsg", "rules": [{"type": "temporary", "pattern": "("}]})"},
       {"/journal.json", R"({"plugin": "journald"})"},
       {"/probes.yaml", "probes: {memory: {off: true}}"},
       {"/wrong.yaml", "probes: {memory: {of: true}}"},
       {"/site.yaml", "pack: nvidia\nrules: [{id: api-mismatch, enabled: false}]\n"},
       {"/checks.json", R"({"plugin": "custom"})"},
       {"/no-program.json", R"({"plugin": "custom", "rules": [{"type": "temporary", "path": "/gone"}]})"},
       {"/other-checks.json", R"({"plugin": "custom"})"},
       {"/stats.json",
        R"({"procPath": "/p", "cpu": {"metricsConfigs": {"cpu/load_1m": {"displayName": "l"}}}})"},
       {"/bad-stats.json", R"({"invokeInterval": 5})"},
       {"/p/loadavg", ""},
       {"/kubelet.json", R"({"plugin": "journald", "pluginConfig": {"source": "kubelet"}})"},
       {"/kubelet2.json",
        R"({"plugin": "journald", "pluginConfig": {"source": "kubelet"}, "lookback": "5m"})"},
       {"/kubelet3.json",
        R"({"plugin": "journald", "pluginConfig": {"source": "kubelet"}, "logPath": "/j"})"},
       {"/docker.json", R"({"plugin": "journald", "pluginConfig": {"source": "dockerd"}})"},
       {"/file.json", kFile},
       {"/file2.json", kFile},
       {"/file3.json", R"({"plugin": "filelog", "logPath": "/var/log/messages", "skipList": ["x"]})"},
       {"/other-plugin.json", R"({"plugin": "custom"})"}}};
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
  options = {};
  options.rulePacks = {"nvdia"};
  const std::string error = assembled(options).error().toString();
  EXPECT_NE(error.find("no rule pack of this release is called \"nvdia\", did you mean nvidia?"),
            std::string::npos)
      << error;
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
  EXPECT_EQ(watched(options), (std::vector<std::string>{"kmsg", "-/checks.json"}))
      << "a path is read by the first flag that names it";
  options = {};
  options.oldCustomPluginMonitors = {"/checks.json", "/checks.json", "/other-checks.json"};
  EXPECT_EQ(assembled(options)->size(), 2u);
  options.oldCustomPluginMonitors = {"/good.json"};
  EXPECT_NE(assembled(options).error().toString().find("/good.json:1:12: plugin: expected \"custom\""),
            std::string::npos)
      << assembled(options).error().toString();
}

TEST_F(AssemblyTest, EachLogIsReadOnceAndHasAName) {
  const auto monitors = logMonitors({"/kubelet.json", "/kubelet2.json", "/kubelet3.json", "/docker.json",
                                     "/file.json", "/file2.json", "/file3.json", "/good.json"});
  ASSERT_TRUE(monitors) << monitors.error().toString();
  std::vector<std::string> names;
  for (const auto& monitor : *monitors) {
    names.push_back(monitor->sources().at(0).name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"journald:kubelet", "journald:kubelet (/kubelet3.json)",
                                             "journald:dockerd", "/var/log/messages",
                                             "/var/log/messages (/file3.json)", "kmsg"}));
}

TEST_F(AssemblyTest, NamesFileAndPlaceOfAMistake) {
  EXPECT_NE(errorOf("/bad.json").find("/bad.json:1:63: rules[0].pattern: missing"), std::string::npos)
      << errorOf("/bad.json");
  EXPECT_TRUE(errorOf("/journal.json")
                  .starts_with("/journal.json:1:1: pluginConfig.source: expected the SYSLOG_IDENTIFIER"))
      << errorOf("/journal.json");
  EXPECT_EQ(errorOf("/other-plugin.json"),
            "/other-plugin.json:1:12: plugin: expected \"kmsg\", \"journald\" or \"filelog\", found "
            "\"custom\"\n"
            "  Nothing is left to run, so the agent does not start: mend the file, or leave it out.");
  EXPECT_NE(errorOf("/none.json").find("/none.json"), std::string::npos);
}

TEST_F(AssemblyTest, AFileThatCannotBeUsedIsToldAndTheOthersRun) {
  Options options;
  options.systemLogMonitors = {"/bad.json", "/good.json", "/none.json", "/other-plugin.json"};
  options.rulePacks = {"nvidia", "/wrong.yaml", "nvdia"};
  options.systemStatsMonitors = {"/bad-stats.json", "/stats.json"};
  options.customPluginMonitors = {"/checks.json", "/no-program.json"};
  options.probes = {"memory"};
  options.probeConfig = "/wrong.yaml";
  EXPECT_EQ(watched(options),
            (std::vector<std::string>{"kmsg", "/stats.json#loadavg", "/checks.json", "probe memory",
                                      "-/bad.json", "-/none.json", "-/other-plugin.json", "-/wrong.yaml",
                                      "-nvdia", "-/bad-stats.json", "-/no-program.json", "-/wrong.yaml"}));
}

TEST_F(AssemblyTest, WithoutAnythingLeftToRunEveryFileIsToldAndTheAgentDoesNotStart) {
  Options options;
  options.systemLogMonitors = {"/bad.json"};
  options.systemStatsMonitors = {"/bad-stats.json"};
  const std::string error = assembled(options).error().toString();
  EXPECT_NE(error.find("/bad.json:1:63: "), std::string::npos) << error;
  EXPECT_NE(error.find("\n/bad-stats.json:1:20: "), std::string::npos) << error;
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
  EXPECT_EQ(probes({"pcie"}, "/wrong.yaml")->size(), 2u) << "the probe, and what tells of the file";
}

}  // namespace
}  // namespace mainstay::agent
