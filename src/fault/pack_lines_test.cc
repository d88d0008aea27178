// What the shipped packs make of lines from the field: single ones (tests/fault/kernel_lines.yaml), and stories of several.
#include <gmock/gmock.h>

#include <fstream>

#include "base/yaml.h"
#include "fault/engine.h"
#include "fault/shipped_packs.h"

namespace mainstay::fault {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class PackLines : public testing::Test {
 protected:
  void line(const std::string& text, Duration later = milliseconds(1)) {
    Record record;
    record.priority = 3;
    record.time = now_ += later;
    record.text = text;
    take(engine_.take(record));
  }

  // All that stands: "condition/reason device action".
  std::vector<std::string> conditions() {
    take(engine_.step(now_ + std::chrono::hours(1)));
    std::vector<std::string> all;
    for (const auto& [key, sighting] : known_) {
      if (!sighting.condition.empty()) {
        all.push_back(sighting.condition + "/" + sighting.reason + " " + sighting.device + " " +
                      std::string(actionName(sighting.action)));
      }
    }
    return all;
  }

  void forget() {
    engine_.forget();
    known_.clear();
    events_.clear();
  }

  Engine engine_{shippedPacks().value()};
  std::map<std::string, Sighting> known_;  // raised or held, and not ended; by id and device
  std::vector<std::string> events_;

 private:
  void take(const std::vector<Outcome>& outcomes) {
    for (const Outcome& outcome : outcomes) {
      const std::string key = outcome.sighting.id + "@" + outcome.sighting.device;
      const bool ended = outcome.kind == Outcome::Kind::kCancelled ||
                         outcome.kind == Outcome::Kind::kResolved || outcome.kind == Outcome::Kind::kFolded;
      if (ended) {
        known_.erase(key);
      } else {
        known_[key] = outcome.sighting;
      }
      if (outcome.event) {
        events_.push_back(outcome.sighting.effect->event);
      }
    }
  }

