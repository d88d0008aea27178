// Recorder: a Loop that watches the API server and writes down every version of every object, with the
// (virtual) time, and what the cloud and the scenario did in between, in their true order.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/loop.h"
#include "kube/api.h"
#include "local/scenario/recording.h"

namespace mainstay::local {

// Used by the thread of a VirtualDriver.
class Recorder final : public Loop {
 public:
  // `api` must not be one that fails on purpose; it and `clock` outlive it.
  Recorder(kube::Api& api, const Clock& clock) : api_(api), clock_(clock) {}

  // What the cloud did since the last question: entries of kCloudKind. Asked at each look, before the objects.
  struct Deed {
    TimePoint at{};
    JsonObject what;
  };
  void follow(std::function<std::vector<Deed>()> deeds) { deeds_ = std::move(deeds); }
  // Begins to watch; every kind must be served by now.
  Result<> open();
  std::string_view name() const override { return "recorder"; }
  TimePoint step(TimePoint now) override;

  // Adds something that is no Kubernetes object, after everything that was written before it.
  void note(const std::string& kind, JsonObject what);
  // Changes between begin and end are a person's.
  void beginPerson();
  void endPerson();

  // The present moment becomes time zero.
  void markZero();
  // Everything so far.
  const Recording& recording();
  // Why the recording is not whole; Ok while it is.
  Result<> health() const { return health_; }

 private:
  struct Source {
    std::string kind;
    std::unique_ptr<kube::WatchStream> stream;
  };
  void catchUp();
  void insert(TimePoint at, const std::string& kind, JsonObject what);
  void take(const std::string& kind, const Json& object, bool gone);

  kube::Api& api_;
  const Clock& clock_;
  std::function<std::vector<Deed>()> deeds_;
  std::vector<Source> sources_;
  std::map<std::pair<std::string, std::string>, Version> present_;  // by kind and key
  Recording recording_;
  Result<> health_;
  bool person_ = false;
};

}  // namespace mainstay::local
