// The cluster's network, as far as host processes need one: every pod and node has a loopback address of its
// own, and a Service's name leads to the address of a pod that it selects.
//
// Not modelled: virtual addresses of Services, ports, endpoints, load balancing, isolation.
#pragma once

#include <atomic>
#include <cstdint>

#include "kube/api.h"

namespace mainstay::local {

// Hands out addresses in 127/8, never twice in 16 million. Where it begins follows from the seed, so that two
// clusters on one machine hardly meet. Thread-safe.
class AddressPool {
 public:
  explicit AddressPool(std::uint64_t seed);
  std::string next();

 private:
  std::atomic<std::uint32_t> next_;
};

// `name`: "service", "service.namespace" or "service.namespace.svc[.cluster.local]", looked up from namespace
// `ns`. nullopt: there is no such Service. kUnavailable: it selects no living pod with an address yet.
Result<std::optional<std::string>> lookUpService(kube::Api& api, const std::string& ns,
                                                 const std::string& name);

}  // namespace mainstay::local
