// PackMonitor: our rule packs at work. Records in; findings, conditions and Events out.
#pragma once

#include <functional>
#include <vector>

#include "agent/log_feed.h"
#include "fault/engine.h"

namespace mainstay::agent {

class PackMonitor final : public RecordMonitor {
 public:
  // Is told everything that the engine says, after the state has been.
  using Listener = std::function<void(const fault::Outcome& outcome)>;

  // Records before `start` do not count: they were handled before, or are too old to act on.
  PackMonitor(std::vector<fault::Pack> packs, TimePoint start, Listener listener,
              fault::Witness witness = {});

  std::vector<ConditionSpec> conditions() const override;
  std::vector<ReasonSpec> reasons() const override;
  std::vector<RuleNames> names() const override;
  void take(const fault::Record& record, NodeState& state) override;
  void recall(const fault::Record& record) override;
  void recallUntil(TimePoint time) override;
  TimePoint step(TimePoint now, NodeState& state) override;

 private:
  void tell(const std::vector<fault::Outcome>& outcomes, TimePoint now, NodeState& state);

  fault::Engine engine_;
  TimePoint start_;
  Listener listener_;
};

// What people read about a fault: what it is, whose, what to do, and a line of the kernel.
std::string messageOf(const fault::Sighting& sighting, const std::string& line);

// For the agent's log: what is new, changed or over.
void logOutcome(const fault::Outcome& outcome);

}  // namespace mainstay::agent
