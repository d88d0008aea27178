#include "agent/nvml/survey.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <optional>

namespace mainstay::nvml {
namespace {

constexpr unsigned kText = 96;  // NVML's longest names are of 96 bytes

std::string textOf(const Api& api, const char* call, int code) {
  const char* words = api.errorString ? api.errorString(code) : nullptr;
  return std::string(call) + ": " + (words ? words : "error") + " (" + std::to_string(code) + ")";
}

// JSON's whole numbers are ours: up to 2^63 - 1.
std::int64_t bounded(unsigned long long value) {
  return static_cast<std::int64_t>(std::min<unsigned long long>(
      value, static_cast<unsigned long long>(std::numeric_limits<std::int64_t>::max())));
}

class GpuSurvey {
 public:
  GpuSurvey(const Api& api, unsigned index) : api_(api) { gpu_["index"] = index; }

  JsonObject take() {
    if (ask("nvmlDeviceGetHandleByIndex_v2", api_.handle, gpu_["index"].to_number<unsigned>(), &device_)) {
      identify();
      askRecovery();
      askEcc();
      askMemory();
      askLinks();
      askFabric();
      unsigned long long reasons = 0;
      if (ask("nvmlDeviceGetCurrentClocksThrottleReasons", api_.clockReasons, device_, &reasons)) {
        gpu_["throttle"] = bounded(reasons);
      }
    }
    if (!failures_.empty()) {
      gpu_["failures"] = std::move(failures_);
    }
    return std::move(gpu_);
  }

 private:
  // True: it answered. What is not supported is left out, a failure is noted; nothing more is asked of one
  // that is lost.
  template <class Function, class... Arguments>
  bool ask(const char* name, Function* function, Arguments... arguments) {
    if (!function || lost_) {
      return false;
    }
    code_ = function(arguments...);
    switch (code_) {
      case kSuccess:
        return true;
      case kGpuIsLost:
        lost_ = true;
        gpu_["lost"] = true;
        return false;
      case kResetRequired:
        gpu_["resetRequired"] = true;
        return false;
      case kInvalidArgument:
      case kNotSupported:
      case kInsufficientSize:
      case kFunctionNotFound:
      case kNoData:
      case kVgpuEccNotSupported:
      case kArgumentVersionMismatch:
      case kDeprecated:
        return false;
      default:
        failures_.emplace_back(textOf(api_, name, code_));
        return false;
    }
  }

  void identify() {
    PciInfo pci{};
    if (ask("nvmlDeviceGetPciInfo_v3", api_.pciInfo, device_, &pci)) {
      std::array<char, 32> address{};  // as /sys/bus/pci writes it
      std::snprintf(address.data(), address.size(), "%04x:%02x:%02x.0", pci.domain, pci.bus, pci.device);
      gpu_["pci"] = address.data();
    }
    askText("name", "nvmlDeviceGetName", api_.name);
    askText("uuid", "nvmlDeviceGetUUID", api_.uuid);
    askText("serial", "nvmlDeviceGetSerial", api_.serial);
  }

  void askText(const char* key, const char* name, int (*function)(Device, char*, unsigned)) {
    std::array<char, kText> text{};
    if (ask(name, function, device_, text.data(), kText)) {
      text.back() = '\0';
      gpu_[key] = text.data();
    }
  }

  void askRecovery() {
    if (const auto action = field(kRecoveryActionField, 0)) {
      gpu_["recoveryAction"] = *action;
    }
  }

  void askEcc() {
    int current = 0;
    int pending = 0;
    if (ask("nvmlDeviceGetEccMode", api_.eccMode, device_, &current, &pending)) {
      gpu_["eccOn"] = current != 0;
    }
    unsigned long long errors = 0;
    if (ask("nvmlDeviceGetTotalEccErrors", api_.eccErrors, device_, kUncorrected, kVolatile, &errors)) {
      gpu_["eccUncorrected"] = bounded(errors);
    }
    if (ask("nvmlDeviceGetTotalEccErrors", api_.eccErrors, device_, kCorrected, kVolatile, &errors)) {
      gpu_["eccCorrected"] = bounded(errors);
    }
    SramErrorStatusV1 sram{};
    sram.version = structVersion<SramErrorStatusV1>(1);
    if (ask("nvmlDeviceGetSramEccErrorStatus", api_.sramErrors, device_, &sram)) {
      gpu_["sramThresholdExceeded"] = sram.thresholdExceeded != 0;
    }
  }

