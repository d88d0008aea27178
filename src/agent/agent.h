// Agent: the core of mainstay-agent as a loop. Monitors tell the node's state what they find, and the publisher writes
// it; the same code runs in real and in virtual time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/monitor.h"
#include "agent/node_publisher.h"
#include "agent/state_file.h"
#include "agent/status_board.h"
#include "base/loop.h"

namespace mainstay::agent {

struct AgentParts {
  std::vector<std::unique_ptr<Monitor>> monitors;
  Machine machine;
  // nullptr: no Kubernetes exporter. It, `metrics` and `board` outlive the agent.
  kube::Api* api = nullptr;
  PublisherSettings publisher;
  std::vector<std::string> alsoConditions = {};  // vocabularies to be spoken beside ours, by name
  Metrics* metrics = nullptr;
  StatusBoard* board = nullptr;
  // What an earlier run of this boot left, and where this one leaves it; nullptr: nowhere.
  SavedState saved{};
  std::unique_ptr<StateKeeper> keeper{};
};

class Agent final : public Loop {
 public:
  Agent(AgentParts parts, TimePoint now);
  // The stop: says to the keeper what is known.
  ~Agent() override;

  std::string_view name() const override { return "agent"; }
  TimePoint step(TimePoint now) override;

 private:
  TimePoint keep(TimePoint now);
  void show();
  void showSources(TimePoint now);

  std::vector<std::unique_ptr<Monitor>> monitors_;
  NodeState state_;
  Metrics& metrics_;
  StatusBoard& board_;
  std::uint64_t shownRevision_ = 0;
  std::map<std::string, std::pair<bool, Duration>> shownSources_;  // whether it sees, and its lag
  std::optional<NodePublisher> publisher_;
  std::unique_ptr<StateKeeper> keeper_;
  std::optional<LogMark> kernelLog_;  // how far it was read and told
};

}  // namespace mainstay::agent
