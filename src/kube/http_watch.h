// HttpWatch: one open watch of an HttpApi: a thread that turns the answer's lines into events.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/channel.h"
#include "base/http_client.h"
#include "kube/api.h"

namespace mainstay::kube {

class HttpWatch final : public WatchStream {
 public:
  // Starts reading. `signal` must outlive the stream.
  HttpWatch(std::shared_ptr<HttpClient> client, HttpRequest request, Duration idleLimit, std::string name,
            Signal& signal);
  // Stops at once, also while nothing arrives.
  ~HttpWatch() override = default;

  // Ok when the server has begun to answer with 200; else why not.
  Result<> awaitHead(Deadline deadline);
  Result<std::vector<WatchEvent>> poll() override;

 private:
  enum class State { kOpening, kOpen, kEnded };

  void run(HttpClient& client, const HttpRequest& request, Duration idleLimit, std::stop_token stop);
  bool onHead(const HttpResponse& head);
  bool onData(std::string_view data, std::stop_token stop);
  bool onLine(std::string_view line, std::stop_token stop);
  bool refuse(Error error);
  Error howItEnded(const Result<>& streamed) const;

  Signal& signal_;
  Channel<WatchEvent> events_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::kOpening;  // guarded by mutex_
  std::optional<Error> end_;       // guarded by mutex_; set with kEnded

  // The reading thread's own.
  HttpResponse refused_;          // an answer other than 200, with what fits of its body
  std::string partial_;           // a line whose end has not come yet
  std::optional<Error> verdict_;  // why we end the stream ourselves

  std::jthread reader_;  // last: it uses all of the above
};

// Error of a whole answer outside 2xx.
Error responseError(const HttpResponse& response);

}  // namespace mainstay::kube
