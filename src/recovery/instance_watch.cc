#include "recovery/instance_watch.h"

#include <algorithm>
#include <thread>

#include "api/names.h"
#include "base/channel.h"
#include "recovery/replacement.h"

namespace mainstay::recovery {
namespace {

using api::Phase;

// A first answer comes at once; then the waits double from a quarter of a second, which a person does not
// notice, to fifteen, which Auto Scaling's own pace (tens of seconds) makes enough. A change begins anew.
constexpr Duration kFirstWait = std::chrono::milliseconds(250);
constexpr Duration kLastWait = std::chrono::seconds(15);
// Never sooner than this, whatever happens.
constexpr Duration kLeastWait = std::chrono::milliseconds(200);
// Under way at a time: two calls each, and their answers should come within seconds also when each takes 100 ms.
constexpr std::size_t kMaxAsked = 20;

// Isolation is ours alone and does not wait for the provider: its word is needed from there on.
bool needsInstance(const api::NodeRecovery& incident) {
  const Phase phase = incident.status.phase;
  return incident.open() && phase != Phase::kNew && phase != Phase::kHeld;
}

// What it says may change by itself, and matters.
bool followsInstance(const api::NodeRecovery& incident) {
  return needsInstance(incident) && incident.status.phase != Phase::kDraining;
}

// A node has joined that the last answer cannot know.
bool someoneJoined(const Fleet& fleet) {
  return std::ranges::any_of(fleet.nodes, [&](const auto& entry) {
    const api::Node& node = *entry.second;
    return node.ready() && !node.meta.labels.contains(api::kHealthStatusLabel) &&
           unknownToAnswers(fleet, node);
  });
}

bool sameAnswer(const InstanceFacts& a, const InstanceFacts& b) {
  const auto summary = [](const InstanceFacts& facts) {
    std::string text = facts.trouble;
    if (facts.instance) {
      text += facts.instance->lifecycle + (facts.instance->healthy ? "+" : "-");
    }
    for (const cloud::Instance& instance :
         facts.group ? facts.group->instances : std::vector<cloud::Instance>()) {
      text += "/" + instance.id + instance.lifecycle;
    }
    return text;
  };
  return summary(a) == summary(b);
}

// Answers the questions of one batch. Once a provider has no answer, perhaps by a timeout, the others of the batch get
// the same: they would wait as long.
class Interview {
 public:
  explicit Interview(const Providers& providers) : providers_(providers) {}

  InstanceFacts answer(const InstanceQuestion& question) {
    InstanceFacts facts;
    facts.at = question.at;
    facts.trouble = troubles_[question.provider];
    if (!facts.trouble.empty()) {
      return facts;
    }
    cloud::Provider& who = *providers_.at(question.provider);
    Result<std::optional<cloud::Instance>> instance = who.describe(question.providerId);
    if (!instance) {
      facts.trouble = troubles_[question.provider] = instance.error().toString();
      return facts;
    }
    facts.instance = *std::move(instance);
    const bool told = facts.instance && !facts.instance->group.empty();
    const std::string group = told ? facts.instance->group : question.group;
    if (!group.empty()) {
      describeGroup(who, group, facts);
    }
    return facts;
  }

 private:
  void describeGroup(cloud::Provider& who, const std::string& group, InstanceFacts& facts) {
    auto known = groups_.find(group);
    if (known == groups_.end()) {
      known = groups_.emplace(group, who.describeGroup(group)).first;
    }
    if (known->second) {
      facts.group = *known->second;
    } else {
      facts.trouble = known->second.error().toString();
    }
  }

  const Providers& providers_;
  std::map<std::string, std::string> troubles_;         // by provider
  std::map<std::string, Result<cloud::Group>> groups_;  // incidents share groups
};

class AtOnce final : public InstanceAsker {
 public:
  explicit AtOnce(const Providers& providers) : providers_(providers) {}

  void ask(std::vector<InstanceQuestion> questions) override {
    Interview interview(providers_);
    for (const InstanceQuestion& question : questions) {
      answers_.push_back({question.incident, interview.answer(question)});
    }
  }
  std::vector<InstanceAnswer> take() override { return std::exchange(answers_, {}); }

