// For the tests of this folder: an Api whose answers are written down beforehand, watches that the test
// feeds, and a clock that the test sets.
#pragma once

#include <deque>
#include <utility>

#include "kube/api.h"

namespace mainstay::kube {

class ManualClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }
  void advance(Duration span) { now_ += span; }

 private:
  TimePoint now_ = TimePoint(std::chrono::hours(24 * 365 * 56));
};

class ScriptedApi final : public Api {
 public:
  using Batch = Result<std::vector<WatchEvent>>;
  // The test's end of a watch, which outlives the stream.
  struct Feed {
    std::string path;
    Query query;
    std::deque<Batch> batches;
    bool open = true;
  };

  void answer(Result<Json> answer) { answers_.push_back(std::move(answer)); }
  void refuseWatch(Error error) { refusals_.push_back(std::move(error)); }

  Result<Json> call(const ApiRequest& request, Deadline) override {
    calls.push_back(request);
    if (answers_.empty()) {
      return fail(Code::kInternal, "the test wrote down no answer to " + request.method + " " + request.path);
    }
    Result<Json> next = std::move(answers_.front());
    answers_.pop_front();
    return next;
  }

  Result<std::unique_ptr<WatchStream>> watch(const std::string& path, Query query, Signal&) override {
    if (!refusals_.empty()) {
      Error error = std::move(refusals_.front());
      refusals_.pop_front();
      return fail(std::move(error));
    }
    feeds.push_back(std::make_shared<Feed>());
    feeds.back()->path = path;
    feeds.back()->query = std::move(query);
    return std::make_unique<Stream>(feeds.back());
  }

  std::vector<ApiRequest> calls;
  std::vector<std::shared_ptr<Feed>> feeds;

 private:
  class Stream final : public WatchStream {
   public:
    explicit Stream(std::shared_ptr<Feed> feed) : feed_(std::move(feed)) {}
    ~Stream() override { feed_->open = false; }
    Batch poll() override {
      if (feed_->batches.empty()) {
        return std::vector<WatchEvent>();
      }
      Batch batch = std::move(feed_->batches.front());
      feed_->batches.pop_front();
      return batch;
    }

   private:
    std::shared_ptr<Feed> feed_;
  };

  std::deque<Result<Json>> answers_;
  std::deque<Error> refusals_;
};

}  // namespace mainstay::kube
