#include "recovery/release.h"

#include <algorithm>
#include <set>

#include "api/names.h"
#include "recovery/agent_traces.h"
#include "recovery/evidence.h"
#include "recovery/life_cycle.h"
#include "recovery/node_marks.h"

namespace mainstay::recovery {
namespace {

constexpr int kReleaseAttempts = 5;  // each loses only to a write of somebody else

const api::Node* findNode(const Fleet& fleet, const std::string& name) {
  const auto at = fleet.nodes.find(name);
  return at == fleet.nodes.end() ? nullptr : at->second.get();
}

// The open incident of this name's node; else the one that its annotation names: a release that was killed half-way.
const api::NodeRecovery* incidentToRelease(const Fleet& fleet, const std::string& name) {
  for (const auto& [key, incident] : fleet.incidents) {
    if (incident->open() && incident->node.name == name) {
      return incident.get();
    }
  }
  const api::Node* node = findNode(fleet, name);
  const auto named =
      node ? fleet.incidents.find(node->meta.annotation(api::kRecoveryAnnotation)) : fleet.incidents.end();
  return named == fleet.incidents.end() ? nullptr : named->second.get();
}

api::NodeRecoveryStatus closedByPerson(const Fleet& fleet, const api::NodeRecovery& incident,
                                       const api::Node* node, const std::string& reason, TimePoint now) {
  api::NodeRecoveryStatus status = incident.status;
  const auto policy = fleet.policies.find(incident.policy);
  if (node && node->meta.uid == incident.node.uid && policy != fleet.policies.end()) {
    // kNever: also what was not confirmed yet is called healthy.
    refreshEvidence(status.evidence, standingFaults(*node, *policy->second, kNever).faults);
  }
  status.outcome = kReleased;
  enter(status, api::Phase::kResolved, "released by a person" + (reason.empty() ? "" : ": " + reason), now);
  return status;
}

std::vector<api::Slot> slotsOf(const Fleet& fleet, const api::NodeRecovery& incident) {
  std::vector<api::Slot> slots;
  const auto policy = fleet.policies.find(incident.policy);
  if (policy != fleet.policies.end()) {
    for (const api::TakenSlot& taken : policy->second->active) {
      if (taken.recovery == incident.meta.name) {
        slots.push_back(taken.slot);
      }
    }
  }
  return slots;
}

// Collects the steps of one release and what they mean.
class Release {
 public:
  Release(const Fleet& fleet, std::string node, const ReleaseOptions& options, TimePoint now)
      : fleet_(fleet), name_(std::move(node)), options_(options), now_(now), node_(findNode(fleet, name_)) {}

  Result<ReleasePlan> plan() {
    incident_ = incidentToRelease(fleet_, name_);
    const bool marked = node_ && !node_->meta.annotation(api::kRecoveryAnnotation).empty();
    const bool open = incident_ && incident_->open();
    if (!open && !marked && !options_.uninstall) {
      return ReleasePlan{{}, "node " + name_ + " bears no marks of Mainstay: nothing to release"};
    }
    if (incident_) {
      MAINSTAY_TRY(giveIncidentBack());
    }
    if (node_) {
      giveNodeBack(marked);
    }
    return ReleasePlan{std::move(steps_),
                       "node " + name_ + (options_.dryRun ? " would be" : " is") + " released" + told_};
  }

 private:
  Result<> giveIncidentBack() {
    MAINSTAY_ASSIGN(const bool takeMarkBack, markToTakeBack());
    if (incident_->open()) {
      step(UpdateIncident{closedByPerson(fleet_, *incident_, node_, options_.reason, now_)});
      told_ += ": incident " + incident_->meta.name + " closed";
    }
    if (takeMarkBack) {
      step(MarkHealthy{incident_->status.provider.name, incident_->node.providerId});
      told_ += ", instance " + incident_->status.provider.instance + " marked healthy again";
    }
    if (std::vector<api::Slot> slots = slotsOf(fleet_, *incident_); !slots.empty()) {
      step(ReleaseSlots{incident_->policy, std::move(slots)});
    }
    return {};
  }

