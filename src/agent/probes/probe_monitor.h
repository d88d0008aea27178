// ProbeMonitor: one probe at work. It has it look at its interval, turns what is confirmed into findings of
// the node, and tells when the probe hangs or is blind: then nothing is concluded from its silence.
#pragma once

#include <memory>
#include <optional>

#include "agent/aside_thread.h"
#include "agent/monitor.h"
#include "agent/probes/tracker.h"
#include "base/metrics.h"

namespace mainstay::agent::probes {

// The neutral condition types that probes set, and what they say while there is no problem.
ConditionSpec neutralCondition(std::string_view type);

// What one look gave.
struct Answer {
  Look look;
  std::string plannedWork;  // "" = none
};

class ProbeMonitor final : public Monitor {
 public:
  // `kind` and `metrics` outlive it; a look that hangs goes on using what `host.files` refers to.
  ProbeMonitor(const ProbeKind& kind, const ProbeSettings& settings, const Host& host, TimePoint booted,
               Metrics& metrics);

  std::vector<ConditionSpec> conditions() const override;
  std::vector<ReasonSpec> reasons() const override;
  std::vector<RuleNames> names() const override;
  void start(Signal& signal) override;
  TimePoint step(TimePoint now, NodeState& state) override;
  std::vector<SourceStatus> sources() const override;

  // So many blind looks in a row are told: one alone may have met a device on its way out.
  static constexpr int kBlindLooks = 2;

 private:
  void adoptRestored(NodeState& state, TimePoint now);
  void take(const Answer& answer, NodeState& state, TimePoint now);
  void takeHealth(const Look& look, NodeState& state, TimePoint now);
  std::string heldBy(const std::string& plannedWork, const NodeState& state, TimePoint now);
  void tell(const Change& change, const std::string& heldBy, NodeState& state, TimePoint now);
  void hang(NodeState& state, TimePoint now);
  std::string ruleOf(std::string_view reason) const;
  std::string blindReason() const { return std::string(kind_.prefix) + "ProbeBlind"; }
  std::string hungReason() const { return std::string(kind_.prefix) + "ProbeHung"; }
  void countLook(const char* outcome);
  void showRaised();

  const ProbeKind& kind_;
  const ProbeSettings settings_;
  const Host host_;
  Metrics& metrics_;
  Tracker tracker_;
  std::unique_ptr<AsideThread<TimePoint, Answer>> thread_;
  SourceStatus status_;
  std::optional<TimePoint> askedAt_;  // a look is under way
  TimePoint due_{};
  TimePoint settledAt_;  // what was seen before may still be planned work's
  int blindLooks_ = 0;   // in a row
  bool hung_ = false;
  int adopted_ = 0;  // how often what earlier runs raised was taken over
};

}  // namespace mainstay::agent::probes
