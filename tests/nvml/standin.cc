// A library with NVML's functions and no GPU: it plays what the file named by NVML_STANDIN says, a fault per
// line.
//
//   gpus 2                          how many there are
//   fail nvmlInit_v2 9              a call's code; "fail nvmlDeviceGetUUID 15 1" for the GPU 1 alone
//   hang nvmlDeviceGetCount_v2      never comes back
//   crash nvmlDeviceGetName         dies of SIGABRT
//   set ecc_uncorrected 3           a value of GPU 0; "set ecc_uncorrected 3 1" of GPU 1
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "agent/nvml/api.h"

namespace {

using namespace mainstay::nvml;

class Play {
 public:
  Play() {
    const char* path = std::getenv("NVML_STANDIN");
    std::ifstream file(path ? path : "/dev/null");
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string verb;
      std::string name;
      long long number = 0;
      unsigned gpu = kEveryGpu;
      words >> verb;
      if (verb == "gpus") {
        words >> gpus;
        continue;
      }
      words >> name >> number >> gpu;
      if (verb == "set") {
        values_[{name, gpu == kEveryGpu ? 0 : gpu}] = number;
      } else {
        faults_[name] = {verb, static_cast<int>(number), gpu};
      }
    }
  }

  // What the call gives; it may never give it.
  int call(const char* name, unsigned gpu = kEveryGpu) const {
    const auto at = faults_.find(name);
    if (at == faults_.end() || (at->second.gpu != kEveryGpu && at->second.gpu != gpu)) {
      return kSuccess;
    }
    if (at->second.verb == "hang") {
      for (;;) {
        ::pause();
      }
    }
    if (at->second.verb == "crash") {
      std::raise(SIGABRT);
    }
    return at->second.code;
  }

  long long value(const char* name, unsigned gpu, long long otherwise = 0) const {
    const auto at = values_.find({name, gpu});
    return at == values_.end() ? otherwise : at->second;
  }

  unsigned gpus = 2;

 private:
  static constexpr unsigned kEveryGpu = 1000;
  struct Fault {
    std::string verb;
    int code = 0;
    unsigned gpu = kEveryGpu;
  };
  std::map<std::string, Fault> faults_;
  std::map<std::pair<std::string, unsigned>, long long> values_;
};

const Play& play() {
  static const Play one;
  return one;
}

// A device is the place of one of these.
char slots[64];

unsigned indexOf(Device device) {
  return static_cast<unsigned>(reinterpret_cast<char*>(device) - slots);
}

template <class Number>
int give(const char* call, const char* value, Device device, Number* out, long long otherwise = 0) {
  const int code = play().call(call, indexOf(device));
  if (code == kSuccess) {
    *out = static_cast<Number>(play().value(value, indexOf(device), otherwise));
  }
  return code;
}

