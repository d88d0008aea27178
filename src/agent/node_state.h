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
#include "agent/vocabulary.h"
#include "api/core.h"
#include "base/json.h"
#include "fault/clear_request.h"

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

// What stands, as one run of the agent leaves it to the next.
struct KnownFinding {
  fault::Finding finding;
  std::string message;  // what its condition says when it is the worst
  std::string onNode;   // UID of the Node whose annotation holds it as it is here; "" = none that is known of
};
struct Standing {
  std::vector<api::Condition> conditions;  // those that are True
  std::vector<KnownFinding> findings;
};

class NodeState {
 public:
  // Every condition starts as no problem, `now`. Where two configs name one type, the first gives its
  // defaults; a type of the vocabulary that a config declares is the config's.
  NodeState(const std::vector<ConditionSpec>& conditions, std::vector<ReasonSpec> reasons, Machine machine,
            TimePoint now, Vocabulary vocabulary = {});

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
  // Brings the conditions of the vocabulary up to what ours say; due when all who speak in a step have spoken. Without
  // an Event: that of our own condition has told it.
  void translate(TimePoint now);

  // Takes over, at the start, what an earlier run in this boot left.
  void recall(const Standing& standing);
  // Some of this agent's rules could not be read, so that what they may report is not declared: what the Node says of it
  // is neither in question nor taken off. Called before restore().
  void expectUndeclared() { expectsUndeclared_ = true; }
  // Takes over, after a restart, what the Node says: conditions that are still in evidence stay True. The
  // others are cleared with an Event. Types that another field manager owns are left alone from now on,
  // unless `takeConditions`. Types that only our field manager has written and that nobody of this run declares are
  // those of rules that are gone: they are taken off the Node, with an Event. What was recalled and was on this Node, but
  // is not any more, somebody has taken off: it is over.
  Result<> restore(const Json& node, bool takeConditions, TimePoint now);
  // Leaves alone, from now on and with an Event, the types that another field manager owns in this Node.
  void markOwners(const Json& node);
  // How often something of an earlier run was taken over, and every finding that stands.
  int restorations() const { return restorations_; }
  std::vector<fault::Finding> findings() const;
  bool hasFindings() const { return !seen_.empty(); }
  Standing standing() const;
  // Takes note of what others have written on the Node: a cordon, and that a person calls faults over (the annotation
  // mainstay.dev/clear): those that were last seen before are, with an Event, and the next patch takes the annotation off.
  void hear(const Json& node, TimePoint now);
  // Whether the Node, as it was last seen, is cordoned by somebody other than Mainstay: a person at work.
  bool cordoned() const { return cordoned_; }

  // What to send: the strategic merge patch of nodes/NAME/status, with all conditions and the findings.
  Json patch(TimePoint now) const;
  // The patch has been written, and the Node is this now: what it takes off the Node once is not taken off again, should
  // another writer add it.
  void onPublished(const Json& node);
  // Rises when something should be published at once / when it can wait (a finding was seen again).
  std::uint64_t revision() const { return revision_; }
  std::uint64_t refreshes() const { return refreshes_; }
  // Rises when standing() changes by more than that a finding was seen again.
  std::uint64_t knowledge() const { return revision_ + placings_; }

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
    bool translated = false;                      // it is the vocabulary's, and nobody else speaks of it
  };
  struct Seen {
    fault::Finding finding;
    std::string message;  // what its condition says when it is the worst; "" = the finding's line
    // Restored: records up to here were counted before the restart, and are read again by the lookback.
    std::optional<TimePoint> countedUntil;
    std::string onNode;  // as in KnownFinding
  };

  Held* find(const std::string& type);
  void set(Held& held, const std::string& status, const std::string& reason, const std::string& message,
           TimePoint time, const std::string& source);
  enum class Sight { kFirst, kChanged, kAgain };
  Sight remember(const Problem& problem);
  bool revise(Seen& seen, const Problem& problem);
  std::string forget(std::string id);
  void settle(Held& held, TimePoint now);
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
  const LastWord* unknownOf(const Held& held) const;         // of a check that cannot tell; nullptr = none

  // Restoring (node_restore.cc).
  void restoreCondition(Held& held, const api::Condition& old, const std::vector<fault::Finding>& findings,
                        TimePoint now);
  void endTakenOff(const api::Node& node, const std::vector<fault::Finding>& findings, TimePoint now);
  void holdUndeclared(const Json& object, const api::Node& node);
  void abandonUndeclared(const Json& object, const api::Node& node, TimePoint now);
  std::vector<api::Condition> undeclared(const Json& object, const api::Node& node);
  void adopt(Held& held, const api::Condition& old, bool isOver);
  void adoptFinding(const fault::Finding& finding, const std::string& message, const std::string& onNode);
  // Whether it is in the words of a finding that is not in evidence any more.
  bool saysWhatIsOver(const api::Condition& old, const std::vector<fault::Finding>& findings) const;
  bool isOutdated(const fault::Finding& finding, const ReasonSpec& spec) const;
  bool mayBeUndeclared(const std::string& type) const;
  std::optional<ReasonSpec> reasonSpec(const std::string& type, const std::string& reason,
                                       const std::string& device) const;
  bool inEvidence(const fault::Finding& finding) const;
  bool inEvidence(const api::Condition& old, const std::vector<fault::Finding>& findings) const;

  // What others write (node_clear.cc).
  void noteCordon(const Json& node);
  void clear(Held& held, const fault::ClearRequest& request, TimePoint now);
  void tellCleared(const std::string& type, const fault::ClearRequest& request,
                   const std::vector<fault::Finding>& over, const std::vector<fault::Finding>& since,
                   TimePoint now);

  std::vector<Held> conditions_;
  const std::vector<ReasonSpec> reasons_;
  const Machine machine_;
  int restorations_ = 0;
  const Vocabulary vocabulary_;
  bool expectsUndeclared_ = false;
  bool cordoned_ = false;
  std::string heard_;                   // mainstay.dev/clear, as it was last read; "" = none that is known of
  std::vector<std::string> abandoned_;  // types to be taken off the Node
  std::string instance_;                // known once restored
  std::map<std::string, Seen> seen_;    // findings by id, at most kMaxFindings
  std::set<std::string> ended_;         // of those that were recalled, before the Node was read
  std::deque<NodeEvent> events_;
  std::vector<MetricStep> metrics_;
  std::uint64_t revision_ = 1;
  std::uint64_t refreshes_ = 0;
  std::uint64_t placings_ = 0;  // changes of where findings are known to be
};

// Condition types of a Node that field managers other than `manager` own, and which (metadata.managedFields).
std::map<std::string, std::string> conditionOwners(const Json& node, std::string_view manager);

}  // namespace mainstay::agent
