#include "agent/probes/neuron_witness.h"

#include <algorithm>
#include <array>
#include <map>

#include "agent/aside_thread.h"
#include "agent/probes/neuron.h"

namespace mainstay::agent::probes {
namespace {

// What NEURON_HW_ERR lines say, and the counters that have to rise with it.
struct Evidence {
  std::string_view error;
  std::array<const char*, 2> files;
};
constexpr std::array kEvidence = {
    Evidence{"HBM_UNCORRECTABLE_ERROR", {"mem_ecc_uncorrected", "mem_ecc_repairable_uncorrected"}},
    Evidence{"SRAM_UNCORRECTABLE_ERROR", {"sram_ecc_uncorrected", "sram_ecc_uncorrected"}},
    Evidence{"NC_UNCORRECTABLE_ERROR", {"sram_ecc_uncorrected", "sram_ecc_uncorrected"}},
};

// "3" of "3" and "nd3"; "" of anything else.
std::string deviceNumber(std::string_view device) {
  const std::string_view number = device.starts_with("nd") ? device.substr(2) : device;
  return parseNumber(number) ? std::string(number) : "";
}

// By device and counter.
using CounterTable = std::map<std::pair<std::string, std::string>, std::uint64_t>;

CounterTable readEvidence(const HostFiles& files) {
  HostView view(files);
  CounterTable table;
  for (const std::string& name : view.list(kNeuronDevices)) {
    const std::string device = name.starts_with("neuron") ? name.substr(6) : "";
    for (const Evidence& evidence : kEvidence) {
      for (const char* counter : evidence.files) {
        const std::string path = std::string(kNeuronDevices) + "/" + name + kNeuronCounters + counter;
        if (const auto count = view.numberIfAny(path)) {
          table[{device, counter}] = *count;
        }
      }
    }
  }
  return table;
}

class NeuronWitness {
 public:
  explicit NeuronWitness(const HostFiles& files) : files_(files) {}

  fault::Testimony testify(const fault::Sighting& sighting) {
    if (!thread_) {  // few agents ever need it; nobody waits for its answers: the engine asks again
      thread_ = std::make_unique<Reader>(
          "neuron-witness", [files = files_](TimePoint) { return readEvidence(files); }, nullptr);
    }
    if (auto table = thread_->answer()) {
      known_ = *std::move(table);
      knownUntil_ = askedAt_;
      asked_ = false;
    }
    if (!asked_) {
      asked_ = true;
      askedAt_ = std::max(askedAt_, sighting.last);
      thread_->ask(askedAt_);
    }
    if (knownUntil_ < sighting.last) {
      return {fault::Corroboration::kAwaited, "the driver's counters have not been read yet"};
    }
    const auto read = [&](const std::string& device, const std::string& counter) {
      const auto at = known_.find({device, counter});
      return at == known_.end() ? std::nullopt : std::optional(at->second);
    };
    return neuronTestimony(read, sighting);
  }

 private:
  using Reader = AsideThread<TimePoint, CounterTable>;

  const HostFiles files_;
  CounterTable known_;
  TimePoint askedAt_{};     // the newest line that was asked for
  TimePoint knownUntil_{};  // lines up to here came before what is known
  bool asked_ = false;
  std::unique_ptr<Reader> thread_;
};

}  // namespace

fault::Testimony neuronTestimony(const ReadNeuronCounter& read, const fault::Sighting& sighting) {
  using fault::Corroboration;
  const std::string device = deviceNumber(sighting.device);
  const auto evidence = std::ranges::find(kEvidence, sighting.code, &Evidence::error);
  if (evidence == kEvidence.end() || device.empty()) {
    return {Corroboration::kUnknown, "no counter of a Neuron device tells of " + sighting.code};
  }
  std::uint64_t errors = 0;
  std::string unread;
  for (const char* counter : evidence->files) {
    const auto count = read(device, counter);
    errors += count.value_or(0);
    unread = count ? unread : counter;
  }
  if (errors > 0) {
    return {Corroboration::kBorneOut, ""};
  }
  return unread.empty() ? fault::Testimony{Corroboration::kContradicted,
                                           "the driver has counted no such error of Neuron device " + device}
                        : fault::Testimony{Corroboration::kUnknown,
                                           unread + " of Neuron device " + device + " cannot be read"};
}

fault::Witness neuronWitness(const HostFiles& files) {
  return [witness = std::make_shared<NeuronWitness>(files)](const fault::Sighting& sighting) {
    return witness->testify(sighting);
  };
}

}  // namespace mainstay::agent::probes