 private:
  const Providers& providers_;
  std::vector<InstanceAnswer> answers_;
};

class Aside final : public InstanceAsker {
 public:
  Aside(const Providers& providers, Signal& signal)
      : providers_(providers), signal_(signal), thread_([this](std::stop_token stop) { run(stop); }) {}

  void ask(std::vector<InstanceQuestion> questions) override {
    if (!questions.empty()) {
      questions_.tryPush(std::move(questions));
    }
  }
  std::vector<InstanceAnswer> take() override { return answers_.drain(); }

 private:
  void run(std::stop_token stop) {
    while (const auto batch = questions_.pop(stop)) {
      Interview interview(providers_);
      for (const InstanceQuestion& question : *batch) {
        if (!answers_.push({question.incident, interview.answer(question)}, stop)) {
          return;
        }
        signal_.notify();
      }
    }
  }

  const Providers& providers_;
  Signal& signal_;
  // At most kMaxAsked questions are under way, so neither is ever full.
  Channel<std::vector<InstanceQuestion>> questions_{kMaxAsked};
  Channel<InstanceAnswer> answers_{kMaxAsked};
  std::jthread thread_;
};

}  // namespace

std::unique_ptr<InstanceAsker> askAtOnce(const Providers& providers) {
  return std::make_unique<AtOnce>(providers);
}

std::unique_ptr<InstanceAsker> askAside(const Providers& providers, Signal& signal) {
  return std::make_unique<Aside>(providers, signal);
}

void InstanceWatch::step(const Fleet& fleet, TimePoint now) {
  joined_ = someoneJoined(fleet);
  takeAnswers();
  std::vector<InstanceQuestion> questions;
  bool moreDue = false;
  for (const auto& [name, incident] : fleet.incidents) {
    const auto policy = fleet.policies.find(incident->policy);
    if (policy == fleet.policies.end() || !fleet.providers.contains(policy->second->provider) ||
        asked_.contains(name) || !due(*incident, now)) {
      continue;
    }
    if (asked_.size() >= kMaxAsked) {
      moreDue = true;
      break;
    }
    asked_.insert(name);
    questions.push_back(
        {name, policy->second->provider, incident->node.providerId, incident->status.provider.group, now});
  }
  asker_->ask(std::move(questions));
  takeAnswers();
  const auto closed = [&](const auto& entry) {
    const auto at = fleet.incidents.find(entry.first);
    return at == fleet.incidents.end() || !at->second->open();
  };
  std::erase_if(facts_, closed);
  std::erase_if(rhythms_, closed);
  wake_ = kNever;
  if (asked_.size() >= kMaxAsked) {
    return;  // their answers are the signal
  }
  wake_ = moreDue ? now : kNever;
  for (const auto& [name, rhythm] : rhythms_) {
    if (!asked_.contains(name) && followsInstance(*fleet.incidents.at(name))) {
      wake_ = std::min({wake_, rhythm.next, joined_ ? facts_[name].at + kLeastWait : kNever});
    }
  }
}

void InstanceWatch::takeAnswers() {
  for (InstanceAnswer& answer : asker_->take()) {
    asked_.erase(answer.incident);
    const auto known = facts_.find(answer.incident);
    const bool changed = known == facts_.end() || !sameAnswer(known->second, answer.facts);
    Rhythm& rhythm = rhythms_[answer.incident];
    rhythm.wait = changed || rhythm.wait == Duration{} ? kFirstWait : std::min(rhythm.wait * 2, kLastWait);
    rhythm.next = answer.facts.at + rhythm.wait;
    facts_[answer.incident] = std::move(answer.facts);
  }
}

bool InstanceWatch::due(const api::NodeRecovery& incident, TimePoint now) const {
  if (!needsInstance(incident)) {
    return false;
  }
  const auto known = facts_.find(incident.meta.name);
  if (known == facts_.end()) {
    return true;
  }
  if (!followsInstance(incident)) {
    return false;
  }
  const TimePoint asked = known->second.at;
  const api::NodeRecoveryStatus& status = incident.status;
  if (asked < status.since.value_or(TimePoint{}) || asked <= status.provider.marked.value_or(TimePoint{})) {
    return true;
  }
  const auto rhythm = rhythms_.find(incident.meta.name);
  return (rhythm != rhythms_.end() && now >= rhythm->second.next) || (joined_ && now >= asked + kLeastWait);
}

}  // namespace mainstay::recovery
