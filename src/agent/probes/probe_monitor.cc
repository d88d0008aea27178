#include "agent/probes/probe_monitor.h"

#include <algorithm>
#include <array>
#include <set>

#include "agent/probes/planned_work.h"
#include "agent/source_health.h"
#include "base/log.h"

namespace mainstay::agent::probes {
namespace {

struct Neutral {
  const char* type;
  const char* reason;
  const char* message;
};

constexpr std::array kNeutral = {
    Neutral{"GPUFault", "NoGPUFault", "no fault of a GPU or another accelerator is known"},
    Neutral{"GPUInterconnectFault", "NoGPUInterconnectFault", "no fault of the links between GPUs is known"},
    Neutral{"NeuronFault", "NoNeuronFault", "no fault of a Neuron device is known"},
    Neutral{"FabricFault", "NoFabricFault", "no fault of the training network is known"},
    Neutral{"NICFault", "NoNICFault", "no fault of a network interface is known"},
    Neutral{"MemoryFault", "NoMemoryFault", "no fault of the memory is known"},
    Neutral{"PCIeFault", "NoPCIeFault", "no fault of a PCI Express device or link is known"},
    Neutral{"StorageFault", "NoStorageFault", "no fault of a drive or filesystem is known"},
    Neutral{"ReadonlyFilesystem", "FilesystemIsNotReadOnly", "no filesystem has become read-only"},
    Neutral{"KernelFault", "NoKernelFault", "no fault of the kernel is known"},
};

bool makesCondition(const Check& check) {
  return check.severity == Severity::kFatal;
}

}  // namespace

ConditionSpec neutralCondition(std::string_view type) {
  if (type == kMonitorDegraded) {
    return monitorDegraded();
  }
  const auto at =
      std::ranges::find_if(kNeutral, [&](const Neutral& neutral) { return neutral.type == type; });
  return at == kNeutral.end() ? ConditionSpec{}
                              : ConditionSpec{kAgentSource, at->type, at->reason, at->message};
}

ProbeMonitor::ProbeMonitor(const ProbeKind& kind, const ProbeSettings& settings, const Host& host,
                           TimePoint booted, Metrics& metrics)
    : kind_(kind),
      settings_(settings),
      host_(host),
      metrics_(metrics),
      tracker_(kind, settings),
      status_{std::string("probe ") + kind.name, "", std::nullopt, Duration{}},
      settledAt_(booted + kSettling) {}

std::vector<ConditionSpec> ProbeMonitor::conditions() const {
  std::set<std::string> types{kMonitorDegraded};
  for (const Check& check : kind_.checks) {
    if (makesCondition(check)) {
      types.insert(check.condition);
    }
  }
  std::vector<ConditionSpec> specs;
  for (const std::string& type : types) {
    specs.push_back(neutralCondition(type));
  }
  return specs;
}

std::vector<ReasonSpec> ProbeMonitor::reasons() const {
  std::vector<ReasonSpec> specs;
  for (const Check& check : kind_.checks) {
    specs.push_back({makesCondition(check) ? check.condition : "", check.reason, check.clearOn, true});
  }
  specs.push_back({kMonitorDegraded, blindReason(), ClearOn::kEvidence, true, true, kind_.name});
  specs.push_back({kMonitorDegraded, hungReason(), ClearOn::kEvidence, true, true, kind_.name});
  return specs;
}

std::vector<RuleNames> ProbeMonitor::names() const {
  std::vector<RuleNames> all;
  for (const Check& check : kind_.checks) {
    if (makesCondition(check) && check.action >= RepairAction::kReset && *kind_.hyperpod != '\0') {
      all.push_back({ruleOf(check.reason), check.condition, check.action, {kind_.hyperpod, ""}, {}});
    }
  }
  return all;
}

void ProbeMonitor::start(Signal& signal) {
  // Shared with the thread, which may have to be left behind with a look that hangs.
  const std::shared_ptr<Probe> probe = kind_.make(host_, settings_);
  thread_ = std::make_unique<AsideThread<TimePoint, Answer>>(
      std::string("probe-") + kind_.name,
      [probe, files = host_.files](TimePoint now) {
        return Answer{probe->look(now), plannedWork(files)};
      },
      [&signal] { signal.notify(); });
  showRaised();
}

TimePoint ProbeMonitor::step(TimePoint now, NodeState& state) {
  adoptRestored(state, now);
  if (const auto answer = thread_->answer()) {
    due_ = *askedAt_ + settings_.interval;
    askedAt_.reset();
    take(*answer, state, now);
  }
  if (!askedAt_ && now >= due_) {
    askedAt_ = now;
    thread_->ask(now);
  }
  if (!askedAt_) {
    return due_;
  }
  const TimePoint deadline = *askedAt_ + settings_.deadline;
  if (!hung_ && now >= deadline) {
    hang(state, now);
  }
  return hung_ ? kNever : deadline;
}

// What an earlier run of this agent raised is still there, or it is over: both take a look. The file of its state and
// the Node each tell of it in their time.
void ProbeMonitor::adoptRestored(NodeState& state, TimePoint now) {
  if (adopted_ == state.restorations()) {
    return;
  }
  adopted_ = state.restorations();
  for (const fault::Finding& finding : state.findings()) {
    if (finding.rule == ruleOf(finding.reason) &&
        !tracker_.adopt(finding.reason, finding.device, finding.last)) {
      state.resolve(finding.type, finding.rule, finding.device, now);  // of a check that is no more
    }
  }
  showRaised();
}

void ProbeMonitor::take(const Answer& answer, NodeState& state, TimePoint now) {
  takeHealth(answer.look, state, now);
  const std::string held = heldBy(answer.plannedWork, state, now);
  const auto changes = tracker_.take(answer.look, held, now);
  for (const Change& change : changes) {
    tell(change, held, state, now);
  }
  if (!changes.empty()) {
    showRaised();
  }
}

void ProbeMonitor::takeHealth(const Look& look, NodeState& state, TimePoint now) {
  const bool sees = look.blind.empty();
  countLook(sees ? "seen" : "blind");
  if (hung_) {
    logInfo("a probe answers again", {{"probe", kind_.name}});
  }
  hung_ = false;
  blindLooks_ = sees ? 0 : blindLooks_ + 1;
  status_.lastNews = now;
  status_.trouble = look.blind;
  // Unconditionally: an earlier run of this agent may have said so.
  state.resolve(kMonitorDegraded, degraded(hungReason(), "", "", now).rule, kind_.name, now);
  if (sees) {
    state.resolve(kMonitorDegraded, degraded(blindReason(), "", "", now).rule, kind_.name, now);
  } else if (blindLooks_ == kBlindLooks) {
    logError("a probe cannot see, and tries on", {{"probe", kind_.name}, {"error", look.blind}});
    state.report(degraded(blindReason(), kind_.name,
                          look.blind + ". What the probe \"" + kind_.name +
                              "\" watches may be at fault without being seen; it looks again every " +
                              humanDuration(settings_.interval),
                          now));
  }
}

std::string ProbeMonitor::heldBy(const std::string& plannedWork, const NodeState& state, TimePoint now) {
  if (state.cordoned()) {
    return "the node is cordoned by somebody else";
  }
  if (!plannedWork.empty()) {
    settledAt_ = now + kSettling;
    return plannedWork;
  }
  return now < settledAt_ ? "the machine has just started, or planned work has just ended" : "";
}

void ProbeMonitor::tell(const Change& change, const std::string& heldBy, NodeState& state, TimePoint now) {
  const Check& check = *change.check;
  const bool condition = makesCondition(check);
  const std::string source = std::string(kind_.name) + "-probe";
  if (change.kind == Change::Kind::kOver) {
    if (condition) {
      state.resolve(check.condition, ruleOf(check.reason), change.device, now);
    } else {
      state.tell({source, false, check.reason, "over: " + change.message, ""});
    }
    return;
  }
  if (change.kind == Change::Kind::kHeldBack) {
    state.tell({source, true, check.reason, change.message + ". Told but not raised: " + heldBy, ""});
    return;
  }
  if (change.kind == Change::Kind::kAgain && !condition) {
    return;  // an Event per look would be a flood
  }
  Problem problem;
  problem.source = source;
  problem.condition = condition ? check.condition : "";
  problem.reason = check.reason;
  problem.message = change.message;
  problem.line = change.message;
  problem.time = now;
  problem.joins = true;
  problem.rule = ruleOf(check.reason);
  problem.faultClass = check.faultClass;
  problem.device = change.device;
  problem.action = check.action;
  state.report(problem);
}

void ProbeMonitor::hang(NodeState& state, TimePoint now) {
  hung_ = true;
  countLook("hung");
  const std::string took = humanDuration(settings_.deadline);
  status_.trouble = "a look has not ended within " + took;
  logError("a probe hangs", {{"probe", kind_.name}, {"deadline", took}});
  state.report(
      degraded(hungReason(), kind_.name,
               std::string("the probe \"") + kind_.name + "\" has not ended its look within " + took +
                   ": a driver or device hangs. What it watches is not seen until it does; the other "
                   "probes go on",
               now));
}

std::string ProbeMonitor::ruleOf(std::string_view reason) const {
  return std::string("probe/") + kind_.name + "#" + std::string(reason);
}

std::vector<SourceStatus> ProbeMonitor::sources() const {
  return {status_};
}

void ProbeMonitor::countLook(const char* outcome) {
  metrics_.count("mainstay_agent_probe_looks_total",
                 "Looks of a probe, by outcome: seen, blind in part, hung.",
                 {{"probe", kind_.name}, {"outcome", outcome}});
}

void ProbeMonitor::showRaised() {
  for (const auto& [reason, count] : tracker_.raised()) {
    metrics_.set("mainstay_agent_probe_findings", "What a probe has found and is not over, by reason.",
                 {{"probe", kind_.name}, {"reason", reason}}, count);
  }
}

}  // namespace mainstay::agent::probes
