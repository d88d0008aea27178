// The driver's library, loaded at run time.
#pragma once

#include <string>

#include "agent/nvml/api.h"
#include "base/result.h"

namespace mainstay::nvml {

// Loads libnvidia-ml.so.1: the one that the loader finds, or the first of the places below `hostRoot` where
// drivers put it. It stays loaded. kNotFound names what was tried.
Result<Api> loadLibrary(const std::string& hostRoot);

}  // namespace mainstay::nvml
