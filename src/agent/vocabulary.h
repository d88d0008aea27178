// Vocabulary: the node's faults in the words of other agents, as node conditions beside our own (--also-conditions).
// Pure: our conditions and findings in, theirs out. docs/vocabularies.md tells it to users.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/problem.h"
#include "api/core.h"

namespace mainstay::agent {

// What other systems call the findings of one rule.
struct RuleNames {
  std::string rule;       // as in Finding::rule
  std::string condition;  // ours; "" = it sets none, so that none of theirs comes from it
  fault::RepairAction action = fault::RepairAction::kNone;
  fault::ForeignName hyperpod;  // without a reason: ours
  fault::ForeignName eks;
};

// What one monitor may say.
struct Speaker {
  std::set<std::string> conditions;  // ours
  std::set<std::string> blindness;   // its reasons of MonitorDegraded
  std::vector<RuleNames> rules;
};

Speaker speakerOf(const std::vector<ConditionSpec>& conditions, const std::vector<ReasonSpec>& reasons,
                  std::vector<RuleNames> rules);

// Each name must be of a vocabulary that there is.
Result<> checkVocabularies(const std::vector<std::string>& names);

struct Dialect;

class Vocabulary {
 public:
  // Of no other agent.
  Vocabulary() = default;
  // REQUIRES: checkVocabularies(names).
  Vocabulary(const std::vector<std::string>& names, const std::vector<Speaker>& speakers);

  bool empty() const { return words_.empty(); }
  // The condition types that one of the speakers can set: of what nobody watches nothing is said.
  std::vector<std::string> types() const;
  // What each type says now: trouble, in the words of the worst finding that has a name there. Else Unknown while a
  // condition of ours that it comes from is not False, or a monitor that can set it is blind. Else healthy. Nothing
  // where none of ours has spoken yet. Without transition times.
  std::vector<api::Condition> translate(const std::vector<api::Condition>& ours,
                                        const std::vector<fault::Finding>& findings) const;
  // For Finding::also.
  std::vector<fault::ForeignName> namesOf(const fault::Finding& finding) const;

 private:
  struct Word {
    const Dialect* dialect;
    std::string type;
    std::set<std::string> ours;       // conditions of ours that it comes from
    std::set<std::string> blindness;  // reasons of MonitorDegraded that concern it
  };
  Word& word(const Dialect& dialect, const std::string& type);
  void learn(const Dialect& dialect, const Speaker& speaker);
  api::Condition say(const Word& word, const std::vector<api::Condition>& sources,
                     const std::vector<fault::Finding>& findings) const;
  fault::ForeignName nameOf(const fault::Finding& finding, const Dialect& dialect) const;
  const fault::Finding* worstOf(const Word& word, const std::vector<fault::Finding>& findings) const;

  std::vector<const Dialect*> dialects_;
  std::vector<Word> words_;
  std::multimap<std::string, RuleNames> rules_;
};

}  // namespace mainstay::agent
