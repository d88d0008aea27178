// DirectApi: the API server without HTTP in between, for the actors of the local cluster and for virtual
// time. The same handler answers; time is the server's clock.
#pragma once

#include "kube/api.h"
#include "local/api/api_server.h"

namespace mainstay::local {

class DirectApi final : public kube::Api {
 public:
  // `server` outlives it and its watches.
  explicit DirectApi(ApiServer& server) : server_(server) {}
  Result<Json> call(const kube::ApiRequest& request, Deadline deadline) override;
  Result<std::unique_ptr<kube::WatchStream>> watch(const std::string& path, Query query,
                                                   Signal& signal) override;

 private:
  ApiServer& server_;
};

}  // namespace mainstay::local
