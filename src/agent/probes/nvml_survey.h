// NvmlSurvey: one line of JSON in which the child program tells what NVML says of every GPU. The child is
// ours, what it passes on is not: the line is read as a stranger's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mainstay::agent::probes {

// What a GPU does not support is absent.
struct NvmlLink {
  std::int64_t number = 0;
  bool active = false;
  std::optional<std::int64_t> replays;
  std::optional<std::int64_t> recoveries;
  std::optional<std::int64_t> crcErrors;
};

struct NvmlFabric {
  std::int64_t state = 0;       // 0 not supported, 1 not started, 2 in progress, 3 completed
  std::int64_t status = 0;      // of a completed one: 0 = good
  std::int64_t healthMask = 0;  // two bits and more for each thing, see nvidia.cc
};

struct NvmlGpu {
  std::int64_t index = 0;
  std::string address;  // "0000:3b:00.0"; "" when it would not even tell that
  std::string name;
  std::string uuid;
  std::string serial;
  bool lost = false;
  bool resetRequired = false;
  std::optional<bool> eccOn;
  std::optional<std::int64_t> eccUncorrected;  // since the driver was loaded
  std::optional<std::int64_t> eccCorrected;
  std::optional<bool> sramThresholdExceeded;
  std::optional<std::int64_t> remappedUncorrected;
  bool remapPending = false;
  bool remapFailed = false;
  std::optional<std::int64_t> retiredPages;
  bool retirementPending = false;
  std::vector<NvmlLink> links;
  std::optional<NvmlFabric> fabric;
  std::int64_t throttle = 0;          // bits of nvmlClocksEventReasons
  std::int64_t recoveryAction = 0;    // nvmlDeviceGpuRecoveryAction_t
  std::vector<std::string> failures;  // calls that failed otherwise than by not being supported
};

struct NvmlSurvey {
  std::string driver;
  std::int64_t errorCode = 0;  // of NVML as a whole: then there are no GPUs here
  std::string error;
  std::vector<NvmlGpu> gpus;
};

// Strict about types, lenient about unknown keys. Bounded: 64 GPUs with 64 links and 16 failures each, names
// of 128 bytes; texts are made valid UTF-8.
Result<NvmlSurvey> parseNvmlSurvey(std::string_view line);

}  // namespace mainstay::agent::probes
