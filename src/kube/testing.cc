#include "kube/testing.h"

#include <algorithm>

namespace mainstay::kube {

Result<Json> CrashingApi::call(const ApiRequest& request, Deadline deadline) {
  if (request.isWrite()) {
    return point_.write(request.method + " " + request.path, [&] { return inner_.call(request, deadline); });
  }
  if (point_.dead()) {
    return fail(Code::kCancelled, "the process has ended at its crash point");
  }
  return inner_.call(request, deadline);
}

Result<std::unique_ptr<WatchStream>> CrashingApi::watch(const std::string& path, Query query,
                                                        Signal& signal) {
  if (point_.dead()) {
    return fail(Code::kCancelled, "the process has ended at its crash point");
  }
  return inner_.watch(path, std::move(query), signal);
}

struct FaultyApi::Link {
  std::mutex mutex;
  Signal* signal;              // the loop's, which outlives the stream
  std::optional<Error> error;  // guarded by mutex
};

class FaultyApi::Stream final : public WatchStream {
 public:
  Stream(std::unique_ptr<WatchStream> inner, std::shared_ptr<Link> link)
      : inner_(std::move(inner)), link_(std::move(link)) {}
  ~Stream() override {
    std::lock_guard lock(link_->mutex);
    link_->signal = nullptr;
  }
  Result<std::vector<WatchEvent>> poll() override {
    {
      std::lock_guard lock(link_->mutex);
      if (link_->error) {
        return fail(*link_->error);
      }
    }
    return inner_->poll();
  }

 private:
  std::unique_ptr<WatchStream> inner_;
  std::shared_ptr<Link> link_;
};

FaultyApi::FaultyApi(Api& inner) : inner_(inner) {}

FaultyApi::~FaultyApi() = default;

void FaultyApi::failCall(int k, Error error) {
  failMatching([left = k](const ApiRequest&) mutable { return --left == 0; }, std::move(error));
}

void FaultyApi::failMatching(std::function<bool(const ApiRequest&)> matches, Error error, int times) {
  std::lock_guard lock(mutex_);
  faults_.push_back({.matches = std::move(matches), .error = std::move(error), .times = times});
}

void FaultyApi::dropWatches() {
  dropWatches(Error(Code::kUnavailable, "the watch was dropped on purpose"));
}

void FaultyApi::dropWatches(Error error) {
  std::lock_guard lock(mutex_);
  for (const std::weak_ptr<Link>& watch : std::exchange(watches_, {})) {
    if (const std::shared_ptr<Link> link = watch.lock()) {
      std::lock_guard linkLock(link->mutex);
      link->error = error;
      if (link->signal) {
        link->signal->notify();
      }
    }
  }
}

// Every fault sees every call, so that counts run on; the first that says yes answers.
std::optional<Error> FaultyApi::faultOf(const ApiRequest& request) {
  std::lock_guard lock(mutex_);
  std::optional<Error> error;
  for (Fault& fault : faults_) {
    if (fault.matches(request) && !error) {
      error = fault.error;
      --fault.times;
    }
  }
  std::erase_if(faults_, [](const Fault& fault) { return fault.times <= 0; });
  return error;
}

Result<Json> FaultyApi::call(const ApiRequest& request, Deadline deadline) {
  if (std::optional<Error> error = faultOf(request)) {
    return fail(*std::move(error));
  }
  return inner_.call(request, deadline);
}

Result<std::unique_ptr<WatchStream>> FaultyApi::watch(const std::string& path, Query query, Signal& signal) {
  if (std::optional<Error> error = faultOf({.path = path, .query = query})) {
    return fail(*std::move(error));
  }
  MAINSTAY_ASSIGN(std::unique_ptr<WatchStream> inner, inner_.watch(path, std::move(query), signal));
  auto link = std::make_shared<Link>();
  link->signal = &signal;
  {
    std::lock_guard lock(mutex_);
    std::erase_if(watches_, [](const std::weak_ptr<Link>& watch) { return watch.expired(); });
    watches_.push_back(link);
  }
  return std::make_unique<Stream>(std::move(inner), std::move(link));
}

}  // namespace mainstay::kube
