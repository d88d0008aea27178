#include "agent/stats/stats_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/source_health.h"

namespace mainstay::agent::stats {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const TimePoint kFirst = *parseTime("2026-11-29T20:14:07Z");

constexpr char kConfig[] = R"json({"procPath": "/p",
  "cpu": {"metricsConfigs": {"cpu/load_1m": {"displayName": "cpu/load_1m"},
                             "cpu/usage_time": {"displayName": "cpu/usage_time"},
                             "system/processes_total": {"displayName": "system/processes_total"}}},
  "disk": {"metricsConfigs": {"disk/bytes_used": {"displayName": "disk/bytes_used"},
                              "disk/io_time": {"displayName": "disk/io_time"}}}})json";

class StatsMonitorTest : public ::testing::Test {
 protected:
  void SetUp() override { create(Counters::kTrue); }
  void create(Counters counters) {
    UsageWatch usage(
        5s,
        [this](const std::string& mountPoint) -> Result<Usage> {
          if (mountPoint == broken) {
            return fail(Code::kInternal, "statvfs of " + mountPoint + ": Input/output error");
          }
          return Usage{300, 100};
        },
        [this](std::function<void()> work) { hanging ? held.push_back(std::move(work)) : work(); });
    monitor = *StatsMonitor::create(*parseStatsConfig(kConfig, "/config/stats.json"), counters, files,
                                    metrics, std::move(usage));
    monitor->start(signal);
  }
  TimePoint step(TimePoint now) { return monitor->step(now, state); }
  // The text without HELP and TYPE.
  std::string shown() const {
    std::string text;
    std::istringstream lines(metrics.text());
    for (std::string line; std::getline(lines, line);) {
      text += line.starts_with('#') ? "" : line + "\n";
    }
    return text;
  }
  api::Condition degradedNow() const { return state.conditions().front(); }
  std::string troubleOf(const std::string& name) const {
    for (const SourceStatus& source : monitor->sources()) {
      if (source.name == name) {
        return source.trouble;
      }
    }
    return "no such source";
  }

  FakeFileSystem files{{{"/p/loadavg", "0.5 1 2 3/4 5\n"},
                        {"/p/stat", "cpu  200 0 0 0\nprocesses 10\n"},
                        {"/p/diskstats", "8 0 sda 1 0 0 0 0 0 0 0 0 7 0\n8 1 sda1 1 0 0 0 0 0 0 0 0 8 0\n"},
                        {"/p/self/mountinfo", "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n"},
                        {"/p/filesystems", "\text4\n"}}};
  Metrics metrics;
  Signal signal;
  std::string broken;
  bool hanging = false;
  std::vector<std::function<void()>> held;
  NodeState state{{monitorDegraded()}, {}, {}, kFirst};
  std::unique_ptr<StatsMonitor> monitor;
};

TEST_F(StatsMonitorTest, ShowsEachMetricUnderItsNameWithHelpAndType) {
  EXPECT_EQ(step(kFirst), kFirst + 60s);
  EXPECT_EQ(
      metrics.text(),
      "# HELP cpu_usage_time CPU usage, in seconds\n"
      "# TYPE cpu_usage_time counter\n"
      "cpu_usage_time{state=\"idle\"} 0\n"
      "cpu_usage_time{state=\"nice\"} 0\n"
      "cpu_usage_time{state=\"system\"} 0\n"
      "cpu_usage_time{state=\"user\"} 2\n"
      "# HELP system_processes_total Number of forks since boot.\n"
      "# TYPE system_processes_total counter\n"
      "system_processes_total 10\n"
      "# HELP disk_io_time The IO time spent on the disk, in ms\n"
      "# TYPE disk_io_time counter\n"
      "disk_io_time{device_name=\"sda\"} 7\n"
      "disk_io_time{device_name=\"sda1\"} 8\n"
      "# HELP cpu_load_1m CPU average load (1m)\n"
      "# TYPE cpu_load_1m gauge\n"
      "cpu_load_1m 0.5\n"
      "# HELP disk_bytes_used Disk bytes used, in Bytes\n"
      "# TYPE disk_bytes_used gauge\n"
      "disk_bytes_used{device_name=\"sda1\",fs_type=\"ext4\",mount_option=\"rw\",state=\"free\"} 100\n"
      "disk_bytes_used{device_name=\"sda1\",fs_type=\"ext4\",mount_option=\"rw\",state=\"used\"} 300\n");
}

TEST_F(StatsMonitorTest, CountersAreTheKernelsHoweverOftenTheyAreRead) {
  step(kFirst);
  step(kFirst + 60s);
  ASSERT_TRUE(files.write("/p/stat", "cpu  250 0 0 0\nprocesses 12\n"));
  step(kFirst + 120s - 1us);
  EXPECT_THAT(shown(), HasSubstr("\nsystem_processes_total 10\n")) << "not yet";
  step(kFirst + 120s);
  EXPECT_THAT(shown(), AllOf(HasSubstr("\nsystem_processes_total 12\n"),
                             HasSubstr("cpu_usage_time{state=\"user\"} 2.5\n")));
}

