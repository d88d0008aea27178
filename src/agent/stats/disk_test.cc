#include "agent/stats/disk.h"

#include <gtest/gtest.h>

#include "agent/stats/testing.h"

namespace mainstay::agent::stats {
namespace {

using namespace std::chrono_literals;

constexpr char kDiskStats[] =
    "   1       0 ram0 0 0 0 0 0 0 0 0 0 0 0\n"
    "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
    "   7       1 loop1 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
    " 259       0 nvme0n1 68366 10358 3313578 22239 53844 79560 16028456 58713 2 15196 83285 12482 30 "
    "4962096 1922\n"
    " 259       1 nvme0n1p1 100 0 200 5 7 0 8 9 0 10 11\n"
    " 253       0 dm-0 1 2 3 4 5 6 7 8 9 10 11\n";

DiskTable disks() {
  const auto table = parseDiskStats(kDiskStats);
  EXPECT_TRUE(table) << table.error().toString();
  return *table;
}

std::optional<double> direction(const Samples& samples, const char* metric, const char* direction) {
  return valueOf(samples, metric, {{"device_name", "nvme0n1"}, {"direction", direction}});
}

TEST(DiskSamplesTest, CountsSinceBoot) {
  const Samples samples = diskSamples(disks(), std::set<std::string>{"nvme0n1"}, {}, 0s);
  EXPECT_EQ(samples.size(), 10u) << "no average queue before the second reading";
  EXPECT_EQ(valueOf(samples, "disk/io_time", {{"device_name", "nvme0n1"}}), 15196);
  EXPECT_EQ(valueOf(samples, "disk/weighted_io", {{"device_name", "nvme0n1"}}), 83285);
  EXPECT_EQ(direction(samples, "disk/operation_count", "read"), 68366);
  EXPECT_EQ(direction(samples, "disk/operation_count", "write"), 53844);
  EXPECT_EQ(direction(samples, "disk/merged_operation_count", "read"), 10358);
  EXPECT_EQ(direction(samples, "disk/merged_operation_count", "write"), 79560);
  EXPECT_EQ(direction(samples, "disk/operation_bytes_count", "read"), 3313578.0 * 512);
  EXPECT_EQ(direction(samples, "disk/operation_bytes_count", "write"), 16028456.0 * 512);
  EXPECT_EQ(direction(samples, "disk/operation_time", "read"), 22239);
  EXPECT_EQ(direction(samples, "disk/operation_time", "write"), 58713);
}

TEST(DiskSamplesTest, WithoutAChoiceEveryDiskCountsThatDidSomething) {
  EXPECT_EQ(diskSamples(disks(), std::nullopt, {}, 0s).size(), 4u * 10) << "neither ram0 nor loop0";
  EXPECT_TRUE(diskSamples(disks(), std::set<std::string>(), {}, 0s).empty()) << "chosen, and there is none";
}

TEST(DiskSamplesTest, TheAverageQueueIsWeightedTimePerTime) {
  const auto queue = [](double before, double now) {
    DiskTable old = disks();
    DiskTable fresh = disks();
    old["nvme0n1"].weightedIoMs = before;
    fresh["nvme0n1"].weightedIoMs = now;
    return valueOf(diskSamples(fresh, std::set<std::string>{"nvme0n1"}, old, 10s), "disk/avg_queue_len",
                   {{"device_name", "nvme0n1"}});
  };
  EXPECT_EQ(queue(1000, 26000), 2.5);
  EXPECT_EQ(queue(1000, 1000), 0);
  EXPECT_EQ(queue(26000, 1000), std::nullopt) << "it was removed and put back, or its counter wrapped";
}

TEST(DiskStatsTest, RefusesWhatIsNoDiskStats) {
  EXPECT_FALSE(parseDiskStats("259 0 nvme0n1 1 2 3\n"));
  EXPECT_FALSE(parseDiskStats("259 0 nvme0n1 1 2 3 4 5 x 7 8 9 10 11\n"));
  EXPECT_TRUE(parseDiskStats("")->empty()) << "a machine without disks";
}

TEST(RootDisksTest, AreThoseThatLsblkListsWithoutTheirDependents) {
  const std::vector<BlockDevice> devices{{"dm-0", 100, true},   {"loop0", 0, false},  {"loop1", 8, false},
                                         {"nvme0n1", 5, false}, {"ram0", 100, false}, {"zram0", 0, false}};
  EXPECT_EQ(rootDisks(devices, disks()), (std::set<std::string>{"loop1", "nvme0n1", "zram0"}));
}

constexpr char kFilesystems[] =
    "nodev\tsysfs\nnodev\tproc\nnodev\toverlay\nnodev\tnfs4\n\text4\n\txfs\n\tbtrfs\n";
constexpr char kMountInfo[] =
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "24 27 0:40 / / rw - overlay overlay rw,lowerdir=/a\n"
    "25 27 259:1 / /mnt/with\\040blank rw,noatime shared:1 master:2 - ext4 /dev/root rw,discard\n"
    "26 27 259:1 /var/lib/x /etc/hosts ro,relatime - ext4 /dev/nvme0n1p1 rw\n"
    "28 27 253:0 /pods /pods rw,relatime - xfs /dev/mapper/vg-data rw\n"
    "29 27 0:45 / /btrfs rw - btrfs /dev/sdb2 rw\n"
    "30 27 0:46 / /nfs rw - nfs4 server:/export rw\n"
    "31 27 0:47 / /tank rw - zfs tank/data rw\n"
    "32 broken line\n";

TEST(MountsTest, EachDeviceOnceByTheKernelsNameAndOnlyWhatLiesOnDisks) {
  const auto mounts = parseMounts(kMountInfo, kFilesystems, disks());
  ASSERT_EQ(mounts.size(), 4u);
  EXPECT_EQ(mounts[0].device, "nvme0n1p1") << "which /dev/root is";
  EXPECT_EQ(mounts[0].mountPoint, "/mnt/with blank");
  EXPECT_EQ(mounts[0].fsType, "ext4");
  EXPECT_EQ(mounts[0].options, "rw,noatime");
  EXPECT_EQ(mounts[1].device, "dm-0");
  EXPECT_EQ(mounts[1].options, "rw,relatime,bind");
  EXPECT_EQ(mounts[2].device, "sdb2");
  EXPECT_EQ(mounts[3].device, "tank/data");
}

TEST(UsageSamplesTest, PercentIsOfWhatUsersCanHave) {
  const Samples samples = usageSamples({"sda1", "ext4", "rw,noatime", "/"}, {.used = 300, .free = 100});
  const auto bytes = [&](const char* state) {
    return valueOf(
        samples, "disk/bytes_used",
        {{"device_name", "sda1"}, {"fs_type", "ext4"}, {"mount_option", "rw,noatime"}, {"state", state}});
  };
  EXPECT_EQ(bytes("used"), 300);
  EXPECT_EQ(bytes("free"), 100);
  EXPECT_EQ(valueOf(samples, "disk/percent_used", {{"device_name", "sda1"}}), 75);
  EXPECT_EQ(valueOf(usageSamples({"sr0", "iso9660", "ro", "/cd"}, {}), "disk/percent_used",
                    {{"device_name", "sr0"}}),
            0);
}

}  // namespace
}  // namespace mainstay::agent::stats
