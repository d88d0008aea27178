// Cloud: instances in groups with the semantics of EC2 Auto Scaling, on one region's small scale. A group
// keeps its desired number of instances; an unhealthy one is terminated, and when it is gone another is
// launched.
//
//   Pending -> InService -> Terminating -> Terminated (remembered for an hour, as EC2 does)
//
// Not modelled: scaling in, Standby, life cycle hooks (Terminating:Wait), suspended processes, warm pools,
// scaling policies, rebalancing between zones, health checks by EC2 itself, money.
#pragma once

#include <deque>
#include <mutex>
#include <random>

#include "api/object.h"
#include "base/loop.h"
#include "cloud/provider.h"

namespace mainstay::local {

struct LaunchTemplate {
  std::string instanceType = "trn1.32xlarge";
  api::Labels labels = {};
  std::map<std::string, std::string> allocatable = {};
};

struct GroupOptions {
  std::string name = {};
  int min = 0;
  int max = 0;
  int desired = 0;
  LaunchTemplate launch = {};
};

struct CloudOptions {
  std::string zone = "us-west-2b";
  Duration launchDelay = std::chrono::seconds(1);     // Pending until InService
  Duration terminateDelay = std::chrono::seconds(0);  // Terminating until Terminated
  Duration capacityRetry = std::chrono::seconds(60);  // between attempts when there is none
  std::uint64_t seed = 1;                             // of the instance ids
  std::vector<GroupOptions> groups = {};
};

// What changes in the world outside Kubernetes, one line for each time it changed: the ledger against which
// tests look for doubled effects.
struct CloudEffect {
  TimePoint at{};
  std::string action;  // SetInstanceHealth, LaunchInstance, TerminateInstance, InstanceFailed
  std::string instance;
  std::string group;
  std::string detail;  // the health, or who asked
  std::string token;   // of SetInstanceHealth
};

// The hardware behind an instance.
class Machines {
 public:
  virtual ~Machines() = default;
  // It is up: boot a node on it. Called from within Cloud::step, without the cloud's lock.
  virtual void powerOn(const cloud::Instance& instance, const LaunchTemplate& launch) = 0;
  // It is shutting down: everything on it is dead when this returns.
  virtual void powerOff(const cloud::Instance& instance) = 0;
};

// Its methods may be called by any thread; Machines is called by the loop's own.
class Cloud final : public Loop {
 public:
  static constexpr Duration kRemembered = std::chrono::hours(1);
  static constexpr std::size_t kMaxActivities = 20;
  static constexpr std::size_t kMaxEffects = 100000;  // oldest out

  // `clock` gives calls their time; `machines` outlives it.
  Cloud(CloudOptions options, const Clock& clock, Machines& machines);
  std::string_view name() const override { return "cloud"; }
  TimePoint step(TimePoint now) override;

  // --- What a customer can ask ---
  // nullopt: there is no such instance (any more).
  std::optional<cloud::Instance> instance(const std::string& id) const;
  std::optional<cloud::Group> group(const std::string& name) const;
  // SetInstanceHealth. kNotFound; kFailedPrecondition when it is on its way out. Saying again what holds
  // already changes nothing.
  Result<> setHealth(const std::string& id, bool healthy, const std::string& token);
  // SetDesiredCapacity, upwards: kInvalidArgument for less and above the maximum, kNotFound.
  Result<> setDesired(const std::string& group, int desired);

  // --- What happens to a customer ---
  // Instances of this type that can still be launched; nullopt: enough for everybody.
  void setCapacity(const std::string& instanceType, std::optional<int> left);
  // What the machines of this group that are launched from now on have. kNotFound.
  Result<> setAllocatable(const std::string& group, std::map<std::string, std::string> allocatable);
  // The machine is gone without anybody's asking; its group notices and replaces it.
  Result<> destroy(const std::string& id, const std::string& why);

  std::vector<CloudEffect> effects() const;

 private:
  struct Machine {
    cloud::Instance instance;
    TimePoint due = kNever;  // of the present state's end
  };
  struct State {
    GroupOptions options;
    std::deque<cloud::ScalingActivity> activities;  // newest first
    TimePoint launchNotBefore{};
  };
  // Found under the lock, carried out without it.
  struct Turn {
    std::vector<std::pair<cloud::Instance, LaunchTemplate>> on;
    std::vector<cloud::Instance> off;
  };
  TimePoint advance(Machine& machine, TimePoint now, Turn& turn);
  TimePoint scale(State& group, TimePoint now);
  bool launch(State& group, TimePoint now);
  static void record(State& group, const cloud::ScalingActivity& activity);
  void terminate(Machine& machine, const std::string& why, TimePoint now, Turn& turn);
  int members(const std::string& group) const;
  std::string newId();
  void note(TimePoint now, const std::string& action, const Machine& machine, const std::string& detail,
            const std::string& token = "");

  const CloudOptions options_;
  const Clock& clock_;
  Machines& machines_;
  mutable std::mutex mutex_;  // guards all below
  std::mt19937_64 random_;
  std::map<std::string, Machine> instances_;  // by id
  std::map<std::string, State> groups_;
  std::map<std::string, int> capacity_;  // by instance type, where it is limited
  std::deque<CloudEffect> effects_;
};

// The contract of cloud::Provider by direct calls, for one process.
class DirectProvider final : public cloud::Provider {
 public:
  explicit DirectProvider(Cloud& cloud) : cloud_(cloud) {}
  std::string name() const override { return "local"; }
  Result<std::optional<cloud::Instance>> describe(const std::string& providerId) override;
  Result<cloud::Group> describeGroup(const std::string& group) override;
  Result<> markUnhealthy(const std::string& providerId, const std::string& token) override;
  Result<> markHealthy(const std::string& providerId) override;

 private:
  Result<> mark(const std::string& providerId, bool healthy, const std::string& token);
  Cloud& cloud_;
};

}  // namespace mainstay::local