TEST_F(StatsMonitorTest, InCompatibilityTheyAreSumsAndTicks) {
  create(Counters::kAsNodeProblemDetector);
  step(kFirst);
  step(kFirst + 60s);
  EXPECT_THAT(shown(), AllOf(HasSubstr("\nsystem_processes_total 20\n"),
                             HasSubstr("cpu_usage_time{state=\"user\"} 200\n"),
                             HasSubstr("disk_io_time{device_name=\"sda\"} 7\n")));
}

TEST_F(StatsMonitorTest, ADeviceThatVanishesIsNotShownAnyMore) {
  step(kFirst);
  ASSERT_TRUE(files.write("/p/diskstats", "8 0 sda 1 0 0 0 0 0 0 0 0 9 0\n"));
  ASSERT_TRUE(files.write("/p/self/mountinfo", "1 1 8:0 / / rw - ext4 /dev/sda rw\n"));
  step(kFirst + 60s);
  EXPECT_THAT(shown(), AllOf(HasSubstr("disk_io_time{device_name=\"sda\"} 9\n"), Not(HasSubstr("sda1"))));
}

TEST_F(StatsMonitorTest, AFileThatCannotBeReadShowsNoOldValueAndIsACondition) {
  step(kFirst);
  ASSERT_TRUE(files.write("/p/loadavg", "rubbish"));
  step(kFirst + 60s);
  EXPECT_THAT(shown(), AllOf(Not(HasSubstr("cpu_load_1m")), HasSubstr("system_processes_total 10")));
  EXPECT_EQ(degradedNow().status, "True");
  EXPECT_EQ(degradedNow().reason, "SystemStatsUnreadable");
  EXPECT_THAT(degradedNow().message,
              HasSubstr("found \"rubbish\". Its metrics are not shown; it is tried again every 1m0s"));
  EXPECT_THAT(troubleOf("/config/stats.json#loadavg"), HasSubstr("rubbish"));
  EXPECT_EQ(troubleOf("/config/stats.json#stat"), "");

  ASSERT_TRUE(files.write("/p/loadavg", "0.25 1 2\n"));
  step(kFirst + 120s);
  EXPECT_EQ(degradedNow().status, "False");
  EXPECT_EQ(troubleOf("/config/stats.json#loadavg"), "");
  EXPECT_THAT(shown(), HasSubstr("cpu_load_1m 0.25"));
}

TEST_F(StatsMonitorTest, AMountThatHangsStopsNothingAndIsNotShownAsItWas) {
  step(kFirst);
  hanging = true;
  EXPECT_EQ(step(kFirst + 60s), kFirst + 65s);
  EXPECT_EQ(degradedNow().status, "False");
  step(kFirst + 65s);
  EXPECT_EQ(degradedNow().status, "True");
  EXPECT_THAT(degradedNow().message, HasSubstr("statvfs of / has not returned for 5s"));
  EXPECT_THAT(shown(), AllOf(Not(HasSubstr("disk_bytes_used")), HasSubstr("cpu_load_1m")));
  EXPECT_THAT(troubleOf("/config/stats.json#statvfs"), HasSubstr("has not returned"));

  held.front()();
  EXPECT_TRUE(signal.take());
  step(kFirst + 70s);
  EXPECT_EQ(degradedNow().status, "False");
  EXPECT_THAT(shown(), HasSubstr("disk_bytes_used"));
}

TEST_F(StatsMonitorTest, AMountThatFailsAndThenGoesIsAConditionForAsLong) {
  broken = "/";
  step(kFirst);
  EXPECT_THAT(degradedNow().message, HasSubstr("Input/output error"));
  ASSERT_TRUE(files.write("/p/self/mountinfo", ""));
  step(kFirst + 60s);
  EXPECT_EQ(degradedNow().status, "False");
}

TEST_F(StatsMonitorTest, MountsThatCannotBeListedAreACondition) {
  files.failOn("/p/self/mountinfo", Error(Code::kPermissionDenied, "reading mountinfo: Permission denied"));
  step(kFirst);
  EXPECT_THAT(degradedNow().message, HasSubstr("Permission denied"));
  EXPECT_THAT(shown(), Not(HasSubstr("disk_bytes_used")));
}

TEST_F(StatsMonitorTest, SourcesAreTheFilesThatTheConfigNeeds) {
  EXPECT_EQ(monitor->sources().front().lastNews, std::nullopt);
  step(kFirst);
  std::vector<std::string> names;
  for (const SourceStatus& source : monitor->sources()) {
    names.push_back(source.name);
    EXPECT_EQ(source.lastNews, kFirst) << source.name;
  }
  EXPECT_THAT(names, ::testing::ElementsAre("/config/stats.json#diskstats", "/config/stats.json#loadavg",
                                            "/config/stats.json#stat", "/config/stats.json#statvfs"));
}

}  // namespace
}  // namespace mainstay::agent::stats
