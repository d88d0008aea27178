#include "agent/probes/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/probes/testing.h"

namespace mainstay::agent::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ProbeBench;

constexpr char kPort[] = "/sys/class/infiniband/mlx5_0/ports/1/";
constexpr char kNic[] = "/sys/class/net/eth0/";

class NetworkProbeTest : public ::testing::Test {
 protected:
  NetworkProbeTest() {
    port("state", "4: ACTIVE").put(std::string(kPort) + "phys_state", "5: LinkUp");
    port("rate", "400 Gb/sec (4X NDR)");
    for (const char* counter :
         {"counters/link_downed", "counters/symbol_error", "counters/excessive_buffer_overrun_errors",
          "hw_counters/rnr_nak_retry_err"}) {
      port(counter, "0");
    }
  }
  ProbeBench& port(const std::string& file, const std::string& content) {
    return bench.put(kPort + file, content);
  }
  ProbeBench& nic(const std::string& file, const std::string& content) {
    return bench.put(kNic + file, content);
  }

  ProbeBench bench{networkProbe()};
};

TEST_F(NetworkProbeTest, APortThatWasUpIsMissed) {
  EXPECT_THAT(bench.look(), IsEmpty());
  port("state", "1: DOWN").put(std::string(kPort) + "phys_state", "2: Polling");
  EXPECT_THAT(bench.look(), ElementsAre("RdmaPortDown mlx5_0/1"));
  EXPECT_EQ(bench.message("RdmaPortDown"), "mlx5_0/1: the port is 1: DOWN, physically 2: Polling");
  port("state", "4: ACTIVE");
  EXPECT_THAT(bench.look(), IsEmpty());
  EXPECT_TRUE(bench.last().isFine.contains({"RdmaPortDown", "mlx5_0/1"}));
}

TEST_F(NetworkProbeTest, APortThatWasNeverUpHasNoCable) {
  port("state", "1: DOWN");
  EXPECT_THAT(bench.look(), IsEmpty());
  port("counters/link_downed", "1");  // it had one, before this agent came
  EXPECT_THAT(bench.look(), ElementsAre("RdmaPortDown mlx5_0/1"));
}

TEST_F(NetworkProbeTest, CountersAgainstTheirLimits) {
  bench.look();
  port("counters/symbol_error", "120").put(std::string(kPort) + "counters/link_downed", "3");
  EXPECT_THAT(bench.look(), IsEmpty());
  port("counters/symbol_error", "125").put(std::string(kPort) + "counters/link_downed", "4");
  port("counters/excessive_buffer_overrun_errors", "1")
      .put(std::string(kPort) + "hw_counters/rnr_nak_retry_err", "1");
  EXPECT_THAT(bench.look(), ElementsAre("RdmaLinkFlapping mlx5_0/1", "RdmaBufferOverruns mlx5_0/1",
                                        "RdmaSymbolErrors mlx5_0/1", "RdmaReceiverNotReady mlx5_0/1"));
}

TEST_F(NetworkProbeTest, ADeviceThatIsGoneAndOneThatIsSlower) {
  bench.look();
  port("rate", "100 Gb/sec (4X EDR)");
  EXPECT_THAT(bench.look(), ElementsAre("RdmaPortSlow mlx5_0/1"));
  bench.remove("/sys/class/infiniband/mlx5_0");
  EXPECT_THAT(bench.look(), ElementsAre("RdmaDeviceGone mlx5_0"));
}

TEST_F(NetworkProbeTest, EfaCounters) {
  const std::string efa = "/sys/class/infiniband/rdmap0s6/ports/1/";
  bench.put(efa + "state", "4: ACTIVE").put(efa + "hw_counters/rx_drops", "0");
  bench.put(efa + "hw_counters/retrans_pkts", "0").look();
  bench.put(efa + "hw_counters/rx_drops", "13000").put(efa + "hw_counters/retrans_pkts", "59000");
  EXPECT_THAT(bench.look(), ElementsAre("EfaReceiveDrops rdmap0s6/1"));
}

TEST_F(NetworkProbeTest, AnInterfaceWithoutCarrierMattersWhenItIsOnAndWasUp) {
  struct Case {
    const char* flags;
    const char* carrier;
    const char* ups;
    bool seen;
  };
  nic("device/vendor", "0x1d0f");
  for (const Case& c : {Case{"0x1003", "1", "1", false}, Case{"0x1003", "0", "1", true},
                        Case{"0x1003", "0", "0", false}, Case{"0x1002", "0", "1", false}}) {
    nic("flags", c.flags)
        .put(std::string(kNic) + "carrier", c.carrier)
        .put(std::string(kNic) + "carrier_up_count", c.ups);
    EXPECT_EQ(bench.look() == std::vector<std::string>{"NicLinkDown eth0"}, c.seen)
        << c.flags << c.carrier << c.ups;
  }
  bench.put("/sys/class/net/veth1/flags", "0x1003").put("/sys/class/net/veth1/carrier", "0");
  bench.put("/sys/class/net/veth1/carrier_up_count", "1");
  EXPECT_THAT(bench.look(), IsEmpty());
}

TEST_F(NetworkProbeTest, AnInterfaceThatFlapsOrSlowsDown) {
  nic("device/vendor", "0x1d0f")
      .put(std::string(kNic) + "flags", "0x1003")
      .put(std::string(kNic) + "carrier", "1");
  nic("speed", "100000").put(std::string(kNic) + "carrier_down_count", "7");
  EXPECT_THAT(bench.look(), IsEmpty());
  nic("carrier_down_count", "10");
  EXPECT_THAT(bench.look(), ElementsAre("NicLinkFlapping eth0"));
  EXPECT_THAT(nic("speed", "-1").look(15min), IsEmpty());
  EXPECT_THAT(nic("speed", "25000").look(), ElementsAre("NicLinkSlow eth0"));
}

}  // namespace
}  // namespace mainstay::agent::probes
