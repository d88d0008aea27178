// PodWorker: one pod on one node, from its first container's start to the confirmed end. Owned and stepped by
// its kubelet.
//
// Not modelled: init containers (such a pod is refused), probes, lifecycle hooks, the pod's
// activeDeadlineSeconds.
#pragma once

#include <map>
#include <vector>

#include "local/cluster/container_spec.h"
#include "local/cluster/pod_state.h"

namespace mainstay::local {

// Kubernetes' figures; tests and demos shorten the first.
struct CrashBackOff {
  Duration first = std::chrono::seconds(10);  // after the first restart, which is immediate; then doubled
  Duration most = std::chrono::seconds(300);
  Duration forgiven = std::chrono::minutes(10);  // a run of this length starts the count again
};

struct PodEvent {
  std::string type;  // Normal, Warning
  std::string reason;
  std::string message;
};

class PodWorker {
 public:
  PodWorker(const Json& pod, PodSite site, PodRuntime& runtime, LookUpName lookUp, CrashBackOff backOff,
            TimePoint now);
  // Kills what still runs.
  ~PodWorker();
  PodWorker(const PodWorker&) = delete;
  PodWorker& operator=(const PodWorker&) = delete;

  // Collects ends, starts what is due; once the pod is being deleted: SIGTERM, and SIGKILL after the grace
  // period. `pod` is the newest object. Returns when to be called again.
  TimePoint step(const Json& pod, TimePoint now);
  const PodRecord& record() const { return record_; }
  // Nothing runs.
  bool quiet() const;
  std::vector<PodEvent> takeEvents() { return std::exchange(events_, {}); }

 private:
  struct Plan {
    TimePoint notBefore{};  // of the next start
    Duration backOff{0};    // zero: the next restart is immediate
    Duration nameRetry{0};  // between look-ups of a name that has no address yet
  };
  void collectEnd(ContainerRecord& container, TimePoint now);
  void planRestart(ContainerRecord& container, TimePoint now);
  void start(const Json& pod, const Json& spec, ContainerRecord& container, TimePoint now);
  void wait(ContainerRecord& container, const std::string& reason, const std::string& message,
            TimePoint until);
  void stop(const Json& pod, TimePoint now);

  const PodSite site_;
  PodRuntime& runtime_;
  const LookUpName lookUp_;
  const CrashBackOff backOff_;
  PodRecord record_;
  std::map<std::string, Plan> plans_;  // by container
  std::optional<TimePoint> killAt_;    // set when it is being deleted; kNever once killed
  std::vector<PodEvent> events_;
};

}  // namespace mainstay::local
