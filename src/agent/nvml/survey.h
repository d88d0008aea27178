// What NVML says of every GPU, as one JSON object: see agent/probes/nvml_survey.h, its reader.
#pragma once

#include "agent/nvml/api.h"
#include "base/json.h"

namespace mainstay::nvml {

// Initializes NVML, asks, and shuts it down. A failure of NVML as a whole stands in the object.
Json survey(const Api& api);

}  // namespace mainstay::nvml
