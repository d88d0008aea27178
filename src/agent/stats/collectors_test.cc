#include "agent/stats/collectors.h"

#include <gtest/gtest.h>

#include "agent/stats/testing.h"

namespace mainstay::agent::stats {
namespace {

TEST(PrometheusNameTest, IsMadeOfTheDisplayNameAsNodeProblemDetectorsExporterDoes) {
  EXPECT_EQ(prometheusName("cpu/load_1m"), "cpu_load_1m");
  EXPECT_EQ(prometheusName("a:b-c d"), "a:b_c_d");
  EXPECT_EQ(prometheusName("1m_load"), "key_1m_load");
  EXPECT_EQ(prometheusName("_load"), "key_load");
  EXPECT_EQ(prometheusName("/load"), "key_load");
  EXPECT_EQ(prometheusName("\xC3\xA9t\xC3\xA9"), "key_t_") << "a character is one underscore";
  EXPECT_EQ(prometheusName(std::string(120, 'x')), std::string(100, 'x'));
  EXPECT_EQ(prometheusName(""), "");
}

TEST(LoadSamplesTest, ReadsThreeAverages) {
  const Samples samples = *loadSamples("0.52 1.58 10.59 3/467 11206\n");
  EXPECT_EQ(valueOf(samples, "cpu/runnable_task_count"), 0.52);
  EXPECT_EQ(valueOf(samples, "cpu/load_1m"), 0.52);
  EXPECT_EQ(valueOf(samples, "cpu/load_5m"), 1.58);
  EXPECT_EQ(valueOf(samples, "cpu/load_15m"), 10.59);
  EXPECT_NE(
      loadSamples("0.52 x").error().toString().find("loadavg: expected three numbers, found \"0.52 x\""),
      std::string::npos);
}

constexpr char kStat[] =
    "cpu  104488 11002 14941 29372 527 1 238 100 7 8\n"
    "cpu0 52018 5269 6929 15946 76 1 75 48 3 4\n"
    "cpu1 52469 5732 8012 13425 451 0 163 52 4 4\n"
    "intr 1462898 0 9 0\n"
    "ctxt 115315\n"
    "btime 1764490000\n"
    "processes 2915\n"
    "procs_running 3\n"
    "procs_blocked 1\n"
    "softirq 5057579 250191 1481983\n";

TEST(CpuSamplesTest, ReadsTimesInSecondsAndCounts) {
  const Samples samples = *cpuSamples(kStat);
  EXPECT_EQ(valueOf(samples, "cpu/usage_time", {{"state", "user"}}), 1044.88);
  EXPECT_EQ(valueOf(samples, "cpu/usage_time", {{"state", "irq"}}), 0.01);
  EXPECT_EQ(valueOf(samples, "cpu/usage_time", {{"state", "guest_nice"}}), 0.08);
  EXPECT_EQ(valueOf(samples, "system/cpu_stat", {{"cpu", "cpu1"}, {"stage", "softIRQ"}}), 1.63);
  EXPECT_EQ(valueOf(samples, "system/cpu_stat", {{"cpu", "cpu0"}, {"stage", "guestNice"}}), 0.04);
  EXPECT_EQ(valueOf(samples, "system/interrupts_total"), 1462898);
  EXPECT_EQ(valueOf(samples, "system/processes_total"), 2915);
  EXPECT_EQ(valueOf(samples, "system/procs_running"), 3);
  EXPECT_EQ(valueOf(samples, "system/procs_blocked"), 1);
  EXPECT_EQ(samples.size(), 10u + 20 + 4);
}

TEST(CpuSamplesTest, UsageMayBeTicksButTheTimeOfEachProcessorIsNot) {
  const Samples samples = *cpuSamples(kStat, 1);
  EXPECT_EQ(valueOf(samples, "cpu/usage_time", {{"state", "user"}}), 104488);
  EXPECT_EQ(valueOf(samples, "system/cpu_stat", {{"cpu", "cpu1"}, {"stage", "softIRQ"}}), 1.63);
}

TEST(CpuSamplesTest, LeavesOutWhatAnOldKernelDoesNotCountAndRefusesWhatIsNoStat) {
  EXPECT_EQ(cpuSamples("cpu  1 2 3 4\n")->size(), 4u);
  EXPECT_FALSE(cpuSamples(""));
  EXPECT_FALSE(cpuSamples("cpu  x\n"));
}

constexpr char kMeminfo[] =
    "MemTotal:       1000 kB\nMemFree:         400 kB\nMemAvailable:    900 kB\nBuffers:          50 kB\n"
    "Cached:          100 kB\nActive(anon):     11 kB\nInactive(anon):   12 kB\nActive(file):     13 kB\n"
    "Inactive(file):   14 kB\nUnevictable:      15 kB\nDirty:            16 kB\nWriteback:        17 kB\n"
    "Slab:             50 kB\nHugePages_Total:   0\n";

TEST(MemorySamplesTest, StatesAddUpToTheTotal) {
  const Samples samples = *memorySamples(kMeminfo);
  double sum = 0;
  for (const char* state : {"free", "buffered", "cached", "slab", "used"}) {
    sum += valueOf(samples, "memory/bytes_used", {{"state", state}}).value();
  }
  EXPECT_EQ(sum, 1000 * 1024);
  EXPECT_EQ(valueOf(samples, "memory/bytes_used", {{"state", "used"}}), 400 * 1024);
  EXPECT_EQ(valueOf(samples, "memory/percent_used", {{"state", "used"}}), 40);
  EXPECT_EQ(valueOf(samples, "memory/anonymous_used", {{"state", "inactive"}}), 12 * 1024);
  EXPECT_EQ(valueOf(samples, "memory/page_cache_used", {{"state", "active"}}), 13 * 1024);
  EXPECT_EQ(valueOf(samples, "memory/unevictable_used"), 15 * 1024);
  EXPECT_EQ(valueOf(samples, "memory/dirty_used", {{"state", "writeback"}}), 17 * 1024);
}

TEST(MemorySamplesTest, WhatIsNotToldIsLeftOutRatherThanZero) {
  const Samples samples = *memorySamples("MemTotal: 1000 kB\nMemFree: 400 kB\n");
  EXPECT_EQ(samples.size(), 1u);
  EXPECT_FALSE(memorySamples("MemFree: 400 kB\n"));
}

// node-problem-detector's own fixture.
constexpr char kNetDev[] =
    "Inter-|   Receive                                                |  Transmit\n"
    "face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls "
    "carrier compressed\n"
    "eth0:\t\t5000\t100\t\t0\t\t0\t\t0 \t\t0 \t\t0 \t\t0\t\t2500\t30\t\t0\t\t0\t\t0\t\t0\t\t0\t\t0  \n"
    "docker0: \t1000\t90\t\t8\t\t7\t\t0 \t\t0 \t\t0 \t\t0\t\t0\t\t0\t\t0\t\t0\t\t0\t\t0\t\t0\t\t0\n"
    "docker1: \t500\t\t10\t\t0\t\t0\t\t0 \t\t0\t\t0\t\t0\t\t3000\t150\t\t15\t\t0\t\t20\t\t30\t\t0\t\t0\n"
    "docker2:\t0\t\t0\t\t0\t\t0\t\t0\t\t0\t\t0\t\t0\t\t6000\t300\t\t550\t\t200\t\t0\t\t0\t\t0\t\t0\n";

std::optional<double> netValue(const Samples& samples, std::string_view metric, const std::string& name) {
  return valueOf(samples, metric, {{"interface_name", name}});
}

TEST(NetSamplesTest, ReadsSixteenColumnsOfEachInterface) {
  const Samples samples = *netSamples(kNetDev, nullptr);
  EXPECT_EQ(samples.size(), 4u * 16);
  EXPECT_EQ(netValue(samples, "net/rx_bytes", "eth0"), 5000);
  EXPECT_EQ(netValue(samples, "net/rx_bytes", "docker1"), 500);
  EXPECT_EQ(netValue(samples, "net/rx_errors", "docker0"), 8);
  EXPECT_EQ(netValue(samples, "net/rx_dropped", "docker0"), 7);
  EXPECT_EQ(netValue(samples, "net/tx_bytes", "eth0"), 2500);
  EXPECT_EQ(netValue(samples, "net/tx_bytes", "docker2"), 6000);
  EXPECT_EQ(netValue(samples, "net/tx_fifo", "docker1"), 20);
  EXPECT_EQ(netValue(samples, "net/tx_collisions", "docker1"), 30);
  EXPECT_EQ(netValue(samples, "net/tx_dropped", "docker2"), 200);
}

TEST(NetSamplesTest, LeavesOutWhatTheExpressionMatchesAnywhereInTheName) {
  const auto exclude = fault::Pattern::compileAnywhere(R"(docker\d+)");
  EXPECT_EQ(netSamples(kNetDev, &*exclude)->size(), 16u);
  const auto begin = fault::Pattern::compileAnywhere("^(dock|cali)");
  EXPECT_EQ(netSamples(kNetDev, &*begin)->size(), 16u);
  const auto other = fault::Pattern::compileAnywhere("^fake$");
  EXPECT_EQ(netSamples(kNetDev, &*other)->size(), 4u * 16);
}

TEST(NetSamplesTest, TakesANumberThatTouchesTheColonAndRefusesAShortLine) {
  const std::string head = "a\nb\n";
  const auto samples = netSamples(head + "veth1:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", nullptr);
  ASSERT_TRUE(samples) << samples.error().toString();
  EXPECT_EQ(netValue(*samples, "net/rx_bytes", "veth1"), 1);
  EXPECT_EQ(netValue(*samples, "net/tx_compressed", "veth1"), 16);
  EXPECT_FALSE(netSamples(head + "veth1: 1 2 3\n", nullptr));
  EXPECT_FALSE(netSamples(head + "no colon here 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19\n", nullptr));
  EXPECT_FALSE(netSamples("", nullptr));
}

TEST(OsVersionTest, IsThatOfNodeProblemDetectorAndKnowsEveryDistribution) {
  struct Case {
    const char* osRelease;
    const char* expected;
  };
  for (const Case& c : {
           Case{"BUILD_ID=12293.0.0\nNAME=\"Container-Optimized OS\"\nVERSION_ID=77\nVERSION=77\nID=cos\n",
                "cos 77-12293.0.0"},
           Case{"PRETTY_NAME=\"Debian GNU/Linux 9 (stretch)\"\nVERSION_ID=\"9\"\nVERSION=\"9 "
                "(stretch)\"\nID=debian\n",
                "debian 9 (stretch)"},
           Case{"VERSION=\"16.04.6 LTS (Xenial Xerus)\"\nID=ubuntu\nID_LIKE=debian\n",
                "ubuntu 16.04.6 LTS (Xenial Xerus)"},
           Case{"VERSION=\"7 (Core)\"\nID=\"centos\"\nID_LIKE=\"rhel "
                "fedora\"\n\nREDHAT_SUPPORT_PRODUCT=\"centos\"\n",
                "centos 7 (Core)"},
           Case{"VERSION=\"8.5 (Green Obsidian)\"\nID=\"rocky\"\n", "rocky 8.5 (Green Obsidian)"},
           Case{"VERSION=\"7.7 (Maipo)\"\nID=\"rhel\"\nVARIANT=\"Server\"\n", "rhel 7.7 (Maipo)"},
           Case{"VERSION=\"9.0\"\nID=\"ol\"\nVARIANT_ID=\"server\"\n", "ol 9.0"},
           Case{"NAME=\"Amazon Linux\"\nVERSION=\"2\"\nID=\"amzn\"", "amzn 2"},
           Case{"VERSION=\"15-SP4\"\nVERSION_ID=\"15.4\"\nID=\"sles\"\n", "sles 15-SP4"},
           Case{"VERSION=\"2.0.20240123\"\nID=mariner\n", "mariner 2.0.20240123"},
           Case{"VERSION=\"3.0.20240328\"\nID=azurelinux\n", "azurelinux 3.0.20240328"},
           Case{"ID=flatcar\nID_LIKE=coreos\nVERSION=4372.0.1\nBUILD_ID=2025-07-06-2244\n",
                "flatcar 4372.0.1"},
           // With these two node-problem-detector does not start.
           Case{"ID=foo-operating-system\n", "foo-operating-system"},
           Case{"", "unknown"},
           Case{"ID='bottlerocket'\nVERSION='1.20 (aws-k8s)'\n# ID=comment\n", "bottlerocket 1.20 (aws-k8s)"},
       }) {
    EXPECT_EQ(osVersion(c.osRelease), c.expected);
  }
}

TEST(HostSamplesTest, UptimeIsWholeSeconds) {
  EXPECT_EQ(valueOf(*hostSamples("350735.97 234388.90\n", "6.1.0", "debian 12"), "host/uptime",
                    {{"kernel_version", "6.1.0"}, {"os_version", "debian 12"}}),
            350735);
  EXPECT_FALSE(hostSamples("", "6.1.0", "debian 12"));
}

std::optional<double> feature(const Samples& samples, const char* name, const std::string& value = "") {
  return valueOf(samples, "system/os_feature", {{"os_feature", name}, {"value", value}});
}

// node-problem-detector's fixtures of Container-Optimized OS and Ubuntu.
constexpr char kCosCmdline[] =
    "BOOT_IMAGE=/syslinux/vmlinuz.A init=/usr/lib/systemd/systemd boot=local rootwait ro "
    "systemd.unified_cgroup_hierarchy=false csm.disabled=1 loadpin.exclude=kernel-module "
    "module.sig_enforce=1 "
    "cros_efi \"dm=1 vroot none csm.enabled=1 hashstart=4077568\"\n";
constexpr char kCosModules[] =
    "crypto_simd 16384 1 aesni_intel, Live 0x0000000000000000\n"
    "virtio_balloon 24576 0 - Live 0x0000000000000000\n"
    "loadpin_trigger 12288 0 [permanent], Live 0x0000000000000000 (O)";
constexpr char kUbuntuModules[] =
    "drm 491520 0 - Live 0x0000000000000000\nautofs4 45056 2 - Live 0x0000000000000000";

TEST(OsFeatureSamplesTest, ReadsTheCommandLineOutsideOfQuotes) {
  const Samples cos = osFeatureSamples(kCosCmdline, "", {});
  EXPECT_EQ(cos.size(), 5u);
  EXPECT_EQ(feature(cos, "KTD"), 0) << "what is quoted is one argument";
  EXPECT_EQ(feature(cos, "UnifiedCgroupHierarchy"), 0) << "false is no number";
  EXPECT_EQ(feature(cos, "KernelModuleIntegrity"), 0);
  const Samples on = osFeatureSamples(
      "csm.enabled=1 systemd.unified_cgroup_hierarchy=\"1\" module.sig_enforce=1 loadpin.enabled=1\n", "",
      {});
  for (const char* name : {"KTD", "UnifiedCgroupHierarchy", "KernelModuleIntegrity"}) {
    EXPECT_EQ(feature(on, name), 1) << name;
  }
  EXPECT_EQ(feature(osFeatureSamples("csm.enabled=1 csm.enabled=0", "", {}), "KTD"), 0)
      << "the last one counts";
}

TEST(OsFeatureSamplesTest, TellsForeignModulesThatAreNotKnown) {
  EXPECT_EQ(feature(osFeatureSamples("", kCosModules, {}), "UnknownModules", "loadpin_trigger"), 1);
  EXPECT_EQ(feature(osFeatureSamples("", kCosModules, {"loadpin_trigger"}), "UnknownModules"), 0);
  EXPECT_EQ(feature(osFeatureSamples("", kUbuntuModules, {}), "UnknownModules"), 0);
  const Samples gpu = osFeatureSamples("",
                                       "nvidia_uvm 1 0 - Live 0x0 (PO)\nneuron 2 0 - Live 0x0 (OE)\n"
                                       "lustre 3 0 - Live 0x0 (P)\nunsigned 4 0 - Live 0x0 (E)\n",
                                       {});
  EXPECT_EQ(feature(gpu, "GPUSupport"), 1);
  EXPECT_EQ(feature(gpu, "UnknownModules", "neuron,lustre"), 1);
  EXPECT_EQ(feature(osFeatureSamples("", kUbuntuModules, {}), "GPUSupport"), 0);
}

TEST(KnownModulesTest, ReadsAListAndSaysWhereItIsWrong) {
  EXPECT_EQ(parseKnownModules(R"([{"moduleName": "xor"}, {"modulename": "raid6_pq"}])", "f")->size(), 2u);
  EXPECT_EQ(parseKnownModules(R"([{"moduleName": 1}])", "f").error().toString(),
            "f:1:17: [0].moduleName: expected a string, found an integer");
}

}  // namespace
}  // namespace mainstay::agent::stats
