// NeuronStream: neuron-monitor at work. It prints a report as one line of JSON every few seconds, of which the hardware
// counters are read. The program is AWS's: its lines are read as a stranger's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/probes/host_calls.h"
#include "agent/sources/line_splitter.h"

namespace mainstay::agent::probes {

// Its counters (mem_ecc_uncorrected and so on) by device, "0".
using NeuronReport = std::map<std::string, std::map<std::string, std::uint64_t>>;

// Nothing in it when the report has no group of hardware counters this time. An error that the program tells in that
// group is an error here.
Result<NeuronReport> parseNeuronReport(std::string_view line);

// Used by one thread, which may wait for kLinePatience.
class NeuronStream {
 public:
  // `start` may be empty: there is no such program.
  NeuronStream(std::function<Result<ReadStream>(const std::string&)> start, std::string program)
      : start_(std::move(start)), program_(std::move(program)) {}

  // Starts the program, reads what it has printed, and starts it again when it ended, printed what is no report or nothing
  // for kSilence: after a pause, which doubles each time. The reports that have counters, oldest first.
  std::vector<NeuronReport> poll(TimePoint now);
  // Why the counters are not known; "" = they are, or the program is not installed.
  const std::string& trouble() const { return trouble_; }

  static constexpr std::size_t kMaxLine =
      1u << 20;  // a report of 16 devices and their runtimes has some 100 KiB
  static constexpr Duration kLinePatience = std::chrono::seconds(2);  // for the rest of a line that has begun
  static constexpr Duration kSilence =
      std::chrono::minutes(2);  // it prints every 5 s unless configured otherwise
  static constexpr Duration kFirstPause = std::chrono::seconds(30);
  static constexpr Duration kMaxPause = std::chrono::minutes(15);

 private:
  void begin(TimePoint now);
  std::string readLines(Lines& lines);
  void takeLines(const Lines& lines, TimePoint now, std::vector<NeuronReport>& reports);
  void giveUp(const std::string& why, TimePoint now);

  std::function<Result<ReadStream>(const std::string&)> start_;
  std::string program_;
  ReadStream read_;  // empty: it does not run
  LineSplitter splitter_{kMaxLine};
  TimePoint lastReport_{};
  TimePoint startAt_{};
  Duration pause_ = kFirstPause;
  std::string trouble_;
};

}  // namespace mainstay::agent::probes
