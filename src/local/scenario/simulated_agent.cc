#include "local/scenario/simulated_agent.h"

#include "agent/agent.h"
#include "agent/log_monitor.h"
#include "agent/sources/kmsg_reader.h"
#include "local/assets.h"

namespace mainstay::local {
namespace {

constexpr std::string_view kNeuronRules = "rules/neuron/kernel-monitor.json";

// The agent of one node, and what it uses.
struct Aboard {
  Metrics metrics;
  agent::StatusBoard board;
  std::unique_ptr<agent::Agent> agent;
};

}  // namespace

Result<std::shared_ptr<Loop>> simulatedAgent(kube::Api& api, const Boot& boot, const Clock& clock) {
  const TimePoint booted = clock.now();
  auto aboard = std::make_shared<Aboard>();
  agent::AgentParts parts;
  MAINSTAY_ASSIGN(fault::LogMonitorConfig config,
                  fault::parseLogMonitorConfig(assets().at(kNeuronRules), std::string(kNeuronRules)));
  const TimePoint start = agent::startTime(booted, Duration(0), config.lookback, config.delay);
  MAINSTAY_ASSIGN(agent::LogMonitor monitor, agent::LogMonitor::create(std::move(config), start));
  std::vector<std::unique_ptr<agent::RecordMonitor>> readers;
  readers.push_back(std::make_unique<agent::LogMonitor>(std::move(monitor)));
  auto makeSource = [log = boot.log, booted, &clock](Signal& signal) -> std::unique_ptr<agent::Source> {
    return std::make_unique<agent::KmsgReader>(openRing(log, signal),
                                               [&clock, booted] { return clock.now() - booted; });
  };
  parts.monitors.push_back(std::make_unique<agent::LogFeed>(agent::kernelLogName(), std::move(makeSource),
                                                            std::move(readers), aboard->metrics));
  parts.machine = {boot.bootId, booted};
  parts.api = &api;
  parts.publisher.nodeName = boot.node;
  parts.publisher.keepWarm = Duration(0);  // no connection to keep
  parts.metrics = &aboard->metrics;
  parts.board = &aboard->board;
  aboard->agent = std::make_unique<agent::Agent>(std::move(parts), booted);
  agent::Agent* loop = aboard->agent.get();
  return std::shared_ptr<Loop>(std::move(aboard), loop);
}

}  // namespace mainstay::local
