#include "agent/vocabulary.h"

#include <algorithm>
#include <array>
#include <span>

#include "agent/source_health.h"
#include "base/text.h"

namespace mainstay::agent {

// How one other agent speaks.
struct Dialect {
  // Where a rule has no word of its own: what they would say of one of our conditions.
  struct UsualWord {
    std::string_view ours;
    std::string_view theirs;
  };
  struct HealthyReason {
    std::string_view type;
    std::string_view reason;
  };
  std::string_view name;
  fault::ForeignName RuleNames::*names;
  std::string_view trouble;  // the status that says so
  std::string_view healthy;
  std::span<const UsualWord> usual;
  std::span<const HealthyReason> reasons;

  std::string_view usualType(std::string_view ours) const {
    const auto at = std::ranges::find(usual, ours, &UsualWord::ours);
    return at == usual.end() ? std::string_view() : at->theirs;
  }
  std::string_view healthyReason(std::string_view type) const {
    const auto at = std::ranges::find(reasons, type, &HealthyReason::type);
    return at == reasons.end() ? std::string_view("NoFaultKnown") : at->reason;
  }
};

namespace {

constexpr std::array kEksWords = {
    Dialect::UsualWord{"GPUFault", "AcceleratedHardwareReady"},
    Dialect::UsualWord{"GPUInterconnectFault", "AcceleratedHardwareReady"},
    Dialect::UsualWord{"NeuronFault", "AcceleratedHardwareReady"},
    Dialect::UsualWord{"NeuronHealth", "AcceleratedHardwareReady"},
    Dialect::UsualWord{"KernelFault", "KernelReady"},
    Dialect::UsualWord{"KernelDeadlock", "KernelReady"},
    Dialect::UsualWord{"StorageFault", "StorageReady"},
    Dialect::UsualWord{"ReadonlyFilesystem", "StorageReady"},
    Dialect::UsualWord{"FabricFault", "NetworkingReady"},
    Dialect::UsualWord{"NICFault", "NetworkingReady"},
    Dialect::UsualWord{"ContainerRuntimeUnhealthy", "ContainerRuntimeReady"},
    Dialect::UsualWord{"FrequentContainerdRestart", "ContainerRuntimeReady"},
    Dialect::UsualWord{"FrequentDockerRestart", "ContainerRuntimeReady"},
    Dialect::UsualWord{"KubeletUnhealthy", "ContainerRuntimeReady"},
    Dialect::UsualWord{"FrequentKubeletRestart", "ContainerRuntimeReady"},
};
// aws/eks-node-monitoring-agent 1.7. Of accelerators its reason names the kind, which ours cannot: several may be
// watched.
constexpr std::array kEksHealthy = {
    Dialect::HealthyReason{"AcceleratedHardwareReady", "AcceleratedHardwareIsReady"},
    Dialect::HealthyReason{"KernelReady", "KernelIsReady"},
    Dialect::HealthyReason{"StorageReady", "DiskIsReady"},
    Dialect::HealthyReason{"NetworkingReady", "NetworkingIsReady"},
    Dialect::HealthyReason{"ContainerRuntimeReady", "ContainerRuntimeIsReady"},
};

constexpr std::array kDialects = {
    Dialect{"hyperpod", &RuleNames::hyperpod, "True", "False", {}, {}},
    Dialect{"eks", &RuleNames::eks, "False", "True", kEksWords, kEksHealthy},
};

// Whether a finding asks for something to be done to the node. Where another system repairs whatever its conditions
// name, only such a finding may be given a name by us.
bool asksForRepair(const fault::Finding& finding) {
  return finding.action >= fault::RepairAction::kReset;
}

}  // namespace

Result<> checkVocabularies(const std::vector<std::string>& names) {
  constexpr std::array<std::string_view, kDialects.size()> kKnown = {kDialects[0].name, kDialects[1].name};
  for (const std::string& name : names) {
    if (std::ranges::find(kKnown, name) == kKnown.end()) {
      return fail(Code::kInvalidArgument, "--also-conditions: there is no vocabulary \"" + name + "\"" +
                                              didYouMean(name, kKnown) + "; there are hyperpod and eks");
    }
  }
  return {};
}

Speaker speakerOf(const std::vector<ConditionSpec>& conditions, const std::vector<ReasonSpec>& reasons,
                  std::vector<RuleNames> rules) {
  Speaker speaker;
  for (const ConditionSpec& condition : conditions) {
    speaker.conditions.insert(condition.type);
  }
  for (const ReasonSpec& reason : reasons) {
    if (reason.condition == kMonitorDegraded) {
      speaker.blindness.insert(reason.reason);
    }
  }
  speaker.rules = std::move(rules);
  return speaker;
}

Vocabulary::Vocabulary(const std::vector<std::string>& names, const std::vector<Speaker>& speakers) {
  for (const Dialect& dialect : kDialects) {
    if (std::ranges::find(names, dialect.name) == names.end()) {
      continue;
    }
    dialects_.push_back(&dialect);
    for (const Speaker& speaker : speakers) {
      learn(dialect, speaker);
    }
  }
  if (!dialects_.empty()) {
    for (const Speaker& speaker : speakers) {
      for (const RuleNames& rule : speaker.rules) {
        rules_.emplace(rule.rule, rule);
      }
    }
  }
}

void Vocabulary::learn(const Dialect& dialect, const Speaker& speaker) {
  const auto hear = [&](const std::string& ours, const std::string& theirs) {
    Word& known = word(dialect, theirs);
    known.ours.insert(ours);
    known.blindness.insert(speaker.blindness.begin(), speaker.blindness.end());
  };
  for (const RuleNames& rule : speaker.rules) {
    const fault::ForeignName& name = rule.*dialect.names;
    if (!rule.condition.empty() && !name.type.empty()) {
      hear(rule.condition, name.type);
    }
  }
  for (const std::string& ours : speaker.conditions) {
    if (const std::string theirs(dialect.usualType(ours)); !theirs.empty()) {
      hear(ours, theirs);
    }
  }
}

Vocabulary::Word& Vocabulary::word(const Dialect& dialect, const std::string& type) {
  const auto known = std::ranges::find(words_, type, &Word::type);
  return known != words_.end() ? *known : words_.emplace_back(Word{&dialect, type, {}, {}});
}

std::vector<std::string> Vocabulary::types() const {
  std::vector<std::string> all;
  for (const Word& word : words_) {
    all.push_back(word.type);
  }
  return all;
}

std::vector<api::Condition> Vocabulary::translate(const std::vector<api::Condition>& ours,
                                                  const std::vector<fault::Finding>& findings) const {
  std::vector<api::Condition> all;
  for (const Word& word : words_) {
    std::vector<api::Condition> sources;
    std::ranges::copy_if(ours, std::back_inserter(sources),
                         [&](const api::Condition& condition) { return word.ours.contains(condition.type); });
    if (!sources.empty()) {
      all.push_back(say(word, sources, findings));
    }
  }
  return all;
}

api::Condition Vocabulary::say(const Word& word, const std::vector<api::Condition>& sources,
                               const std::vector<fault::Finding>& findings) const {
  const auto saying = [&](std::string_view status, std::string_view reason, const std::string& message) {
    return api::Condition{word.type, std::string(status), std::string(reason), message, {}, {}};
  };
  if (const fault::Finding* worst = worstOf(word, findings)) {
    return saying(word.dialect->trouble, nameOf(*worst, *word.dialect).reason, worst->line);
  }
  for (const api::Condition& source : sources) {
    if (source.status != "False") {
      return saying("Unknown", source.reason, source.type + " is " + source.status + ": " + source.message);
    }
  }
  const bool full = findings.size() >= fault::kMaxFindings;  // others had to make room
  for (const fault::Finding& finding : findings) {
    if (finding.type == kMonitorDegraded && (full || word.blindness.contains(finding.reason))) {
      return saying("Unknown", finding.reason, finding.line);
    }
  }
  return saying(word.dialect->healthy, word.dialect->healthyReason(word.type),
                "no fault of this kind is known");
}

const fault::Finding* Vocabulary::worstOf(const Word& word,
                                          const std::vector<fault::Finding>& findings) const {
  const fault::Finding* worst = nullptr;
  for (const fault::Finding& finding : findings) {
    const bool meant = nameOf(finding, *word.dialect).type == word.type;
    if (meant && (!worst || fault::isWorse(finding, *worst))) {
      worst = &finding;
    }
  }
  return worst;
}

std::vector<fault::ForeignName> Vocabulary::namesOf(const fault::Finding& finding) const {
  std::vector<fault::ForeignName> all;
  for (const Dialect* dialect : dialects_) {
    if (fault::ForeignName name = nameOf(finding, *dialect); !name.type.empty()) {
      all.push_back(std::move(name));
    }
  }
  return all;
}

// What its rule says, of several meanings of one rule the one with the finding's action; else what is usual.
fault::ForeignName Vocabulary::nameOf(const fault::Finding& finding, const Dialect& dialect) const {
  const auto [first, end] = rules_.equal_range(finding.rule);
  auto rule =
      std::find_if(first, end, [&](const auto& entry) { return entry.second.action == finding.action; });
  rule = rule == end ? first : rule;
  fault::ForeignName name = rule == end ? fault::ForeignName() : rule->second.*dialect.names;
  if (name.type.empty() && asksForRepair(finding)) {
    name.type = dialect.usualType(finding.type);
  }
  if (name.reason.empty()) {
    name.reason = finding.reason;
  }
  return name;
}

}  // namespace mainstay::agent