  void askMemory() {
    unsigned corrected = 0;
    unsigned uncorrected = 0;
    unsigned pending = 0;
    unsigned failed = 0;
    if (ask("nvmlDeviceGetRemappedRows", api_.remappedRows, device_, &corrected, &uncorrected, &pending,
            &failed)) {
      gpu_["remappedUncorrected"] = uncorrected;
      gpu_["remapPending"] = pending != 0;
      gpu_["remapFailed"] = failed != 0;
    }
    std::int64_t retired = 0;
    bool known = false;
    for (const RetirementCause cause : {kManySingleBitErrors, kDoubleBitError}) {
      unsigned pages = 0;  // room for none: it only says how many
      if (ask("nvmlDeviceGetRetiredPages", api_.retiredPages, device_, cause, &pages,
              static_cast<unsigned long long*>(nullptr)) ||
          (!lost_ && code_ == kInsufficientSize)) {
        retired += pages;
        known = true;
      }
    }
    if (known) {
      gpu_["retiredPages"] = retired;
    }
    int isPending = 0;
    if (ask("nvmlDeviceGetRetiredPagesPendingStatus", api_.retirementPending, device_, &isPending)) {
      gpu_["retirementPending"] = isPending != 0;
    }
  }

  void askLinks() {
    JsonArray links;
    for (unsigned link = 0; link < kMaxLinks; ++link) {
      int active = 0;
      if (!ask("nvmlDeviceGetNvLinkState", api_.linkState, device_, link, &active)) {
        if (code_ == kInvalidArgument) {
          break;  // behind the last one
        }
        continue;
      }
      JsonObject each{{"link", link}, {"active", active != 0}};
      if (active != 0) {
        askLinkErrors(link, each);
      }
      links.push_back(std::move(each));
    }
    if (!links.empty()) {
      gpu_["links"] = std::move(links);
    }
  }

  void askLinkErrors(unsigned link, JsonObject& each) {
    struct Counter {
      LinkCounter counter;
      const char* key;
    };
    for (const Counter& counter : {Counter{kReplays, "replays"}, Counter{kRecoveries, "recoveries"},
                                   Counter{kCrcFlits, "crcErrors"}}) {
      unsigned long long errors = 0;
      if (ask("nvmlDeviceGetNvLinkErrorCounter", api_.linkErrors, device_, link, counter.counter, &errors)) {
        each[counter.key] = bounded(errors);
      }
    }
    if (!each.contains("recoveries")) {
      if (const auto events = field(kLinkRecoveryEventsField, link)) {
        each["recoveries"] = *events;
      }
    }
  }

  void askFabric() {
    FabricInfoV2 fabric{};
    fabric.version = structVersion<FabricInfoV2>(2);
    if (ask("nvmlDeviceGetGpuFabricInfoV", api_.fabric, device_, &fabric)) {
      gpu_["fabric"] =
          JsonObject{{"state", fabric.state}, {"status", fabric.status}, {"healthMask", fabric.healthMask}};
    }
  }

  std::optional<std::int64_t> field(unsigned id, unsigned scope) {
    FieldValue value{};
    value.fieldId = id;
    value.scopeId = scope;
    if (!ask("nvmlDeviceGetFieldValues", api_.fields, device_, 1, &value) || value.result != kSuccess) {
      return std::nullopt;
    }
    switch (value.valueType) {
      case kUnsigned:
      case kInt:
        return value.value.asUnsigned;
      case kUnsignedLong:
      case kUnsignedLongLong:
      case kLongLong:
        return bounded(value.value.asUnsignedLongLong);
      default:
        return std::nullopt;
    }
  }

  const Api& api_;
  Device device_ = nullptr;
  int code_ = kSuccess;  // of the last call
  bool lost_ = false;
  JsonObject gpu_;
  JsonArray failures_;
};

Json failed(const Api& api, const char* call, int code) {
  return JsonObject{{"errorCode", code}, {"error", textOf(api, call, code)}};
}

}  // namespace

Json survey(const Api& api) {
  if (const int code = api.init(); code != kSuccess) {
    return failed(api, "nvmlInit_v2", code);
  }
  unsigned count = 0;
  if (const int code = api.count(&count); code != kSuccess) {
    return failed(api, "nvmlDeviceGetCount_v2", code);
  }
  JsonArray gpus;
  for (unsigned index = 0; index < count; ++index) {
    gpus.push_back(GpuSurvey(api, index).take());
  }
  std::array<char, kText> driver{};
  if (api.driverVersion) {
    api.driverVersion(driver.data(), kText - 1);
  }
  api.shutdown();
  return JsonObject{{"driver", driver.data()}, {"gpus", std::move(gpus)}};
}

}  // namespace mainstay::nvml
