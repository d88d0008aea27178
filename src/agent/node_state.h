// NodeState: what this agent says about its node. Pure: problems in; conditions, findings, Events and metrics
// out.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/problem.h"
#include "api/core.h"
#include "base/json.h"

namespace mainstay::agent {

// An Event about the node, to be sent.
struct NodeEvent {
  std::string source;
  bool warning = true;
  std::string reason;
  std::string message;
  std::string condition;  // the type whose change it tells; "" = none
  TimePoint time{};       // when it happened; {} = when it is taken
};

// One step of problem_counter (add `value`) or problem_gauge (set to `value`).
struct MetricStep {
  std::string condition;  // "" = problem_counter
  std::string reason;
  double value = 0;
};

// The machine that we run on, as evidence knows it.
struct Machine {
  std::string bootId;
  TimePoint booted{};
};

class NodeState {
 public:
  // Every condition starts as no problem, `now`. Where two configs name one type, the first gives its
  // defaults.
  NodeState(const std::vector<ConditionSpec>& conditions, std::vector<ReasonSpec> reasons, Machine machine,
            TimePoint now);

  // A condition becomes True, or changes its reason, with an Event; the same reason again only counts in the
  // finding. A condition that nobody declared is ignored, as node-problem-detector does.
  void report(const Problem& problem);
  // One finding is over, by evidence: the condition says the worst of those that are left; without any it is back to
  // no problem.
  void resolve(const std::string& type, const std::string& rule, const std::string& device, TimePoint now);
  // What a check says. The condition is True while any check or finding says so, else Unknown while any check
  // cannot tell, else False. An Event tells each change, and each problem that is new, whose words the
  // condition then says.
  void judge(const Verdict& verdict);
  // Something worth telling that is no problem of a condition.
  void tell(NodeEvent event) { addEvent(std::move(event)); }
  // Back to no problem, with an Event; the findings of the type go.
  void clear(const std::string& type, TimePoint now);

  // Some of this agent's rules could not be read, so that what they may report is not declared: what the Node says of it
  // is neither in question nor taken off. Called before restore().
  void expectUndeclared() { expectsUndeclared_ = true; }
  // Takes over, after a restart, what the Node says: conditions that are still in evidence stay True. The
  // others are cleared with an Event. Types that another field manager owns are left alone from now on,
  // unless `takeConditions`. Types that only our field manager has written and that nobody of this run declares are
  // those of rules that are gone: they are taken off the Node, with an Event.
  Result<> restore(const Json& node, bool takeConditions, TimePoint now);
  // Leaves alone, from now on and with an Event, the types that another field manager owns in this Node.
  void markOwners(const Json& node);
  // Whether restore() has taken place, and every finding that stands.
  bool restored() const { return restored_; }
  std::vector<fault::Finding> findings() const;
  // Whether the Node, as it was last seen, is cordoned by somebody other than Mainstay: a person at work.
  void noteCordon(const Json& node);
  bool cordoned() const { return cordoned_; }

  // What to send: the strategic merge patch of nodes/NAME/status, with all conditions and the findings.
  Json patch(TimePoint now) const;
  // The patch has been written: what it takes off the Node once is not taken off again, should another writer add it.
  void onPublished();
  // Rises when something should be published at once / when it can wait (a finding was seen again).
  std::uint64_t revision() const { return revision_; }
  std::uint64_t refreshes() const { return refreshes_; }

  std::vector<api::Condition> conditions() const;
  // At most the newest kMaxEvents; nobody takes them while the API server is away.
  std::deque<NodeEvent> takeEvents();
  std::vector<MetricStep> takeMetrics();

  static constexpr std::size_t kMaxEvents = 1000;  // as client-go's queue
  // Bytes of a condition's message: kernel lines of up to 2 KiB each, ten of which are the default window.
  static constexpr std::size_t kMaxMessage = 16u << 10;

 private:
  struct LastWord {
    std::string status;  // "" = none
    std::string reason;
    std::string message;
  };
  struct Held {
    ConditionSpec spec;
    api::Condition condition;
    std::string owner;                            // the field manager that owns it; "" = we do
    bool told = true;                             // something may be published of it
    std::map<std::string, LastWord> checks = {};  // what each said last, by its finding's id
  };
  struct Seen {
    fault::Finding finding;
    std::string message;  // what its condition says when it is the worst; "" = the finding's line
    // Restored: records up to here were counted before the restart, and are read again by the lookback.
    std::optional<TimePoint> countedUntil;
  };

  Held* find(const std::string& type);
  void set(Held& held, const std::string& status, const std::string& reason, const std::string& message,
           TimePoint time, const std::string& source);
  enum class Sight { kFirst, kChanged, kAgain };
  Sight remember(const Problem& problem);
  bool revise(Seen& seen, const Problem& problem);
  void endReason(const std::string& type, const std::string& reason);
  void sayWorst(Held& held);
  void tellChange(const Held& held, const std::string& source, TimePoint time);
  void setGauge(const std::string& type, const std::string& reason, double value);
  void dropOldestFinding();
  void addEvent(NodeEvent event);
  void count(const std::string& reason, bool countsInMetrics);

  // Checks (node_checks.cc).
  LastWord lastWord(const Held& held, const std::string& id) const;
  void takeProblem(Held& held, const Verdict& verdict);
  void takeNoProblem(Held& held, const Verdict& verdict, const LastWord& before);
  void sayOthers(Held& held, const Verdict& verdict, const LastWord& before);
  std::set<std::string> problemsOf(const Held& held) const;  // the reasons that hold

  // Restoring (node_restore.cc).
  void restoreCondition(Held& held, const api::Condition& old, const std::vector<fault::Finding>& findings,
                        TimePoint now);
  void holdUndeclared(const Json& object, const api::Node& node);
  void abandonUndeclared(const Json& object, const api::Node& node, TimePoint now);
  std::vector<api::Condition> undeclared(const Json& object, const api::Node& node);
  void adopt(Held& held, const api::Condition& old, bool saysWhatIsOver);
  void adoptFinding(const fault::Finding& finding, const std::string& message);
  bool isOutdated(const fault::Finding& finding, const ReasonSpec& spec) const;
  bool mayBeUndeclared(const std::string& type) const;
  std::optional<ReasonSpec> reasonSpec(const std::string& type, const std::string& reason,
                                       const std::string& device) const;
  bool inEvidence(const fault::Finding& finding) const;
  bool inEvidence(const api::Condition& old, const std::vector<fault::Finding>& findings) const;

  std::vector<Held> conditions_;
  const std::vector<ReasonSpec> reasons_;
  const Machine machine_;
  bool restored_ = false;
  bool expectsUndeclared_ = false;
  bool cordoned_ = false;
  std::vector<std::string> abandoned_;  // types to be taken off the Node
  std::string instance_;                // known once restored
  std::map<std::string, Seen> seen_;    // findings by id, at most kMaxFindings
  std::deque<NodeEvent> events_;
  std::vector<MetricStep> metrics_;
  std::uint64_t revision_ = 1;
  std::uint64_t refreshes_ = 0;
};

// Condition types of a Node that field managers other than `manager` own, and which (metadata.managedFields).
std::map<std::string, std::string> conditionOwners(const Json& node, std::string_view manager);

}  // namespace mainstay::agent
