// Kinds that only the local actors use.
#pragma once

#include "api/object.h"

namespace mainstay::local {

inline const api::Resource kServices{"", "v1", "services", "Service", true};
inline const api::Resource kDaemonSets{"apps", "v1", "daemonsets", "DaemonSet", true};

inline constexpr char kNodeLeaseNamespace[] = "kube-node-lease";

// For a WatchCache that keeps objects whole.
inline Result<Json> keepJson(const Json& object) {
  return object;
}

}  // namespace mainstay::local