  // An instance that is ending cannot be given back any more.
  Result<bool> markToTakeBack() const {
    const api::ProviderRecord& record = incident_->status.provider;
    if (!record.intent) {
      return false;
    }
    const auto facts = fleet_.facts.find(incident_->meta.name);
    const bool known = facts != fleet_.facts.end() && facts->second.trouble.empty();
    if (!known && !options_.uninstall) {
      return fail(Code::kUnavailable, "instance " + record.instance + " was to be replaced, and provider " +
                                          record.name + " cannot be asked whether it is still there" +
                                          (facts == fleet_.facts.end() ? "" : ": " + facts->second.trouble));
    }
    const bool ending = known && (facts->second.gone() || facts->second.instance->ending());
    if (ending && !options_.uninstall) {
      return fail(Code::kFailedPrecondition,
                  "instance " + record.instance +
                      " is ending already and cannot be given back; the incident goes on "
                      "until its replacement is sound");
    }
    return known && !ending && !facts->second.instance->healthy;
  }

  void giveNodeBack(bool marked) {
    step(RestoreNode{node_->meta.uid,
                     options_.uninstall ? std::nullopt : std::optional<std::string>(api::kSchedulable)});
    if (marked) {
      told_ += ", back in service";
      const std::string why = options_.reason.empty() ? "" : ": " + options_.reason;
      step(PostEvent{
          {"v1", "Node", "", name_, node_->meta.uid}, false, "NodeReleased", "Released by a person" + why});
    }
  }

  void step(Action action) {
    steps_.push_back(
        {incident_ ? incident_->meta.name : "", name_, std::move(action), "released by a person"});
  }

  const Fleet& fleet_;
  const std::string name_;
  const ReleaseOptions& options_;
  const TimePoint now_;
  const api::Node* node_;
  const api::NodeRecovery* incident_ = nullptr;
  std::vector<Step> steps_;
  std::string told_;
};

template <class T>
Result<> readOnce(kube::WatchCache<T>& cache, TimePoint now) {
  cache.sync(now);
  return cache.synced() ? Result<>() : fail(Code::kUnavailable, cache.lastError());
}

// What a release looks at, read once.
class ReleaseWorld {
 public:
  ReleaseWorld(kube::Api& api, const Providers& providers)
      : api_(api),
        providers_(providers),
        caches_(api, signal_),
        executor_(api, caches_, providers_, "", [] { return true; }) {}

  Result<> read(TimePoint now) {
    MAINSTAY_TRY(readOnce(caches_.nodes, now));
    // A cluster without our kinds, where only agents run, has neither policies nor incidents.
    const Result<kube::ObjectList> kinds = kube::list(api_, api::kRecoveryPolicies);
    if (!kinds && kinds.error().code() == Code::kNotFound) {
      return {};
    }
    MAINSTAY_TRY(readOnce(caches_.policies, now));
    return readOnce(caches_.incidents, now);
  }

  // Plans again when somebody wrote in between, most often the controller that goes on from what we wrote.
  Result<std::string> release(const std::string& node, const ReleaseOptions& options, TimePoint now) {
    std::string sentence;
    for (int attempt = 1;; ++attempt) {
      MAINSTAY_ASSIGN(const ReleasePlan plan, planNow(node, options, now));
      sentence = sentence.empty() ? plan.sentence : sentence;
      const Result<> done = options.dryRun ? Result<>() : carryOut(plan.steps, options, now);
      if (done) {
        return sentence;
      }
      if (done.error().code() != Code::kConflict || attempt == kReleaseAttempts) {
        return fail(done.error());
      }
    }
  }

  // Nodes of open incidents.
  std::set<std::string> concerned() const {
    std::set<std::string> names;
    for (const auto& [key, incident] : caches_.incidents.objects()) {
      if (incident->open()) {
        names.insert(incident->node.name);
      }
    }
    return names;
  }

