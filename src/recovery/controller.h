// The recovery controller: watches, plans, carries out. A Loop; all its memory that matters is in Kubernetes.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "base/loop.h"
#include "base/metrics.h"
#include "recovery/caches.h"
#include "recovery/executor.h"
#include "recovery/instance_watch.h"
#include "recovery/planner.h"

namespace mainstay::recovery {

// What happens beside the loop's own thread.
struct Concurrency {
  // Threads that write for different incidents at a time. 1: the loop's own, so that the order of writes is the same in
  // every run (simulation, crash proof).
  int writers = 1;
  // Providers are asked on a thread of their own, so that a silent cloud delays no isolation.
  bool asksAside = false;
};

class Controller final : public Loop {
 public:
  // `api` refuses writes of a controller that does not lead (kube::LeaderOnlyApi); `leading` says whether
  // this one does. Notify signal() when it begins to lead. Everything referred to outlives the controller.
  Controller(kube::Api& api, Providers providers, const std::string& host, std::function<bool()> leading,
             Metrics& metrics, Concurrency concurrency = {});

  std::string_view name() const override { return "recovery"; }
  TimePoint step(TimePoint now) override;

 private:
  // When a step that was tried may be tried again.
  struct Attempt {
    TimePoint notBefore{};
    int failures = 0;
  };
  Fleet look(TimePoint now);
  // One plan being carried out.
  struct Round {
    TimePoint now;
    std::set<std::string> stopped;  // incidents and nodes whose barrier failed
    bool acted = false;
  };
  bool carryOut(const std::vector<Step>& steps, TimePoint now);
  void takeSlots(const std::vector<const Step*>& steps, Round& round);
  void inParallel(const std::vector<const Step*>& steps, Round& round);
  void carryOut(const Step& step, Round& round);
  bool mayTry(const Step& step, Round& round);
  void conclude(const Step& step, const Result<>& result, Round& round);
  void remember(const Step& step, const Result<>& result, TimePoint now);
  void report(const Step& step, const Result<>& result);
  void measure(const Fleet& fleet);
  TimePoint rest(bool acted, TimePoint now, TimePoint wake);

  const Providers providers_;
  const std::function<bool()> leading_;
  Metrics& metrics_;
  const Concurrency concurrency_;
  Caches caches_;
  InstanceWatch instances_;
  Executor executor_;
  std::mutex mutex_;  // guards the Round, and the three below while several threads write
  std::map<std::string, Attempt> attempts_;     // by describe(step)
  std::map<std::string, std::string> refused_;  // by incident: what the provider answered to the mark
  TimePoint retryAt_ = kNever;
  std::set<std::pair<std::string, std::string>> measured_;  // policy and phase of the gauges that exist
  std::string trouble_;                                     // last reason for not planning that was logged
  int streak_ = 0;                                          // plans in a row that led to steps
};

}  // namespace mainstay::recovery
