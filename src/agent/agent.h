// Agent: the core of mainstay-agent as a loop. Records come in from a source, monitors find problems in them,
// the node's state takes them up, and the publisher writes it; the same code runs in real and in virtual
// time.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "agent/log_monitor.h"
#include "agent/node_publisher.h"
#include "agent/source_health.h"
#include "agent/status_board.h"
#include "base/loop.h"

namespace mainstay::agent {

struct AgentParts {
  std::vector<LogMonitor> monitors;
  MakeSource makeSource;
  Machine machine;
  // nullptr: no Kubernetes exporter. It, `metrics` and `board` outlive the agent.
  kube::Api* api = nullptr;
  PublisherSettings publisher;
  Metrics* metrics = nullptr;
  StatusBoard* board = nullptr;
};

class Agent final : public Loop {
 public:
  Agent(AgentParts parts, TimePoint now);

  std::string_view name() const override { return "agent"; }
  TimePoint step(TimePoint now) override;

 private:
  void take(const SourceNews& news, TimePoint now);
  void show(TimePoint now);
  void countRecords(std::size_t records, std::uint64_t lost);

  std::vector<LogMonitor> monitors_;
  NodeState state_;
  SourceHealth health_;
  Metrics& metrics_;
  StatusBoard& board_;
  std::uint64_t shownRevision_ = 0;
  std::optional<NodePublisher> publisher_;
  std::unique_ptr<Source> source_;  // last: its thread raises our signal
};

}  // namespace mainstay::agent
