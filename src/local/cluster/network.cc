#include "local/cluster/network.h"

#include "local/cluster/resources.h"

namespace mainstay::local {
namespace {

constexpr std::uint32_t kLoopbackHosts = 1u << 24;
constexpr std::uint32_t kReserved = 1u << 16;  // 127.0/16 belongs to everybody else

struct ServiceName {
  std::string service;
  std::string ns;
};

std::optional<ServiceName> parseServiceName(const std::string& name, const std::string& ns) {
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) {
    return ServiceName{name, ns};
  }
  const std::string rest = name.substr(dot + 1);
  const std::size_t second = rest.find('.');
  const std::string domain = second == std::string::npos ? "" : rest.substr(second + 1);
  if (!domain.empty() && domain != "svc" && domain != "svc.cluster.local") {
    return std::nullopt;
  }
  return ServiceName{name.substr(0, dot), rest.substr(0, second)};
}

std::string selectorText(const Json& selector) {
  std::string text;
  for (const auto& [key, value] : selector.get_object()) {
    text += (text.empty() ? "" : ",") + std::string(key) + "=" + std::string(value.get_string());
  }
  return text;
}

bool isAddressed(const Json& pod) {
  const std::string phase = findString(pod, "status", "phase");
  return !findString(pod, "status", "podIP").empty() && !find(pod, "metadata", "deletionTimestamp") &&
         phase != "Succeeded" && phase != "Failed";
}

}  // namespace

AddressPool::AddressPool(std::uint64_t seed)
    : next_(static_cast<std::uint32_t>(kReserved +
                                       seed * 0x9E3779B97F4A7C15u % (kLoopbackHosts - kReserved))) {}

std::string AddressPool::next() {
  std::uint32_t host = 0;
  do {
    host = next_++ % kLoopbackHosts;
  } while (host < kReserved || (host & 0xFF) == 0 || (host & 0xFF) == 0xFF);
  return "127." + std::to_string(host >> 16) + "." + std::to_string((host >> 8) & 0xFF) + "." +
         std::to_string(host & 0xFF);
}

Result<std::optional<std::string>> lookUpService(kube::Api& api, const std::string& ns,
                                                 const std::string& name) {
  const auto parsed = parseServiceName(name, ns);
  if (!parsed) {
    return std::nullopt;
  }
  const auto service = kube::get(api, kServices, parsed->ns, parsed->service);
  if (!service) {
    return service.error().code() == Code::kNotFound ? Result<std::optional<std::string>>(std::nullopt)
                                                     : fail(service.error());
  }
  const Json* selector = find(*service, "spec", "selector");
  if (!selector || !selector->is_object()) {
    return std::nullopt;
  }
  MAINSTAY_ASSIGN(const kube::ObjectList pods,
                  kube::list(api, api::kPods, parsed->ns, {{"labelSelector", selectorText(*selector)}}));
  for (const Json& pod : pods.items) {
    if (isAddressed(pod)) {
      return findString(pod, "status", "podIP");
    }
  }
  return fail(Code::kUnavailable, "Service " + parsed->service + " selects no pod with an address yet");
}

}  // namespace mainstay::local
