// The shipped rule files of node-problem-detector at work on what kernels and programs log.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "agent/log_monitor.h"
#include "base/file_system.h"
#include "fault/line_format.h"

namespace mainstay::agent {
namespace {

using Reasons = std::set<std::string>;

const TimePoint kRulesNow = *parseTime("2026-11-29T20:14:07Z");

std::string rulesFolder() {
  return MAINSTAY_SOURCE_DIR "/rules/npd/";
}

fault::LogMonitorConfig configOf(const std::string& file) {
  const auto text = RealFileSystem().read(rulesFolder() + file, 1 << 20);
  EXPECT_TRUE(text) << text.error().toString();
  auto config = fault::parseLogMonitorConfig(*text, file);
  EXPECT_TRUE(config) << config.error().toString();
  return *std::move(config);
}

// Why a config, or several together, reports after all of these lines.
Reasons reasonsFor(const std::vector<std::string>& files, const std::vector<std::string>& lines) {
  Reasons reasons;
  for (const std::string& file : files) {
    LogMonitor monitor = *LogMonitor::create(configOf(file), TimePoint{});
    for (const std::string& line : lines) {
      fault::Record record;
      record.text = line;
      for (const Problem& problem : monitor.onRecord(record)) {
        reasons.insert(problem.reason);
      }
    }
  }
  return reasons;
}

// Where a hung task stands, in the form of a kernel's call trace.
const std::vector<std::string> kHungTask = {
    R"("echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.)",
    "      Not tainted 5.10.0-some #1",
    "state:D stack:    0 pid: 4711 ppid:     1 flags:0x00004000",
    "Call Trace:",
    " __schedule+0x282/0x880",
    " schedule+0x46/0xb0",
    " rwsem_down_write_slowpath+0x246/0x4b0",
    " entry_SYSCALL_64_after_hwframe+0x44/0xa9",
};
const std::vector<std::string> kOops = {
    "IP: some_driver_open+0x1c/0x90 [some_driver]",
    "PGD 0 P4D 0",
    "CPU: 3 PID: 4711 Comm: cat Not tainted 4.19.0-some #1",
    "Call Trace:",
    " chrdev_open+0xa3/0x1b0",
    " do_dentry_open+0x132/0x340",
    "---[ end trace 0123456789abcdef ]---",
};

std::vector<std::string> followedBy(const std::string& first, const std::vector<std::string>& rest) {
  std::vector<std::string> lines{first};
  lines.insert(lines.end(), rest.begin(), rest.end());
  return lines;
}

struct Sample {
  const char* name;
  std::vector<std::string> lines;
  Reasons expected;
};

void expectReasons(const std::vector<std::string>& files, const std::vector<Sample>& samples) {
  for (const Sample& sample : samples) {
    EXPECT_EQ(reasonsFor(files, sample.lines), sample.expected) << sample.name;
  }
}

TEST(ShippedKernelRulesTest, FindWhatNodeProblemDetectorsSamplesHold) {
  expectReasons(
      {"kernel-monitor.json", "readonly-monitor.json"},
      {
          {"au_opts_verify",
           {"aufs au_opts_verify:1612:docker[2500]: dirperm1 breaks the protection by the permission bits"},
           {}},
          {"aufs_umount_hung",
           followedBy("INFO: task umount.aufs:21568 blocked for more than 120 seconds.", kHungTask),
           {"TaskHung"}},
          {"divide_zero", followedBy("divide error: 0000 [#1] SMP", kOops), {"KernelOops"}},
          {"docker_hung",
           followedBy("INFO: task docker:20744 blocked for more than 120 seconds.", kHungTask),
           {"DockerHung", "TaskHung"}},
          {"null_pointer",
           followedBy("BUG: unable to handle kernel NULL pointer dereference at 0000000000000008", kOops),
           {"KernelOops"}},
          {"oom_kill",
           {"python invoked oom-killer: gfp_mask=0x24000c0, order=0, oom_score_adj=999",
            "Memory cgroup out of memory: Kill process 1012 (python) score 1035 or sacrifice child",
            "Killed process 1012 (python) total-vm:327128kB, anon-rss:306328kB, file-rss:11132kB, "
            "shmem-rss:12kB"},
           {"OOMKilling"}},
          {"readonly_filesystem",
           {"EXT4-fs error (device sda1): ext4_find_entry:1234: inode #12: comm ls: reading directory lblock "
            "0",
            "EXT4-fs (sda1): Remounting filesystem read-only"},
           {"Ext4Error", "FilesystemIsReadOnly"}},
          {"unregister_netdevice",
           {"unregister_netdevice: waiting for lo to become free. Usage count = 1"},
           {"UnregisterNetDevice"}},
          {"xfs",
           {"XFS (nvme1n1): Corruption of in-memory data (0x8) detected at xfs_trans_cancel.  Shutting down "
            "filesystem."},
           {"XfsHasShutdown"}},
          {"buffer I/O", {"Buffer I/O error on dev sdb1, logical block 0, async page read"}, {"IOError"}},
          {"cper",
           {"{1}[Hardware Error]: event severity: corrected",
            "{2}[Hardware Error]: event severity: recoverable", "{3}[Hardware Error]: event severity: fatal"},
           {"CperHardwareErrorCorrected", "CperHardwareErrorRecoverable", "CperHardwareErrorFatal"}},
          {"edac",
           {"EDAC MC0: 1 CE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0"},
           {"MemoryReadError"}},
      });
}

TEST(ShippedKernelRulesTest, TheOldDeploymentsRulesWantTheOldKernelsTwoLines) {
  const std::string killed =
      "Killed process 1012 (python) total-vm:327128kB, anon-rss:306328kB, file-rss:11132kB";
  expectReasons(
      {"deployment/kernel-monitor.json"},
      {{"before 5.1", {"Kill process 1012 (python) score 1035 or sacrifice child", killed}, {"OOMKilling"}},
       {"since then", {"Out of memory: " + killed}, {}},
       {"read-only", {"EXT4-fs (sda1): Remounting filesystem read-only"}, {"FilesystemIsReadOnly"}}});
}

TEST(ShippedKernelRulesTest, TheSuccessorsFindWhatCurrentKernelsPrintAndTheOldRulesDoNot) {
  const std::vector<Sample> samples = {
      {"null pointer",
       followedBy("BUG: kernel NULL pointer dereference, address: 0000000000000008", kOops),
       {"KernelOops"}},
      {"page fault",
       followedBy("BUG: unable to handle page fault for address: ffffdead00000008", kOops),
       {"KernelOops"}},
      {"arm64",
       {"Unable to handle kernel NULL pointer dereference at virtual address 0000000000000008"},
       {"KernelOops"}},
      {"divide, preempt", followedBy("divide error: 0000 [#1] PREEMPT SMP NOPTI", kOops), {"KernelOops"}},
      {"divide, oops", {"Oops: divide error: 0000 [#1] SMP PTI"}, {"KernelOops"}},
  };
  expectReasons({"successors/kernel-monitor-current.json"}, samples);
  for (const Sample& sample : samples) {
    EXPECT_EQ(reasonsFor({"kernel-monitor.json"}, sample.lines), Reasons{})
        << sample.name << ": one Event, not two";
  }
  expectReasons({"successors/kernel-monitor-current.json"},
                {{"old divide", {"divide error: 0000 [#1] SMP"}, {}},
                 {"old null pointer",
                  {"BUG: unable to handle kernel NULL pointer dereference at 0000000000000008"},
                  {}}});
}

TEST(ShippedKernelRulesTest, TheSuccessorsKnowTheContainerRuntimesOfToday) {
  for (const std::string task : {"dockerd", "containerd", "containerd-shim"}) {
    EXPECT_EQ(
        reasonsFor({"kernel-monitor.json", "successors/kernel-monitor-current.json"},
                   followedBy("INFO: task " + task + ":20744 blocked for more than 120 seconds.", kHungTask)),
        (Reasons{"ContainerRuntimeHung", "TaskHung"}))
        << task;
  }
}

// Why a file log's config reports after these lines of its file.
Reasons reasonsForFile(const std::string& file, const std::vector<std::string>& lines) {
  const fault::LogMonitorConfig config = configOf(file);
  const auto format = *fault::LineFormat::create(config.pluginConfig, config.skipList);
  std::vector<std::string> messages;
  for (const std::string& line : lines) {
    if (const auto record = format.read(line, kRulesNow); record && !format.skips(line)) {
      messages.push_back(record->text);
    }
  }
  return reasonsFor({file}, messages);
}

TEST(ShippedFileRulesTest, ReadTheirLogs) {
  EXPECT_EQ(
      reasonsForFile(
          "kernel-monitor-filelog.json",
          {"Nov 29 20:14:00 host kernel: [12.3] INFO: task docker:12 blocked for more than 120 seconds."}),
      (Reasons{"DockerHung", "TaskHung"}));
  EXPECT_EQ(
      reasonsForFile(
          "docker-monitor-filelog.json",
          {R"(time="2026-11-29T20:14:00.000000000-08:00" level=error msg="Error trying v2 registry: failed to register )"
           R"(layer: rename /var/lib/docker/image/a /var/lib/docker/image/b: directory not empty")"}),
      Reasons{"CorruptDockerImage"});
  EXPECT_EQ(
      reasonsForFile(
          "windows-containerd-monitor-filelog.json",
          {R"(time="2026-11-29T20:14:00.5Z" level=error msg="failed to pull and unpack image: failed to extract layer: )"
           R"(archive/tar: invalid tar header")"}),
      Reasons{"CorruptContainerImageLayer"});
}

TEST(ShippedFileRulesTest, TheSuccessorFindsBadSectorsAndTheOldFileCannot) {
  const std::vector<std::string> lines = {
      "Nov 29 20:14:00 host smartd[812]: Device: /dev/sda [SAT], 8 Currently unreadable (pending) sectors",
      "Nov 29 20:14:00 host smartd[812]: Device: /dev/sdb [SAT], 168 Currently unreadable (pending) sectors "
      "(changed +8)"};
  EXPECT_EQ(reasonsForFile("disk-log-message-filelog.json", lines), Reasons{});
  EXPECT_EQ(reasonsForFile("successors/disk-monitor-current.json", lines), Reasons{"DiskBadBlock"});
  EXPECT_EQ(reasonsForFile("successors/disk-monitor-current.json", {lines.front()}), Reasons{})
      << "few may be";
  EXPECT_EQ(reasonsForFile(
                "successors/disk-monitor-current.json",
                {"Nov 29 20:14:00 host smartd[812]: Device: /dev/sdc, 100 Offline uncorrectable sectors"}),
            Reasons{"DiskBadBlock"});
}

TEST(ShippedJournalRulesTest, FindWhatTheirProgramsLog) {
  expectReasons({"systemd-monitor.json"},
                {{"kubelet", {"Started kubelet.service - Kubernetes kubelet."}, {"KubeletStart"}},
                 {"stopped", {"Stopped kubelet.service."}, {}},
                 {"containerd", {"Starting containerd container runtime..."}, {"ContainerdStart"}},
                 {"docker", {"Starting Docker Application Container Engine..."}, {"DockerStart"}}});
  expectReasons({"docker-monitor.json"},
                {{"overlay",
                  {"Handler for POST returned error: readlink /var/lib/docker/overlay2/l: invalid argument"},
                  {"CorruptDockerOverlay2"}}});
  expectReasons({"abrt-adaptor.json"},
                {{"crash", {"Process 4711 (python3) crashed in foo()"}, {"CCPPCrash"}},
                 {"core", {"System encountered a fatal error in do_exit"}, {"VMcore"}}});
  expectReasons(
      {"successors/containerd-monitor.json"},
      {{"layer",
        {R"(time="2026-11-29T20:14:00Z" level=error msg="PullImage failed" error="failed to pull and unpack image \"a\": )"
         R"(failed to extract layer sha256:0: archive/tar: invalid tar header: unknown")"},
        {"CorruptContainerImageLayer"}}});
}

}  // namespace
}  // namespace mainstay::agent
