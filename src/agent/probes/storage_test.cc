#include "agent/probes/storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/probes/testing.h"

namespace mainstay::agent::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ProbeBench;

std::string healthPage(unsigned char warning, unsigned char percentUsed, unsigned char mediaErrors) {
  std::string page(512, '\0');
  page[0] = static_cast<char>(warning);
  page[5] = static_cast<char>(percentUsed);
  page[160] = static_cast<char>(mediaErrors);
  return page;
}

class StorageProbeTest : public ::testing::Test {
 protected:
  StorageProbeTest() { bench.put("/proc/1/mountinfo", ""); }

  HostCalls calls() {
    HostCalls calls;
    calls.nvmeHealth = [this](const std::string& device) {
      asked.push_back(device);
      return page;
    };
    calls.ataSmart = [this](const std::string& device) {
      asked.push_back(device);
      return smart;
    };
    calls.filesystemUse = [this](const std::string&) { return use; };
    return calls;
  }
  ProbeBench& mounted(const std::string& options, const std::string& superOptions,
                      const std::string& type = "ext4") {
    return bench.put("/proc/1/mountinfo",
                     "22 1 259:1 / / " + options + " shared:1 - " + type + " /dev/nvme0n1p1 " + superOptions +
                         "\n23 22 259:1 /sub /var/lib\\040x " + options + " - " + type + " /dev/nvme0n1p1 " +
                         superOptions + "\n24 22 0:5 / /dev rw - devtmpfs udev ro\n");
  }

  Result<std::string> page = healthPage(0, 0, 0);
  Result<AtaSmart> smart = AtaSmart{};
  Result<FilesystemUse> use = FilesystemUse{100, 60, 100, 60};
  std::vector<std::string> asked;
  ProbeBench bench{storageProbe(), calls()};
};

TEST_F(StorageProbeTest, WhatADriveSaysOfItself) {
  struct Case {
    unsigned char warning, percentUsed, mediaErrors;
    std::vector<std::string> seen;
  };
  bench.put("/sys/class/nvme/nvme0/state", "live\n");
  for (const Case& c :
       {Case{0, 99, 3, {}}, Case{0x02, 0, 3, {"NvmeTooHot nvme0"}},
        Case{0x0c, 100, 4, {"NvmeCriticalWarning nvme0", "NvmeWornOut nvme0", "NvmeMediaErrors nvme0"}}}) {
    page = healthPage(c.warning, c.percentUsed, c.mediaErrors);
    EXPECT_EQ(bench.look(), c.seen);
  }
  EXPECT_THAT(bench.message("NvmeCriticalWarning"),
              HasSubstr("its reliability is degraded, it is read-only"));
  EXPECT_THAT(asked, ElementsAre("/dev/nvme0", "/dev/nvme0", "/dev/nvme0"));
}

