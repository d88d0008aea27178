#include "local/api/direct_api.h"

namespace mainstay::local {
namespace {

Error toError(const Refusal& refusal) {
  return kube::statusError(refusal.code, refusal.toStatus(), std::nullopt);
}

class DirectStream final : public kube::WatchStream {
 public:
  explicit DirectStream(std::unique_ptr<Watch> watch) : watch_(std::move(watch)) {}

  Result<std::vector<kube::WatchEvent>> poll() override {
    auto events = watch_->poll();
    if (!events) {
      return fail(toError(events.error()));
    }
    return *std::move(events);
  }

 private:
  std::unique_ptr<Watch> watch_;
};

}  // namespace

Result<Json> DirectApi::call(const kube::ApiRequest& request, Deadline) {
  Answer answer = server_.call(request);
  if (answer.status >= 300) {
    return fail(kube::statusError(answer.status, answer.body, std::nullopt));
  }
  return answer.body.is_null() ? Json(answer.text) : std::move(answer.body);
}

Result<std::unique_ptr<kube::WatchStream>> DirectApi::watch(const std::string& path, Query query,
                                                            Signal& signal) {
  query.emplace_back("allowWatchBookmarks", "true");
  auto watch = server_.watch(path, query, signal);
  if (!watch) {
    return fail(toError(watch.error()));
  }
  return std::make_unique<DirectStream>(*std::move(watch));
}

}  // namespace mainstay::local
