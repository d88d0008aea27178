// LocalProvider: the cloud of the local cluster (src/local), over HTTP on the loopback server that also
// serves its API.
//
//   GET  /cloud/v1/instances/ID         {id, providerId, group, lifecycle, healthStatus, launchTime}, or 404
//   GET  /cloud/v1/groups/NAME          {name, minSize, maxSize, desiredCapacity, instances[], activities[]},
//   or 404 POST /cloud/v1/instances/ID/health  {healthStatus: Unhealthy|Healthy, token} -> the instance, 404,
//   or 409 {message}
#pragma once

#include <memory>
#include <string>

#include "base/http_client.h"
#include "base/json.h"
#include "cloud/provider.h"

namespace mainstay::cloud {

// Thread-safe.
class LocalProvider final : public Provider {
 public:
  // `url`: the API server's ("http://127.0.0.1:6443"). Anything but a loopback address is refused: a policy
  // that says `provider: local` must never act on a real cluster's nodes.
  static Result<std::unique_ptr<LocalProvider>> create(const std::string& url);

  std::string name() const override { return "local"; }
  Result<std::optional<Instance>> describe(const std::string& providerId) override;
  Result<Group> describeGroup(const std::string& group) override;
  Result<> markUnhealthy(const std::string& providerId, const std::string& token) override;
  Result<> markHealthy(const std::string& providerId) override;

 private:
  explicit LocalProvider(std::string url);
  // nullopt = 404.
  Result<std::optional<Json>> send(const std::string& method, const std::string& path, const Json& body);
  Result<> setHealth(const std::string& providerId, bool healthy, const std::string& token);

  const std::string url_;
  HttpClient client_;
};

}  // namespace mainstay::cloud