TEST_F(StorageProbeTest, ADriveThatIsDeadOrBusyIsNotAsked) {
  bench.put("/sys/class/nvme/nvme0/state", "dead\n").put("/sys/class/nvme/nvme1/state", "resetting\n");
  EXPECT_THAT(bench.look(), ElementsAre("NvmeControllerDead nvme0"));
  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(StorageProbeTest, ADriveThatRefusesAndOneThatKeepsNoLog) {
  bench.put("/sys/class/nvme/nvme0/state", "live\n");
  page = fail(Code::kPermissionDenied, "opening /dev/nvme0: Permission denied");
  EXPECT_THAT(bench.look(), IsEmpty());
  EXPECT_THAT(bench.last().blind, HasSubstr("opening /dev/nvme0"));
  page = fail(Code::kFailedPrecondition, "NVMe status 1");
  bench.look();
  EXPECT_EQ(bench.last().blind, "");
  page = std::string("short");
  bench.look();
  EXPECT_THAT(bench.last().blind, HasSubstr("a health log of 5 bytes"));
}

AtaSmart ataAnswer(bool fails, unsigned char pending) {
  AtaSmart smart{std::string("\x70\0\x01\0\0\0\0\x0a\0\0\x4f\xc2\0\x1d", 14),
                 std::string(kSmartSector, '\0')};
  if (fails) {
    smart.sense.replace(10, 2, "\xf4\x2c");
  }
  smart.data[2] = static_cast<char>(197);
  smart.data[7] = static_cast<char>(pending);
  return smart;
}

TEST_F(StorageProbeTest, WhatAnAtaDriveSaysOfItself) {
  bench.put("/sys/block/sda/device/vendor", "ATA     \n").put("/sys/block/sdb/device/vendor", "Google  \n");
  smart = ataAnswer(false, 3);
  EXPECT_THAT(bench.look(), IsEmpty());
  smart = ataAnswer(true, 5);
  EXPECT_THAT(bench.look(), IsEmpty()) << "a drive is not asked at every look";
  EXPECT_THAT(bench.look(10min), ElementsAre("AtaDriveFailing sda", "AtaBadSectors sda/197"));
  EXPECT_THAT(bench.message("AtaBadSectors"), HasSubstr("sectors waiting to be reallocated rose by 2 to 5"));
  EXPECT_THAT(bench.look(), ElementsAre("AtaDriveFailing sda")) << "what it said holds meanwhile";
  EXPECT_THAT(asked, ElementsAre("/dev/sda", "/dev/sda"));
}

TEST_F(StorageProbeTest, AnAtaDriveThatRefusesOneThatHasNoSmartAndOneThatSaysNothing) {
  bench.put("/sys/block/sda/device/vendor", "ATA");
  smart = fail(Code::kPermissionDenied, "opening /dev/sda: Permission denied");
  EXPECT_THAT(bench.look(), IsEmpty());
  EXPECT_THAT(bench.last().blind, HasSubstr("opening /dev/sda"));
  bench.look();
  EXPECT_THAT(bench.last().blind, HasSubstr("opening /dev/sda")) << "as long as it was not asked again";
  smart = fail(Code::kFailedPrecondition, "no SMART");
  bench.look(10min);
  EXPECT_EQ(bench.last().blind, "");
  smart = AtaSmart{};
  bench.look(10min);
  EXPECT_THAT(bench.last().blind, HasSubstr("does not say whether it fails"));
}

TEST_F(StorageProbeTest, AFilesystemThatBecameReadOnlyIsToldFromOneThatIsMountedSo) {
  EXPECT_THAT(mounted("rw,relatime", "rw,errors=remount-ro").look(), IsEmpty());
  EXPECT_THAT(mounted("ro,relatime", "ro").look(), IsEmpty());
  EXPECT_THAT(mounted("rw,relatime", "ro,errors=remount-ro").look(),
              ElementsAre("FilesystemBecameReadOnly 259:1"));
  EXPECT_THAT(bench.message("FilesystemBecameReadOnly"),
              HasSubstr("the ext4 filesystem at / (device 259:1)"));
  EXPECT_THAT(mounted("rw", "rw,emergency_ro").look(), ElementsAre("FilesystemBecameReadOnly 259:1"));
  EXPECT_THAT(mounted("rw", "ro", "squashfs").look(), IsEmpty());
}

TEST_F(StorageProbeTest, FilesystemsThatAreFullOrFillUp) {
  mounted("rw", "rw");
  EXPECT_THAT(bench.look(), IsEmpty());
  use = FilesystemUse{1000, 40, 100, 4};
  EXPECT_THAT(bench.look(), ElementsAre("FilesystemFull 259:1", "FilesystemInodesFull 259:1"));
  EXPECT_EQ(bench.message("FilesystemFull"), "the filesystem at /: 96 % of its bytes are in use");
  ProbeBench other(storageProbe(), calls());
  use = FilesystemUse{1000, 700, 0, 0};
  other.put("/proc/1/mountinfo", "22 1 259:1 / / rw - xfs /dev/x rw\n").look();
  use = FilesystemUse{1000, 600, 0, 0};
  EXPECT_THAT(other.look(5min), IsEmpty());
  EXPECT_THAT(other.look(10min), ElementsAre("FilesystemFilling 259:1"));
  EXPECT_THAT(other.look(1h), IsEmpty());
}

TEST_F(StorageProbeTest, SeesTheHostsMountsBelowItsRootWhereItMayNotAskTheFirstProcess) {
  bench.deny("/proc/1/mountinfo").put("/proc/self/mountinfo", "22 1 259:1 / / rw - ext4 /dev/x ro\n");
  EXPECT_THAT(bench.look(), ElementsAre("FilesystemBecameReadOnly 259:1"));
  EXPECT_EQ(bench.last().blind, "");
  bench.remove("/proc/self/mountinfo");
  bench.look();
  EXPECT_NE(bench.last().blind, "");
}

TEST(StorageParseTest, Mounts) {
  const auto mount = parseMount(
      R"(36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue)");
  ASSERT_TRUE(mount);
  EXPECT_EQ(mount->device, "98:0");
  EXPECT_EQ(mount->point, "/mnt 2");
  EXPECT_EQ(mount->options, "rw,noatime");
  EXPECT_EQ(mount->type, "ext3");
  EXPECT_EQ(mount->superOptions, "rw,errors=continue");
  for (const char* wrong :
       {"", "1 2 3", "1 2 3 4 5 6 7 - ext4 /dev/x", "- - - - - - - - -", "1 2 3 4 5 - a b c d"}) {
    EXPECT_FALSE(parseMount(wrong)) << wrong;
  }
}

TEST(StorageParseTest, HealthPages) {
  EXPECT_FALSE(parseNvmeHealth(std::string(100, '\0')));
  std::string page = healthPage(0x3f, 255, 0);
  page.replace(160, 8, std::string(8, '\xff'));
  EXPECT_EQ(parseNvmeHealth(page)->mediaErrors, ~std::uint64_t{0});
  EXPECT_EQ(parseNvmeHealth(page)->percentUsed, 255u);
}

}  // namespace
}  // namespace mainstay::agent::probes
