// Executor: carries out steps through the Kubernetes API and the providers. Every guard that a step needs
// against a world that has moved on is here: UIDs, resource versions, identities, the table of phases,
// leadership.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "kube/events.h"
#include "kube/node_patch.h"
#include "recovery/caches.h"
#include "recovery/steps.h"

namespace mainstay::recovery {

// By the policies' word for them.
using Providers = std::map<std::string, cloud::Provider*>;

// Thread-safe for steps of different incidents and nodes, while nobody syncs the caches.
class Executor {
 public:
  // All references outlive the executor. `mayAct` is asked before every step: the leader's token.
  // `host` names this process in Events.
  Executor(kube::Api& api, Caches& caches, const Providers& providers, const std::string& host,
           std::function<bool()> mayAct);

  // One step, once. kFailedPrecondition: the world is not as the step needs it, nothing was done; the next
  // plan looks again.
  Result<> execute(const Step& step, TimePoint now);
  // Many TakeSlots of one policy in one write: all or none.
  Result<> takeSlots(const std::vector<const Step*>& steps);

 private:
  struct Doing {
    const Step& step;
    TimePoint now;
  };
  Result<> run(const Doing& doing, const OpenIncident& action);
  Result<> run(const Doing& doing, const UpdateIncident& action);
  Result<> run(const Doing& doing, const DeleteIncident& action);
  Result<> run(const Doing& doing, const TakeSlots& action);
  Result<> run(const Doing& doing, const ReleaseSlots& action);
  Result<> run(const Doing& doing, const IsolateNode& action);
  Result<> run(const Doing& doing, const RestoreNode& action);
  Result<> run(const Doing& doing, const SetSchedulable& action);
  Result<> run(const Doing& doing, const DeleteNode& action);
  Result<> run(const Doing& doing, const EvictPod& action);
  Result<> run(const Doing& doing, const DeletePod& action);
  Result<> run(const Doing& doing, const ForceDeletePod& action);
  Result<> run(const Doing& doing, const MarkUnhealthy& action);
  Result<> run(const Doing& doing, const MarkHealthy& action);
  Result<> run(const Doing& doing, const PostEvent& action);

  Result<> changeNode(const std::string& node, const std::string& uid, std::optional<Json> known,
                      const kube::DecideNodeChange& decide);
  Result<> tell(const PostEvent& event, TimePoint now);
  Result<> writeSlots(const api::RecoveryPolicy& policy, const std::vector<api::TakenSlot>& active);
  Result<cloud::Provider*> provider(const std::string& name) const;
  std::string budgetsOver(const PodRef& pod) const;

  kube::Api& api_;
  Caches& caches_;
  const Providers& providers_;
  const std::function<bool()> mayAct_;
  // Events about one subject go through one recorder, which knows what was said of it; several, so that threads seldom
  // wait for each other.
  struct Teller {
    Teller(kube::Api& api, const std::string& host);
    std::mutex mutex;
    kube::EventRecorder events;  // guarded by mutex
  };
  std::deque<Teller> tellers_;
};

}  // namespace mainstay::recovery