 private:
  Result<ReleasePlan> planNow(const std::string& node, const ReleaseOptions& options, TimePoint now) const {
    Fleet fleet = caches_.fleet();
    if (const api::NodeRecovery* incident = incidentToRelease(fleet, node);
        incident && incident->status.provider.intent) {
      askAbout(*incident, fleet, now);
    }
    return planRelease(fleet, node, options, now);
  }

  Result<> carryOut(const std::vector<Step>& steps, const ReleaseOptions& options, TimePoint now) {
    for (const Step& step : steps) {
      const Result<> done = executor_.execute(step, now);
      const bool matters = !std::holds_alternative<PostEvent>(step.action) &&
                           !(options.uninstall && std::holds_alternative<MarkHealthy>(step.action));
      if (!done && matters) {
        return fail(Error(done.error()).with(describe(step)));
      }
    }
    return {};
  }

  void askAbout(const api::NodeRecovery& incident, Fleet& fleet, TimePoint now) const {
    const auto provider = providers_.find(incident.status.provider.name);
    if (provider == providers_.end()) {
      return;
    }
    InstanceFacts facts;
    facts.at = now;
    if (auto answer = provider->second->describe(incident.node.providerId)) {
      facts.instance = *std::move(answer);
    } else {
      facts.trouble = answer.error().toString();
    }
    fleet.facts[incident.meta.name] = std::move(facts);
  }

  kube::Api& api_;
  const Providers& providers_;
  Signal signal_;
  Caches caches_;
  Executor executor_;
};

// "" when the node bears no traces of an agent. An agent that still runs writes them again.
Result<std::string> forgetAgent(kube::Api& api, const Json& node, bool dryRun) {
  const std::optional<Json> patch = withoutAgentTraces(node);
  if (!patch) {
    return "";
  }
  const std::string name = findString(node, "metadata", "name");
  if (dryRun) {
    return "the agent's conditions and findings would be taken off node " + name;
  }
  const Result<Json> written = kube::patch(api, api::kNodes, "", name, kube::Body::kStrategicMergePatch,
                                           *patch, api::kCliManager, "status");
  if (!written && written.error().code() != Code::kNotFound) {
    return fail(Error(written.error()).with("taking the agent's conditions off node " + name));
  }
  return "the agent's conditions and findings are taken off node " + name;
}

void addTo(Released& released, Result<std::string> done) {
  released.failed |= !done;
  if (std::string sentence = done ? *std::move(done) : done.error().toString(); !sentence.empty()) {
    released.sentences.push_back(std::move(sentence));
  }
}

}  // namespace

Result<ReleasePlan> planRelease(const Fleet& fleet, const std::string& node, const ReleaseOptions& options,
                                TimePoint now) {
  return Release(fleet, node, options, now).plan();
}

Result<std::string> releaseNode(kube::Api& api, const Providers& providers, const std::string& node,
                                const ReleaseOptions& options, TimePoint now) {
  ReleaseWorld world(api, providers);
  MAINSTAY_TRY(world.read(now));
  Result<std::string> released = world.release(node, options, now);
  if (!released) {
    released.error().with("releasing node " + node);
  }
  return released;
}

Result<Released> releaseAllNodes(kube::Api& api, const Providers& providers, const ReleaseOptions& options,
                                 TimePoint now) {
  ReleaseOptions all = options;
  all.uninstall = true;
  ReleaseWorld world(api, providers);
  MAINSTAY_TRY(world.read(now));
  std::set<std::string> names = world.concerned();
  MAINSTAY_ASSIGN(const kube::ObjectList nodes, kube::list(api, api::kNodes));
  for (const Json& node : nodes.items) {
    if (bearsOurMarks(node)) {
      names.insert(findString(node, "metadata", "name"));
    }
  }
  Released released;
  for (const std::string& name : names) {
    Result<std::string> done = world.release(name, all, now);
    if (!done) {
      done.error().with("releasing node " + name);
    }
    addTo(released, std::move(done));
  }
  if (released.failed) {
    return released;  // what stays out of service keeps its evidence
  }
  for (const Json& node : nodes.items) {
    addTo(released, forgetAgent(api, node, all.dryRun));
  }
  return released;
}

}  // namespace mainstay::recovery
