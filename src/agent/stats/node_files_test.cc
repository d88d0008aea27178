#include "agent/stats/node_files.h"

#include <gtest/gtest.h>

#include "agent/stats/collectors.h"
#include "agent/stats/testing.h"

namespace mainstay::agent::stats {
namespace {

using namespace std::chrono_literals;

const TimePoint kRead = *parseTime("2026-11-29T20:14:07Z");

class NodeFilesTest : public ::testing::Test {
 protected:
  Result<Samples> read(std::string_view source, TimePoint now = kRead) {
    if (!node) {
      node.emplace(*NodeFiles::create(config, files, kTicksPerSecond));
    }
    for (const NodeFiles::Part& part : NodeFiles::parts()) {
      if (part.source == source) {
        return ((*node).*part.read)(now);
      }
    }
    return fail(Code::kNotFound, "no such part");
  }
  std::set<std::string> disksRead() {
    std::set<std::string> names;
    const auto samples = read("diskstats");
    for (const Sample& sample : *samples) {
      names.insert(sample.labels.at("device_name"));
    }
    return names;
  }

  StatsConfig config = *parseStatsConfig(
      R"({"osFeature": {"metricsConfigs": {"system/os_feature": {"displayName": "f"}}}, "procPath": "/p"})",
      "/config/stats.json");
  FakeFileSystem files{{{"/p/uptime", "10.5 3\n"},
                        {"/p/sys/kernel/osrelease", "6.1.0-37-cloud-amd64\n"},
                        {"/p/cmdline", "quiet csm.enabled=1\n"},
                        {"/p/modules", "lustre 1 0 - Live 0x0 (O)\nnvidia 1 0 - Live 0x0 (PO)\n"},
                        {"/p/diskstats",
                         "259 0 nvme0n1 1 0 0 0 0 0 0 0 0 0 1000\n259 1 nvme0n1p1 1 0 0 0 0 0 0 0 0 0 0\n"
                         "253 0 dm-0 1 0 0 0 0 0 0 0 0 0 0\n"},
                        {"/p/self/mountinfo", "1 1 253:0 / / rw - ext4 /dev/mapper/root rw\n"},
                        {"/p/filesystems", "nodev\tproc\n\text4\n"},
                        {"/sys/block/nvme0n1/size", "100\n"},
                        {"/sys/block/dm-0/size", "50\n"},
                        {"/sys/block/dm-0/slaves/nvme0n1p1", ""},
                        {"/config/guestosconfig/known-modules.json", R"([{"moduleName": "lustre"}])"}}};
  std::optional<NodeFiles> node;
};

TEST_F(NodeFilesTest, AnUnknownDistributionOrNoneKeepsTheUptime) {
  const auto uptimeOf = [&](const std::string& os) {
    return valueOf(*read("uptime"), "host/uptime",
                   {{"kernel_version", "6.1.0-37-cloud-amd64"}, {"os_version", os}});
  };
  EXPECT_EQ(uptimeOf("unknown"), 10);
  files.addFolder("/etc");
  ASSERT_TRUE(files.write("/etc/os-release", "ID=gentoo\n"));
  EXPECT_EQ(uptimeOf("gentoo"), 10);
}

TEST_F(NodeFilesTest, KnownModulesLieBesideTheConfig) {
  EXPECT_EQ(valueOf(*read("modules"), "system/os_feature", {{"os_feature", "UnknownModules"}, {"value", ""}}),
            0);
  EXPECT_EQ(valueOf(*read("modules"), "system/os_feature", {{"os_feature", "KTD"}, {"value", ""}}), 1);
}

TEST_F(NodeFilesTest, WithoutAListNoModuleIsKnown) {
  config.knownModulesPath = "/none.json";
  EXPECT_EQ(
      valueOf(*read("modules"), "system/os_feature", {{"os_feature", "UnknownModules"}, {"value", "lustre"}}),
      1);
}

TEST_F(NodeFilesTest, AKernelWithoutModulesHasNoFileOfThemAndOneThatCannotBeReadIsAnError) {
  files.failOn("/p/modules", Error(Code::kNotFound, "no"));
  EXPECT_EQ(valueOf(*read("modules"), "system/os_feature", {{"os_feature", "GPUSupport"}, {"value", ""}}), 0);
  files.failOn("/p/modules", Error(Code::kPermissionDenied, "no"));
  EXPECT_FALSE(read("modules"));
}

TEST_F(NodeFilesTest, DisksAreThoseThatTheConfigIncludes) {
  EXPECT_EQ(disksRead(), (std::set<std::string>{"dm-0", "nvme0n1", "nvme0n1p1"})) << "neither flag: all";
  node.reset();
  config.rootDisks = true;
  EXPECT_EQ(disksRead(), (std::set<std::string>{"nvme0n1"}));
  node.reset();
  config.attachedDisks = true;
  EXPECT_EQ(disksRead(), (std::set<std::string>{"dm-0", "nvme0n1"}));
  node.reset();
  config.rootDisks = false;
  EXPECT_EQ(disksRead(), (std::set<std::string>{"dm-0"}));
}

TEST_F(NodeFilesTest, TheAverageQueueComesWithTheSecondReading) {
  const MetricLabels labels{{"device_name", "nvme0n1"}};
  EXPECT_EQ(valueOf(*read("diskstats"), "disk/avg_queue_len", labels), std::nullopt);
  ASSERT_TRUE(files.write("/p/diskstats", "259 0 nvme0n1 1 0 0 0 0 0 0 0 0 0 6000\n"));
  EXPECT_EQ(valueOf(*read("diskstats", kRead + 10s), "disk/avg_queue_len", labels), 0.5);
}

TEST_F(NodeFilesTest, RefusesAProcPathThatIsNotThere) {
  config.procPath = "/none";
  const auto created = NodeFiles::create(config, files, kTicksPerSecond);
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().toString(), "/config/stats.json: procPath: there is no folder /none");
}

}  // namespace
}  // namespace mainstay::agent::stats
