// Actions: carries out what a scenario's timeline says: things that befall the cluster, and what people do.
#pragma once

#include <map>
#include <string>

#include "local/cluster/cluster.h"
#include "local/scenario/recorded_provider.h"
#include "local/scenario/scenario.h"
#include "local/scenario/simulated_controller.h"

namespace mainstay::local {

// Who a person is to the API server.
inline constexpr char kPerson[] = "kubectl";
// What a scenario's nodes are.
inline constexpr char kInstanceType[] = "trn1.32xlarge";
std::map<std::string, std::string> allocatableWith(int devices);

class Actions {
 public:
  // All outlive it. `group` owns the nodes.
  Actions(Cluster& cluster, SimulatedController& controller, RecordedProvider& provider, const Clock& clock,
          std::string group)
      : cluster_(cluster),
        controller_(controller),
        provider_(provider),
        clock_(clock),
        group_(std::move(group)) {}

  Result<> carryOut(const Action& action);

 private:
  Result<> act(const KernelLine& line);
  Result<> act(const KillNode& kill);
  Result<> act(const DestroyInstance& gone);
  Result<> act(const ReturnNode& back);
  Result<> act(const CloudChange& change);
  Result<> act(const ChangeObject& change);
  Result<> act(const TaintNode& taint);
  Result<> act(const SwitchController& fate);
  Result<> act(const ApiTrouble& trouble);
  Result<> act(const ReleaseThing& release);

  Cluster& cluster_;
  SimulatedController& controller_;
  RecordedProvider& provider_;
  const Clock& clock_;
  const std::string group_;
};

}  // namespace mainstay::local
