#include "agent/probes/neuron_stream.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/text.h"

namespace mainstay::agent::probes {
namespace {

constexpr std::size_t kMaxDevices = 64;
constexpr std::size_t kMaxQuote = 120;  // bytes of a line or an error that are told
constexpr Duration kOneRead = std::chrono::milliseconds(50);
constexpr std::array kHardwareCounters = {"mem_ecc_corrected", "mem_ecc_uncorrected", "sram_ecc_corrected",
                                          "sram_ecc_uncorrected"};

std::string quote(std::string_view text) {
  return std::string(cutUtf8(sanitizeUtf8(text), kMaxQuote));
}

void readDevice(const Cursor& at, NeuronReport& report) {
  const std::int64_t device = at.at("neuron_device_index").integer();
  for (const char* name : kHardwareCounters) {
    if (const std::int64_t count = at.at(name).integer(0); at.at(name).exists() && count >= 0) {
      report[std::to_string(device)][name] = static_cast<std::uint64_t>(count);
    }
  }
}

}  // namespace

Result<NeuronReport> parseNeuronReport(std::string_view line) {
  MAINSTAY_ASSIGN(const Json document, parseJson(line));
  DecodeErrors errors;
  const Cursor group = Cursor(document, errors).at("system_data").at("neuron_hw_counters");
  const auto devices = group.at("neuron_devices").elements();
  const std::string complaint = group.at("error").string("");
  NeuronReport report;
  for (std::size_t i = 0; i < std::min(devices.size(), kMaxDevices); ++i) {
    readDevice(devices[i], report);
  }
  MAINSTAY_TRY(errors.result());
  if (!complaint.empty()) {
    return fail(Code::kUnavailable, "neuron_hw_counters: " + quote(complaint));
  }
  return report;
}

std::vector<NeuronReport> NeuronStream::poll(TimePoint now) {
  std::vector<NeuronReport> reports;
  if (!read_ && start_ && now >= startAt_) {
    begin(now);
  }
  if (!read_) {
    return reports;
  }
  Lines lines;
  const std::string ended = readLines(lines);
  takeLines(lines, now, reports);
  if (!read_) {
    return reports;  // given up by what it printed
  }
  if (!ended.empty()) {
    giveUp("ended with " + ended, now);
  } else if (now - lastReport_ >= kSilence) {
    giveUp("has printed no hardware counters for " + humanDuration(now - lastReport_), now);
  }
  return reports;
}

void NeuronStream::begin(TimePoint now) {
  auto started = start_(program_);
  if (started) {
    read_ = *std::move(started);
    splitter_ = LineSplitter(kMaxLine);
    lastReport_ = now;
  } else if (started.error().code() == Code::kNotFound) {
    trouble_.clear();  // not, or not any more, installed
  } else {
    giveUp("cannot be started: " + started.error().toString(), now);
  }
}

// What it has printed; how it ended, "" while it runs.
std::string NeuronStream::readLines(Lines& lines) {
  const Deadline patience = Deadline::after(kLinePatience);
  StreamPiece piece = read_(Duration{});
  splitter_.take(piece.text, lines);
  while (piece.ended.empty() && splitter_.isWaiting() && lines.tooLong == 0 && !patience.expired()) {
    piece = read_(kOneRead);
    splitter_.take(piece.text, lines);
  }
  return piece.ended;
}

void NeuronStream::takeLines(const Lines& lines, TimePoint now, std::vector<NeuronReport>& reports) {
  for (const std::string& line : lines.lines) {
    auto report = parseNeuronReport(line);
    if (!report) {
      giveUp("printed what tells no counters (" + report.error().toString() + "): " + quote(line), now);
      return;
    }
    if (!report->empty()) {
      lastReport_ = now;
      trouble_.clear();
      pause_ = kFirstPause;
      reports.push_back(*std::move(report));
    }
  }
  if (lines.tooLong > 0) {
    giveUp("printed a line of more than " + std::to_string(kMaxLine >> 10) + " KiB", now);
  }
}

void NeuronStream::giveUp(const std::string& why, TimePoint now) {
  trouble_ = program_ + " " + why + "; it is started again in " + humanDuration(pause_);
  startAt_ = now + pause_;
  pause_ = std::min(2 * pause_, kMaxPause);
  read_ = nullptr;
}

}  // namespace mainstay::agent::probes
