#include "agent/probes/neuron_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "agent/probes/neuron.h"
#include "agent/probes/stream_child.h"
#include "agent/probes/testing.h"
#include "base/file_system.h"

namespace mainstay::agent::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ProbeBench;

// A report as neuron-monitor prints it, of one device.
std::string reportLine(const std::string& counters, const std::string& error = "") {
  return R"({"neuron_runtime_data": [], "system_data": {"memory_info": {"error": ""}, "neuron_hw_counters": {)"
         R"("period": 5.01, "neuron_devices": [{"neuron_device_index": 0, )" +
         counters + R"(}], "error": ")" + error + "\"}}}\n";
}
const std::string kWell = reportLine(R"("mem_ecc_corrected": 0, "mem_ecc_uncorrected": 0)");

// The program as a test plays it.
struct PlayedProgram {
  Result<ReadStream> start(const std::string& name) {
    if (!installed) {
      return fail(Code::kNotFound, name + " is not in PATH");
    }
    ++starts;
    ended.clear();
    return [this](Duration) { return StreamPiece{std::exchange(prints, ""), ended}; };
  }
  std::function<Result<ReadStream>(const std::string&)> starter() {
    return [this](const std::string& name) { return start(name); };
  }

  bool installed = true;
  int starts = 0;
  std::string prints;
  std::string ended;
};

class NeuronStreamTest : public ::testing::Test {
 protected:
  std::size_t poll(const std::string& prints, Duration later = 5s) {
    now += later;
    program.prints += prints;
    return stream.poll(now).size();
  }

  PlayedProgram program;
  NeuronStream stream{program.starter(), "neuron-monitor"};
  TimePoint now = *parseTime("2026-11-29T20:14:07Z");
};

TEST(NeuronReportTest, TellsCountersByDevice) {
  const auto report = parseNeuronReport(reportLine(R"("mem_ecc_uncorrected": 2, "sram_ecc_uncorrected": 0)"));
  ASSERT_TRUE(report) << report.error().toString();
  EXPECT_EQ(*report, (NeuronReport{{"0", {{"mem_ecc_uncorrected", 2}, {"sram_ecc_uncorrected", 0}}}}));
  EXPECT_TRUE(parseNeuronReport(R"({"system_data": {"neuron_hw_counters": null}})")->empty());
  EXPECT_TRUE(parseNeuronReport("{}")->empty());
  EXPECT_FALSE(parseNeuronReport("NRT: no such device"));
  EXPECT_FALSE(parseNeuronReport(R"({"system_data": 7})"));
  EXPECT_FALSE(parseNeuronReport(reportLine(R"("mem_ecc_uncorrected": "2")")));
  EXPECT_THAT(parseNeuronReport(reportLine("\"mem_ecc_uncorrected\": 0", "no driver")).error().toString(),
              HasSubstr("neuron_hw_counters: no driver"));
}

TEST_F(NeuronStreamTest, ReportsComeInWholeLines) {
  EXPECT_EQ(poll(kWell + kWell), 2u);
  EXPECT_EQ(poll(kWell), 1u);
  EXPECT_EQ(program.starts, 1);
  EXPECT_EQ(stream.trouble(), "");
}

TEST_F(NeuronStreamTest, WhatIsNotInstalledIsNothingToWatch) {
  program.installed = false;
  EXPECT_EQ(poll(""), 0u);
  EXPECT_EQ(stream.trouble(), "");
  program.installed = true;
  EXPECT_EQ(poll(kWell), 1u) << "installed later";
  NeuronStream none({}, "neuron-monitor");
  EXPECT_THAT(none.poll(now), IsEmpty());
}

TEST_F(NeuronStreamTest, ADeadProgramIsStartedAgainAfterGrowingPauses) {
  poll(kWell);
  const auto dies = [&](Duration later) {
    now += later;
    const int before = program.starts;
    stream.poll(now);
    program.ended = "signal 9";
    stream.poll(now);
    return program.starts - before;
  };
  EXPECT_EQ(dies(5s), 0);
  EXPECT_EQ(stream.trouble(), "neuron-monitor ended with signal 9; it is started again in 30 s");
  EXPECT_EQ(dies(29s), 0);
  EXPECT_EQ(dies(1s), 1);
  EXPECT_THAT(stream.trouble(), HasSubstr("again in 60 s"));
  EXPECT_EQ(dies(59s), 0);
  EXPECT_EQ(dies(1s), 1);
  for (int i = 0; i < 10; ++i) {
    dies(15min);
  }
  EXPECT_THAT(stream.trouble(), HasSubstr("again in 15 min"));
  EXPECT_EQ(poll(kWell, 15min), 1u);
  EXPECT_EQ(stream.trouble(), "");
  dies(5s);
  EXPECT_THAT(stream.trouble(), HasSubstr("again in 30 s")) << "it had worked";
}

TEST_F(NeuronStreamTest, GarbageAndSilenceAreBlindness) {
  poll(kWell);
  EXPECT_EQ(poll("NRT: oops\n" + kWell), 0u);
  EXPECT_THAT(stream.trouble(), HasSubstr("printed what tells no counters"));
  EXPECT_THAT(stream.trouble(), HasSubstr("NRT: oops"));
  EXPECT_EQ(poll("", 25s), 0u);
  program.prints = kWell;
  EXPECT_EQ(poll("", 5s), 1u);
  EXPECT_EQ(poll("{}\n", NeuronStream::kSilence - 1s), 0u);
  EXPECT_EQ(stream.trouble(), "");
  poll("{}\n", 1s);
  EXPECT_THAT(stream.trouble(), HasSubstr("has printed no hardware counters for 2 min"));
}