  TimePoint now_{std::chrono::hours(24)};
};

Json linesFile() {
  const std::string path = MAINSTAY_SOURCE_DIR "/tests/fault/kernel_lines.yaml";
  std::ifstream stream(path);
  const auto documents = parseYaml(std::string{std::istreambuf_iterator<char>(stream), {}}, path);
  EXPECT_TRUE(documents) << documents.error().toString();
  return documents && documents->size() == 1 ? documents->front().value : Json();
}

TEST_F(PackLines, OfFaultsMeanWhatTheyShould) {
  const Json file = linesFile();
  for (const auto& row : file.at("lines").as_array()) {
    const std::string text(row.at(3).as_string());
    forget();
    line(text);
    ASSERT_THAT(known_, testing::SizeIs(1)) << text;
    const Sighting& found = known_.begin()->second;
    EXPECT_EQ(found.id, row.at(0).as_string()) << text;
    EXPECT_EQ(found.condition, row.at(1).as_string()) << text;
    EXPECT_EQ(actionName(found.action), row.at(2).as_string()) << text;
  }
}

TEST_F(PackLines, OfEverydayLifeMeanNothing) {
  const Json file = linesFile();
  for (const auto& text : file.at("silent").as_array()) {
    forget();
    line(std::string(text.as_string()));
    EXPECT_THAT(known_, IsEmpty()) << text.as_string();
  }
}

TEST_F(PackLines, OfAFatalPcieErrorAreOneFaultUnlessItRecovers) {
  const auto error = [&](const std::string& verdict) {
    forget();
    line("pcieport 0000:3a:01.0: AER: Uncorrectable (Fatal) error message received from 0000:3b:00.0",
         minutes(5));
    line(
        "nvme 0000:3b:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, "
        "(Requester ID)");
    line("nvme 0000:3b:00.0:    [18] MalfTLP                (First)");
    line("pcieport 0000:3a:02.0: AER: " + verdict, seconds(1));
  };
  error("device recovery failed");
  EXPECT_THAT(conditions(), ElementsAre("PCIeFault/AerFatal 0000:3b:00.0 reboot"));
  EXPECT_THAT(events_, ElementsAre("PcieFatal"));
  error("device recovery successful");
  EXPECT_THAT(conditions(), IsEmpty());
  EXPECT_THAT(events_, ElementsAre("PcieRecovered"));
}

TEST_F(PackLines, OfADriverThatCannotRecoverAreNoFaultAfterAnErrorThatWasNotFatal) {
  line("pcieport 0000:00:03.0: AER: Uncorrected (Non-Fatal) error received: 0000:03:00.0");
  line(
      "nvidia 0000:03:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, "
      "(Requester ID)");
  line("nvidia 0000:03:00.0:    [20] UnsupReq               (First)");
  line("nvidia 0000:03:00.0: AER: can't recover (no error_detected callback)");
  line("pcieport 0000:00:03.0: AER: device recovery failed", seconds(1));
  EXPECT_THAT(conditions(), IsEmpty());
  EXPECT_THAT(events_, ElementsAre("PcieError"));
}

TEST_F(PackLines, OfALostDiskAndItsFileSystemAreTwoConditions) {
  line("nvme nvme2: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff");
  EXPECT_THAT(conditions(), IsEmpty()) << "it may come back";
  line("nvme nvme2: Disabling device after reset failure: -19", seconds(30));
  line("I/O error, dev nvme2n1, sector 1953525168 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2");
  line("Buffer I/O error on dev nvme2n1, logical block 244190646, lost async page write");
  line(
      "EXT4-fs error (device nvme2n1): __ext4_find_entry:1683: inode #2: comm kubelet: reading directory "
      "lblock 0");
  line("Aborting journal on device nvme2n1-8.");
  line("EXT4-fs (nvme2n1): Remounting filesystem read-only");
  EXPECT_THAT(conditions(), UnorderedElementsAre("StorageFault/NvmeLost nvme2 replace",
                                                 "ReadonlyFilesystem/RemountedReadOnly nvme2n1 reboot"));
  EXPECT_THAT(events_, ElementsAre("DiskError", "DiskError", "DiskError"));
}

TEST_F(PackLines, OfSectorsThatCannotBeReadAskForAnotherNodeAtTheThird) {
  const auto sector = [&](const std::string& number) {
    line("critical medium error, dev nvme1n1, sector " + number +
             " op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2",
         minutes(30));
  };
  for (const char* number : {"2048", "2048", "2048", "4096"}) {
    sector(number);
  }
  EXPECT_THAT(conditions(), IsEmpty()) << "two places";
  sector("8192");
  EXPECT_THAT(conditions(), ElementsAre("StorageFault/MediumErrors nvme1 replace"));
}

TEST_F(PackLines, OfACpuCountOnlyWhenItStaysStuck) {
  for (const char* cpu : {"1", "2", "3", "4"}) {
    line("watchdog: BUG: soft lockup - CPU#" + std::string(cpu) + " stuck for 3600s! [swapper/1:0]",
         seconds(1));
  }
  EXPECT_THAT(conditions(), IsEmpty()) << "the host let the guest sleep";
  line("watchdog: BUG: soft lockup - CPU#4 stuck for 52s! [swapper/4:0]", seconds(28));
  line("watchdog: BUG: soft lockup - CPU#4 stuck for 78s! [swapper/4:0]", seconds(28));
  EXPECT_THAT(conditions(), ElementsAre("KernelFault/SoftLockup cpu4 reboot"));
}

TEST_F(PackLines, OfStallsCountWhenTheyLast) {
  line("rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:");
  line(
      R"(rcu: \x0910-...0: (1 GPs behind) idle=c5dc/1/0x4000000000000002 softirq=37828505/37828505 fqs=12593)");
  line(
      "rcu: rcu_preempt kthread starved for 21002 jiffies! g12345 f0x0 RCU_GP_WAIT_FQS(5) ->state=0x0 "
      "->cpu=7");
  line("rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", minutes(3));
  EXPECT_THAT(conditions(), IsEmpty());
  EXPECT_THAT(events_, ElementsAre("RcuStall"));
  line("rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", minutes(3));
  EXPECT_THAT(conditions(), ElementsAre("KernelFault/RcuStall  reboot"));
}

TEST_F(PackLines, OfADeviceThatIsNotFreedCountAfterAMinute) {
  for (int i = 0; i < 6; ++i) {
    line("unregister_netdevice: waiting for vethaaaa1 to become free. Usage count = 2", seconds(10));
    line("unregister_netdevice: waiting for vethbbbb2 to become free. Usage count = 2");
  }
  EXPECT_THAT(conditions(), IsEmpty());
  line("unregister_netdevice: waiting for vethaaaa1 to become free. Usage count = 2", seconds(10));
  EXPECT_THAT(conditions(), ElementsAre("KernelFault/NetdeviceStuck  reboot"));
  EXPECT_THAT(events_, ElementsAre("UnregisterNetDevice"));
}

TEST_F(PackLines, OfACrashOfTheKernelAreOneEvent) {
  line("BUG: unable to handle page fault for address: ffffc90000a0b000");
  line("#PF: supervisor write access in kernel mode");
  line("Oops: Oops: 0002 [#1] PREEMPT SMP NOPTI");
  line("RIP: 0010:nvidia_dma_unmap_alloc+0x1f/0x90 [nvidia]");
  EXPECT_THAT(conditions(), ElementsAre("KernelFault/KernelOops  reboot"));
  EXPECT_THAT(events_, ElementsAre("KernelOops"));
}

TEST_F(PackLines, OfALinkThatFlapsCountFiveTimesInTenMinutes) {
  const auto flap = [&](Duration later) {
    line("mlx5_core 0000:4b:00.0 enp75s0np0: Link down", later);
    line("mlx5_core 0000:4b:00.0 enp75s0np0: Link up", seconds(20));
  };
  for (int i = 0; i < 8; ++i) {
    flap(minutes(4));
  }
  EXPECT_THAT(conditions(), IsEmpty()) << "three in ten minutes";
  for (int i = 0; i < 4; ++i) {
    flap(minutes(1));
  }
  EXPECT_THAT(conditions(), ElementsAre("NICFault/LinkFlap 0000:4b:00.0 none"));
}

TEST_F(PackLines, OfAnAdapterThatItsDriverGetsBackAreNoFault) {
  const std::string compromised =
      "mlx5_core 0000:d2:00.0: poll_health:825:(pid 0): device's health compromised - reached miss count";
  line(compromised);
  line("mlx5_core 0000:d2:00.0: mlx5_try_recover:347:(pid 77): health recovery succeeded", seconds(40));
  EXPECT_THAT(conditions(), IsEmpty());
  line(compromised, minutes(5));
  line("mlx5_core 0000:d2:00.0: mlx5_try_recover:343:(pid 77): health recovery failed", seconds(40));
  EXPECT_THAT(conditions(), ElementsAre("NICFault/Mlx5HealthCompromised 0000:d2:00.0 reboot"));
  line("mlx5_core 0000:d2:00.0: print_health_info:427:(pid 0): synd 0x8: unrecoverable hardware error");
  EXPECT_THAT(conditions(), ElementsAre("NICFault/Mlx5HealthCompromised 0000:d2:00.0 replace"));
}

TEST_F(PackLines, OfAnEfaAdapterWithoutItsQueueAreOneFault) {
  const std::string efa = "efa 0000:a0:1a.0 rdmap160s26: ";
  line(efa + "Failed to process command DEREG_MR (opcode 8) comp_status 7 err -22");
  EXPECT_THAT(conditions(), IsEmpty());
  forget();
  line(efa +
       "The device didn't send any completion for admin cmd REG_MR(7) status 2 (id: 45, sq producer: 78, sq "
       "consumer: 77, cq consumer: 77)");
  line(efa + "Failed to process command REG_MR (opcode 7) err -62");
  line(efa + "Admin queue is closed");
  line(efa + "Failed to submit command CREATE_AH (opcode 5) err -19");
  EXPECT_THAT(conditions(), ElementsAre("FabricFault/EfaAdminQueueDead 0000:a0:1a.0 reboot"));
  EXPECT_THAT(events_, ElementsAre("EfaCommandError"));
}

TEST_F(PackLines, OfCorrectedMemoryErrorsAreATrendAndNoFault) {
  const auto corrected = [&](const std::string& dimm) {
    line("EDAC MC0: 1 CE memory read error on " + dimm +
             " (channel:0 slot:0 page:0x12345 offset:0x0 grain:32 syndrome:0x0 - err_code:0x0101:0x0090)",
         minutes(61));
  };
  for (int i = 0; i < 9; ++i) {
    corrected("DIMM_A1");
    corrected("DIMM_B1");
  }
  EXPECT_THAT(events_, testing::Each("MemoryCorrected"));
  corrected("DIMM_A1");
  EXPECT_THAT(events_, testing::Contains("MemoryCorrectedMany").Times(1));
  EXPECT_THAT(conditions(), IsEmpty());
}

TEST_F(PackLines, OfAnAmdGpuThatItsDriverResetsAreNoFaultWhenItWorksAgain) {
  const std::string gpu = "amdgpu 0000:c1:00.0: amdgpu: ";
  line(gpu + "{3}socket: 1, die: 0, 1 new uncorrectable hardware errors detected in umc block");
  line(gpu + "{3}socket: 1, die: 0, 4 uncorrectable hardware errors detected in total in umc block");
  line(gpu + "GPU reset begin!");
  line("[drm] VRAM is lost due to GPU reset!", seconds(8));
  line(gpu + "GPU reset(2) succeeded!", seconds(8));
  EXPECT_THAT(conditions(), IsEmpty());
  EXPECT_THAT(events_, ElementsAre("AmdGpuReset", "AmdGpuRecovered"));
  line(gpu + "GPU reset for gfx RAS poison consumption is issued!", minutes(20));
  line(gpu + "GPU reset(3) failed", seconds(8));
  EXPECT_THAT(conditions(), UnorderedElementsAre("GPUFault/RasPoisonConsumed 0000:c1:00.0 reset",
                                                 "GPUFault/GPUResetFailed 0000:c1:00.0 reboot"));
}

TEST_F(PackLines, OfAGaudiThatItsDriverResetsAreNoFaultWhenItWorksAgain) {
  line("habanalabs hl0: Device heartbeat failed! PCI link is up");
  line("habanalabs hl0: Going to reset device");
  line("habanalabs hl0: Successfully finished resetting the 0000:33:00.0 device", seconds(20));
  EXPECT_THAT(conditions(), IsEmpty());
  line("habanalabs hl0: Device heartbeat failed! PCI link is up", minutes(20));
  line("habanalabs hl0: 0000:33:00.0 Failed to reset! Device is NOT usable", seconds(20));
  EXPECT_THAT(conditions(),
              UnorderedElementsAre("GPUFault/HeartbeatLost hl0 reset", "GPUFault/GPUResetFailed hl0 reboot"));
}

TEST_F(PackLines, OfTheEndOfAJobAreNoFaultOfTheNode) {
  line(
      "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further "
      "processing");
  line(
      "pt_main_thread[2536443]: segfault at 7f797fe00000 ip 00007f7c7ac69996 sp 00007f7c12fd7c30 error 4 in "
      "libnccl.so.2[7f7c7ac00000+d3d3000]");
  line("python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=997");
  line(
      "Memory cgroup out of memory: Killed process 4711 (python3) total-vm:123456kB, anon-rss:100000kB, "
      "file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:300kB oom_score_adj:997");
  line("nfs: server 192.0.2.16 not responding, still trying");
  line("nfs: server 192.0.2.16 OK", seconds(11));
  EXPECT_THAT(conditions(), IsEmpty());
  EXPECT_THAT(events_, ElementsAre("AppCrash", "PodOOM", "NfsPause"));
}

}  // namespace
}  // namespace mainstay::fault