int giveText(const char* call, Device device, char* out, unsigned length, const std::string& text) {
  std::snprintf(out, length, "%s", text.c_str());
  return play().call(call, indexOf(device));
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return play().call("nvmlInit_v2");
}
int nvmlShutdown() {
  return play().call("nvmlShutdown");
}
const char* nvmlErrorString(int code) {
  return code == kGpuIsLost ? "GPU is lost" : "Stand-in error";
}
int nvmlSystemGetDriverVersion(char* out, unsigned length) {
  std::snprintf(out, length, "570.1");
  return kSuccess;
}
int nvmlDeviceGetCount_v2(unsigned* out) {
  *out = play().gpus;
  return play().call("nvmlDeviceGetCount_v2");
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* out) {
  *out = reinterpret_cast<Device>(&slots[index]);
  return play().call("nvmlDeviceGetHandleByIndex_v2", index);
}
int nvmlDeviceGetPciInfo_v3(Device device, PciInfo* out) {
  out->domain = 0;
  out->bus = 0x3b + indexOf(device);
  out->device = 0;
  return play().call("nvmlDeviceGetPciInfo_v3", indexOf(device));
}
int nvmlDeviceGetName(Device device, char* out, unsigned length) {
  return giveText("nvmlDeviceGetName", device, out, length, "Stand-in GPU");
}
int nvmlDeviceGetUUID(Device device, char* out, unsigned length) {
  return giveText("nvmlDeviceGetUUID", device, out, length, "GPU-0" + std::to_string(indexOf(device)));
}
int nvmlDeviceGetSerial(Device device, char* out, unsigned length) {
  return giveText("nvmlDeviceGetSerial", device, out, length, "1650" + std::to_string(indexOf(device)));
}
int nvmlDeviceGetEccMode(Device device, int* current, int* pending) {
  *pending = 1;
  return give("nvmlDeviceGetEccMode", "ecc_on", device, current, 1);
}
int nvmlDeviceGetTotalEccErrors(Device device, MemoryError kind, EccCounter, unsigned long long* out) {
  return give("nvmlDeviceGetTotalEccErrors", kind == kUncorrected ? "ecc_uncorrected" : "ecc_corrected",
              device, out);
}
int nvmlDeviceGetSramEccErrorStatus(Device device, SramErrorStatusV1* out) {
  if (out->version != structVersion<SramErrorStatusV1>(1)) {
    return kArgumentVersionMismatch;
  }
  return give("nvmlDeviceGetSramEccErrorStatus", "sram_threshold", device, &out->thresholdExceeded);
}
int nvmlDeviceGetRemappedRows(Device device, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                              unsigned* failed) {
  *corrected = 0;
  *uncorrected = static_cast<unsigned>(play().value("remapped", indexOf(device)));
  *pending = static_cast<unsigned>(play().value("remap_pending", indexOf(device)));
  return give("nvmlDeviceGetRemappedRows", "remap_failed", device, failed);
}
int nvmlDeviceGetRetiredPages(Device device, RetirementCause cause, unsigned* count, unsigned long long*) {
  const int code = give("nvmlDeviceGetRetiredPages",
                        cause == kDoubleBitError ? "retired_double" : "retired_single", device, count);
  return code == kSuccess && *count > 0 ? static_cast<int>(kInsufficientSize) : code;
}
int nvmlDeviceGetRetiredPagesPendingStatus(Device device, int* out) {
  return give("nvmlDeviceGetRetiredPagesPendingStatus", "retirement_pending", device, out);
}
int nvmlDeviceGetNvLinkState(Device device, unsigned link, int* out) {
  const int code = give("nvmlDeviceGetNvLinkState", "links", device, out, 4);
  const bool there = link < 4;
  *out = static_cast<int>(link) < *out ? 1 : 0;
  return there ? code : static_cast<int>(kInvalidArgument);
}
int nvmlDeviceGetNvLinkErrorCounter(Device device, unsigned, LinkCounter counter, unsigned long long* out) {
  if (counter == kRecoveries) {
    return kNotSupported;  // as from NVLink 5 on
  }
  return give("nvmlDeviceGetNvLinkErrorCounter", counter == kReplays ? "replays" : "crc", device, out);
}
int nvmlDeviceGetGpuFabricInfoV(Device device, FabricInfoV2* out) {
  if (out->version != structVersion<FabricInfoV2>(2)) {
    return kArgumentVersionMismatch;
  }
  out->status = static_cast<int>(play().value("fabric_status", indexOf(device)));
  out->healthMask = static_cast<unsigned>(play().value("fabric_health", indexOf(device)));
  return give("nvmlDeviceGetGpuFabricInfoV", "fabric_state", device, &out->state, 3);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* out) {
  return give("nvmlDeviceGetCurrentClocksThrottleReasons", "throttle", device, out);
}
int nvmlDeviceGetFieldValues(Device device, int count, FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    values[i].result = kSuccess;
    values[i].valueType = values[i].fieldId == kRecoveryActionField ? kUnsigned : kUnsignedLongLong;
    values[i].value.asUnsignedLongLong = static_cast<unsigned long long>(play().value(
        values[i].fieldId == kRecoveryActionField ? "recovery_action" : "recoveries", indexOf(device)));
  }
  return play().call("nvmlDeviceGetFieldValues", indexOf(device));
}

}  // extern "C"
