#include "agent/nvml/library.h"

#include <dlfcn.h>

#include <array>
#include <vector>

namespace mainstay::nvml {
namespace {

constexpr char kLibrary[] = "libnvidia-ml.so.1";

// Distributions, the GPU operator's driver container, GKE.
constexpr std::array kFolders = {
    "/usr/lib/x86_64-linux-gnu/",
    "/usr/lib/aarch64-linux-gnu/",
    "/usr/lib64/",
    "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/",
    "/run/nvidia/driver/usr/lib64/",
    "/home/kubernetes/bin/nvidia/lib64/",
};

template <class Function>
void find(void* library, Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
}

Api functionsOf(void* library) {
  Api api;
  find(library, api.init, "nvmlInit_v2");
  find(library, api.shutdown, "nvmlShutdown");
  find(library, api.errorString, "nvmlErrorString");
  find(library, api.driverVersion, "nvmlSystemGetDriverVersion");
  find(library, api.count, "nvmlDeviceGetCount_v2");
  find(library, api.handle, "nvmlDeviceGetHandleByIndex_v2");
  find(library, api.pciInfo, "nvmlDeviceGetPciInfo_v3");
  find(library, api.name, "nvmlDeviceGetName");
  find(library, api.uuid, "nvmlDeviceGetUUID");
  find(library, api.serial, "nvmlDeviceGetSerial");
  find(library, api.eccMode, "nvmlDeviceGetEccMode");
  find(library, api.eccErrors, "nvmlDeviceGetTotalEccErrors");
  find(library, api.sramErrors, "nvmlDeviceGetSramEccErrorStatus");
  find(library, api.remappedRows, "nvmlDeviceGetRemappedRows");
  find(library, api.retiredPages, "nvmlDeviceGetRetiredPages");
  find(library, api.retirementPending, "nvmlDeviceGetRetiredPagesPendingStatus");
  find(library, api.linkState, "nvmlDeviceGetNvLinkState");
  find(library, api.linkErrors, "nvmlDeviceGetNvLinkErrorCounter");
  find(library, api.fabric, "nvmlDeviceGetGpuFabricInfoV");
  find(library, api.clockReasons, "nvmlDeviceGetCurrentClocksThrottleReasons");  // its name in every driver
  find(library, api.fields, "nvmlDeviceGetFieldValues");
  return api;
}

}  // namespace

Result<Api> loadLibrary(const std::string& hostRoot) {
  std::vector<std::string> candidates = {kLibrary};
  for (const char* folder : kFolders) {
    candidates.push_back((hostRoot == "/" ? "" : hostRoot) + folder + kLibrary);
  }
  std::string why;
  for (const std::string& candidate : candidates) {
    if (void* library = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      const Api api = functionsOf(library);
      if (!api.init || !api.shutdown || !api.count || !api.handle) {
        return fail(Code::kFailedPrecondition, candidate + " lacks the functions of NVML that we need");
      }
      return api;
    }
    const char* error = ::dlerror();
    why += (why.empty() ? "" : "; ") + std::string(error ? error : candidate);
  }
  return fail(Code::kNotFound, "the NVIDIA driver's library cannot be loaded: " + why);
}

}  // namespace mainstay::nvml
