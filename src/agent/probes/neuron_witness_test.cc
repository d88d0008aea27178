#include "agent/probes/neuron_witness.h"

#include <gtest/gtest.h>

#include <thread>

namespace mainstay::agent::probes {
namespace {

using namespace std::chrono_literals;

fault::Sighting neuronError(const std::string& code, const std::string& device) {
  fault::Sighting sighting;
  sighting.code = code;
  sighting.device = device;
  sighting.last = TimePoint(1h);
  return sighting;
}

TEST(NeuronWitnessTest, ComparesALineWithTheCounters) {
  const ReadNeuronCounter read = [](const std::string& device, const std::string& counter) {
    return device == "0" ? std::optional<std::uint64_t>(counter == "mem_ecc_repairable_uncorrected" ? 1 : 0)
                         : std::nullopt;
  };
  const auto answer = [&](const std::string& code, const std::string& device) {
    return neuronTestimony(read, neuronError(code, device)).answer;
  };
  using fault::Corroboration;
  EXPECT_EQ(answer("HBM_UNCORRECTABLE_ERROR", "nd0"), Corroboration::kBorneOut);
  EXPECT_EQ(answer("SRAM_UNCORRECTABLE_ERROR", "0"), Corroboration::kContradicted);
  EXPECT_EQ(answer("NC_UNCORRECTABLE_ERROR", "nd0"), Corroboration::kContradicted);
  EXPECT_EQ(answer("DMA_ERROR", "nd0"), Corroboration::kUnknown);
  EXPECT_EQ(answer("HBM_UNCORRECTABLE_ERROR", "nd1"), Corroboration::kUnknown);
  EXPECT_EQ(answer("HBM_UNCORRECTABLE_ERROR", "nd../0"), Corroboration::kUnknown);
}

// Asks until the thread has read.
fault::Testimony awaited(const fault::Witness& witness, const fault::Sighting& sighting) {
  fault::Testimony testimony = witness(sighting);
  while (testimony.answer == fault::Corroboration::kAwaited) {
    std::this_thread::yield();
    testimony = witness(sighting);
  }
  return testimony;
}

TEST(NeuronWitnessTest, ReadsThemAnewForALaterLine) {
  const std::string counter =
      "/sys/devices/virtual/neuron_device/neuron0/stats/hardware/sram_ecc_uncorrected";
  FakeFileSystem files({{counter, "0"}});
  const fault::Witness witness = neuronWitness(HostFiles(files));
  fault::Sighting line = neuronError("SRAM_UNCORRECTABLE_ERROR", "nd0");
  EXPECT_EQ(witness(line).answer, fault::Corroboration::kAwaited) << "the loop never waits for a driver";
  EXPECT_EQ(awaited(witness, line).answer, fault::Corroboration::kContradicted);
  ASSERT_TRUE(files.write(counter, "1"));
  line.last += 1s;
  EXPECT_EQ(awaited(witness, line).answer, fault::Corroboration::kBorneOut);
  EXPECT_EQ(witness(neuronError("SRAM_UNCORRECTABLE_ERROR", "nd0")).answer, fault::Corroboration::kBorneOut);
}

}  // namespace
}  // namespace mainstay::agent::probes
