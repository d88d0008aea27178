// InstanceWatch: what providers say about the instances of open incidents, asked seldom enough to be welcome.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/signal.h"
#include "recovery/executor.h"
#include "recovery/fleet.h"

namespace mainstay::recovery {

// One question to a provider: the instance of an incident's node, and its group.
struct InstanceQuestion {
  std::string incident;
  std::string provider;
  std::string providerId;
  std::string group;  // as the incident remembers it; "" = not known
  TimePoint at{};
};
struct InstanceAnswer {
  std::string incident;
  InstanceFacts facts;
};

// Whoever puts questions to providers. Used by one loop.
class InstanceAsker {
 public:
  virtual ~InstanceAsker() = default;
  // Questions about instances of one group share an answer about it.
  virtual void ask(std::vector<InstanceQuestion> questions) = 0;
  // Answers that have come since; never waits.
  virtual std::vector<InstanceAnswer> take() = 0;
};
// On the caller's thread: answers are there when ask() returns. `providers` outlives it.
std::unique_ptr<InstanceAsker> askAtOnce(const Providers& providers);
// On a thread of its own, which raises `signal` with each answer. Both outlive it; its end waits for the call under way.
std::unique_ptr<InstanceAsker> askAside(const Providers& providers, Signal& signal);

class InstanceWatch {
 public:
  explicit InstanceWatch(std::unique_ptr<InstanceAsker> asker) : asker_(std::move(asker)) {}

  // Takes in answers, asks about whatever is due, at most kMaxAsked incidents at a time; forgets those that are closed.
  void step(const Fleet& fleet, TimePoint now);
  const std::map<std::string, InstanceFacts>& facts() const { return facts_; }
  // When the next question is due.
  TimePoint wake() const { return wake_; }

 private:
  struct Rhythm {
    TimePoint next{};
    Duration wait{};
  };
  void takeAnswers();
  bool due(const api::NodeRecovery& incident, TimePoint now) const;

  const std::unique_ptr<InstanceAsker> asker_;
  std::map<std::string, InstanceFacts> facts_;  // by incident
  std::map<std::string, Rhythm> rhythms_;       // by incident
  std::set<std::string> asked_;                 // incidents whose answer is under way
  bool joined_ = false;                         // a node has joined that some incident may wait for
  TimePoint wake_ = kNever;
};

}  // namespace mainstay::recovery
