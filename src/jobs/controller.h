// Controller: the loop of the jobs side. Watches, plans, carries out.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "base/loop.h"
#include "jobs/executor.h"
#include "jobs/pytorch_job_adapter.h"

namespace mainstay::jobs {

class Controller final : public Loop {
 public:
  // `api`: writes only while this process leads (kube::LeaderOnlyApi). `leading` is asked before each plan;
  // whoever makes it true raises signal(). `host` names this process in Events.
  Controller(kube::Api& api, std::string host, std::function<bool()> leading);
  ~Controller() override;

  std::string_view name() const override { return "jobs"; }
  TimePoint step(TimePoint now) override;

 private:
  struct Caches;
  struct Round {
    bool acted = false;   // the world is another one now: plan again
    bool failed = false;  // something has to be tried again
  };
  Round planAndAct(TimePoint now);
  // Reads a job again whose write met a conflict; false when that fails too.
  bool refresh(const Step& step);
  void tellOfUnreadableJobs(TimePoint now);
  // Logs once for what the caches wait.
  void tellOfTrouble();
  // Once per wording: an Event is not repeated each time the plan comes to the same end.
  bool alreadyTold(const Step& step);

  kube::Api& api_;
  const std::function<bool()> leading_;
  kube::EventRecorder events_;
  Executor executor_;
  const PyTorchJobAdapter adapter_;
  std::unique_ptr<Caches> caches_;
  std::set<std::string> told_;  // bounded
  std::string trouble_;         // last logged
  int failures_ = 0;            // rounds in a row
  TimePoint retryAt_{};
};

}  // namespace mainstay::jobs