TEST_F(NeuronStreamTest, ALineHasABound) {
  EXPECT_EQ(poll(kWell + std::string(NeuronStream::kMaxLine + 1, 'x') + "\n"), 1u);
  EXPECT_THAT(stream.trouble(), HasSubstr("a line of more than 1024 KiB"));
}

// The probe with the program beside its tree.
class NeuronMonitorTest : public ::testing::Test {
 protected:
  NeuronMonitorTest() {
    bench.put("/sys/module/neuron/initstate", "live")
        .put("/sys/devices/virtual/neuron_device/neuron0/stats/hardware/mem_ecc_uncorrected", "0");
  }
  HostCalls calls() {
    HostCalls calls;
    calls.stream = program.starter();
    return calls;
  }
  std::vector<std::string> look(const std::string& prints) {
    program.prints += prints;
    return bench.look();
  }

  PlayedProgram program;
  ProbeBench bench{neuronProbe(), calls(), "trn1.2xlarge"};
};

TEST_F(NeuronMonitorTest, ItsCountersAreCheckedAsTheDrivers) {
  EXPECT_THAT(look(kWell), IsEmpty());
  EXPECT_THAT(look(reportLine(R"("sram_ecc_uncorrected": 1, "mem_ecc_corrected": 120)")),
              ElementsAre("NeuronSramUncorrectableErrors 0", "NeuronHbmCorrectedErrors 0"));
  EXPECT_EQ(bench.message("NeuronSramUncorrectableErrors"),
            "neuron-monitor, Neuron device 0: sram_ecc_uncorrected is 1");
  EXPECT_THAT(look(""), ElementsAre("NeuronSramUncorrectableErrors 0", "NeuronHbmCorrectedErrors 0"))
      << "it stands until it prints again";
}

TEST_F(NeuronMonitorTest, TellsTheSameErrorsOnce) {
  bench.put("/sys/devices/virtual/neuron_device/neuron0/stats/hardware/mem_ecc_uncorrected", "3");
  const std::string report = reportLine(R"("mem_ecc_uncorrected": 3)");
  EXPECT_THAT(look(report + report), ElementsAre("NeuronHbmUncorrectableErrors 0"));
}

TEST_F(NeuronMonitorTest, ItsDeathIsTheProbesBlindness) {
  look(kWell);
  EXPECT_EQ(bench.last().blind, "");
  program.ended = "exit code 1: no Neuron devices";
  EXPECT_THAT(look(""), IsEmpty());
  EXPECT_EQ(bench.last().blind,
            "neuron-monitor ended with exit code 1: no Neuron devices; it is started again in 30 s");
  look(kWell);
  EXPECT_EQ(bench.last().blind, "");
}

TEST(NeuronMonitorWithoutNeuronTest, IsNotStarted) {
  PlayedProgram program;
  HostCalls calls;
  calls.stream = program.starter();
  ProbeBench bench(neuronProbe(), calls, "p5.48xlarge");
  bench.look();
  EXPECT_EQ(program.starts, 0);
}

// A script in the place of the program.
class StreamChildTest : public ::testing::Test {
 protected:
  std::string script(const std::string& body) {
    const std::string path = folder.path() + "/neuron-monitor";
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  // All that it prints until there is so much of it, or it has ended.
  static StreamPiece readUntil(const ReadStream& read, const std::string& text) {
    StreamPiece all;
    while (all.ended.empty() && all.text.find(text) == std::string::npos) {
      const StreamPiece piece = read(50ms);
      all.text += piece.text;
      all.ended = piece.ended;
    }
    return all;
  }

  TemporaryFolder folder{"stream"};
};

TEST_F(StreamChildTest, IsReadWhileItRunsAndKilledWhenItIsLetGoOf) {
  auto read = startStream(script("echo $$; exec sleep 1000"));
  ASSERT_TRUE(read) << read.error().toString();
  const StreamPiece piece = readUntil(*read, "\n");
  EXPECT_EQ(piece.ended, "");
  const std::string process = "/proc/" + piece.text.substr(0, piece.text.find('\n'));
  EXPECT_TRUE(std::filesystem::exists(process));
  *read = nullptr;
  EXPECT_FALSE(std::filesystem::exists(process));
}

TEST_F(StreamChildTest, TellsHowItEnded) {
  const auto read = startStream(script("echo one; echo no driver >&2; exit 3"));
  ASSERT_TRUE(read) << read.error().toString();
  const StreamPiece piece = readUntil(*read, "more than it prints");
  EXPECT_EQ(piece.text, "one\n");
  EXPECT_EQ(piece.ended, "exit code 3: no driver");
}

TEST_F(StreamChildTest, SaysWhenThereIsNone) {
  EXPECT_EQ(startStream("no-such-neuron-monitor").error().code(), Code::kNotFound);
  EXPECT_EQ(startStream(folder.path() + "/none").error().code(), Code::kNotFound);
}

TEST_F(StreamChildTest, AReportOfTheScriptReachesTheProbe) {
  HostCalls calls;
  const std::string path =
      script("cat <<'END'\n" + reportLine("\"mem_ecc_uncorrected\": 7") + "END\nexec sleep 1000");
  calls.stream = [path](const std::string&) { return startStream(path); };
  ProbeBench bench(neuronProbe(), calls, "trn1.2xlarge");
  bench.put("/sys/devices/virtual/neuron_device/neuron0/stats/hardware/mem_ecc_uncorrected", "0");
  while (bench.look(0s).empty() && bench.last().blind.empty()) {
  }
  EXPECT_EQ(bench.message("NeuronHbmUncorrectableErrors"),
            "neuron-monitor, Neuron device 0: mem_ecc_uncorrected is 7");
}

}  // namespace
}  // namespace mainstay::agent::probes
