// IncidentPlan: the next steps of one open incident. One short function per phase.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "recovery/budget.h"
#include "recovery/fleet.h"
#include "recovery/steps.h"

namespace mainstay::recovery {

// From the decision to replace until the replacement is sound; then a person is told, and it is still
// watched.
inline constexpr Duration kReplaceDeadline = std::chrono::minutes(30);

// What the incidents of one plan share.
struct PlanContext {
  const Fleet& fleet;
  const FleetIndex& index;
  Budget& budget;
  TimePoint now;
  std::set<std::string> promised;  // UIDs of nodes that this plan has given to an incident as replacement
  std::vector<Step> steps;
  TimePoint wake = kNever;
};

class IncidentPlan {
 public:
  IncidentPlan(PlanContext& context, const api::NodeRecovery& incident);
  void run();

 private:
  // --- Phases ---
  void opened();
  void held();
  void isolated();
  void draining();
  void replacing();  // and Validating, and Escalated

  // --- Parts of phases ---
  void rememberGroup();
  bool faultStands() const;
  std::string whyStale() const;
  std::string whyOnlyWatched() const;
  std::string whyNotYet() const;
  std::string instanceUnknown() const;
  void takePlaces();
  std::string takePlace(api::Slot slot, std::map<api::Slot, int>& taken);
  void keepIsolated();
  void endDrain(const std::vector<const api::Pod*>& remaining);
  const InstanceFacts* freshFacts();
  void decideReplacement(const InstanceFacts& facts);
  void noteProvider(const InstanceFacts& facts);
  bool cleanUp();
  bool answersUnderOldName() const;
  bool groupIsWhole() const;
  void claim();
  void validate();
  void escalateWhenLate();

  // --- Writing ---
  void go(api::Phase to, std::string reason, std::optional<TimePoint> deadline = std::nullopt);
  void end(api::Phase to, std::string outcome, std::string reason);
  void say(std::string message) { status_.message = std::move(message); }
  void step(Action action, std::string reason);
  void tell(bool warning, std::string reason, std::string message);
  void wakeAt(TimePoint time) { context_.wake = std::min(context_.wake, time); }
  // The status so far, if it changed, as a step: what follows assumes that it is written.
  void commit(std::string reason);

  PlanContext& context_;
  const api::NodeRecovery& incident_;
  const api::Node* node_;  // of this name and UID; nullptr when it is gone
  const api::RecoveryPolicy* policy_;
  std::vector<fault::Finding>
      standing_;                     // faults, and a person's request; none are known without node and policy
  api::NodeRecoveryStatus status_;   // as it is to be
  api::NodeRecoveryStatus written_;  // as the steps so far leave it
  std::vector<Step> events_;         // after the last status
};

}  // namespace mainstay::recovery
