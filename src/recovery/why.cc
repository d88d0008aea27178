#include "recovery/why.h"

#include <algorithm>

#include "api/names.h"
#include "recovery/evidence.h"
#include "recovery/life_cycle.h"

namespace mainstay::recovery {
namespace {

using api::Phase;

struct PhaseWords {
  Phase phase;
  std::string_view is;     // "node-f is ..."
  std::string_view state;  // what that is for the node
  std::string_view next;
};

constexpr PhaseWords kPhaseWords[] = {
    {Phase::kNew, "just noticed", "nothing on it has been touched", "a look at the policy's limits"},
    {Phase::kHeld, "held", "nothing on it has been touched",
     "out of service, drained, its instance replaced, as soon as nothing stands in the way"},
    {Phase::kIsolated, "isolated", "it takes no new work",
     "its pods are asked to leave; jobs that opted in are stopped"},
    {Phase::kDraining, "draining", "it takes no new work, and its pods are leaving",
     "its instance is marked unhealthy, and its group launches another"},
    {Phase::kReplacing, "being replaced", "it takes no new work, and its instance is given back",
     "the old Node is removed, and the first new node of the group takes its place"},
    {Phase::kValidating, "being replaced", "its replacement has joined",
     "the replacement takes work when it is Ready and has as many devices"},
    {Phase::kEscalated, "escalated",
     "a person is needed; it is still watched, and goes on by itself when it can",
     "whatever you decide, or a sound replacement that comes after all"},
};

const PhaseWords& wordsOf(Phase phase) {
  const auto at = std::ranges::find(kPhaseWords, phase, &PhaseWords::phase);
  return at == std::end(kPhaseWords) ? kPhaseWords[0] : *at;
}

std::string timeOfDay(TimePoint time) {
  return formatTime(time).substr(11, 8);
}

std::string sinceText(TimePoint since, TimePoint now) {
  return "since " + timeOfDay(since) + " (" + humanDuration(std::max(now - since, Duration{})) + ")";
}

std::vector<std::string> seenLines(const std::vector<fault::Finding>& evidence) {
  std::vector<std::string> lines;
  for (const fault::Finding& finding : evidence) {
    const std::string often = finding.count <= 1 ? "once" : std::to_string(finding.count) + " times";
    const std::string when = finding.first == TimePoint{} ? "" : " at " + timeOfDay(finding.first);
    lines.push_back(describeFault(finding) + when + ", " + often +
                    (finding.line.empty() ? "" : ": \"" + finding.line + "\""));
    if (!finding.rule.empty()) {
      lines.push_back((finding.seq ? "kernel log record " + std::to_string(finding.seq) + "; " : "") +
                      "rule " + finding.rule);
    }
  }
  return lines;
}

std::string meaningOf(const fault::Finding& finding) {
  if (finding.type == kPersonRequest) {
    return "a person asked for a replacement";
  }
  if (finding.type == api::kNodeLost) {
    return "the node does not answer: it is down, or cut off";
  }
  if (finding.action == fault::RepairAction::kReplace) {
    return "the rule says that only another instance cures it";
  }
  return "the policy says that it is cured by another instance";
}

std::vector<std::string> meanings(const std::vector<fault::Finding>& evidence) {
  std::vector<std::string> lines;
  for (const fault::Finding& finding : evidence) {
    std::string meaning = meaningOf(finding);
    if (std::ranges::find(lines, meaning) == lines.end()) {
      lines.push_back(std::move(meaning));
    }
  }
  return lines;
}

std::vector<std::string> hurtLines(const Fleet& fleet, const std::string& node,
                                   const api::NodeRecovery* incident) {
  std::vector<std::string> lines;
  for (const api::TouchedJob& job : incident ? incident->status.jobs : std::vector<api::TouchedJob>()) {
    lines.push_back("job " + job.ns + "/" + job.name + ": " + job.state +
                    (job.message.empty() ? "" : ", " + job.message));
  }
  for (const auto& [key, pod] : fleet.pods) {
    if (pod->nodeName == node && !pod->finished() && !pod->ownedByDaemonSet() && !pod->mirror()) {
      lines.push_back("pod " + key + (pod->meta.deleted ? " (ending)" : ""));
    }
  }
  return lines.empty() ? std::vector<std::string>{"no job runs here"} : lines;
}

void explainOpen(Explanation& out, const api::NodeRecovery& incident, TimePoint now) {
  const api::NodeRecoveryStatus& status = incident.status;
  const PhaseWords& words = wordsOf(status.phase);
  const bool heldIsolated = status.phase == Phase::kHeld && status.isolated;
  out.phase = phaseName(status.phase);
  out.headline = out.node + " is " + std::string(words.is) + " " +
                 sinceText(status.since.value_or(incident.meta.created), now) + ": " +
                 (heldIsolated ? "it takes no new work, and " : "") + std::string(words.state) + ".";
  out.seen = seenLines(status.evidence);
  out.means = meanings(status.evidence);
  const bool observes = status.phase == Phase::kHeld && status.mode == api::Mode::kObserve;
  out.next = {observes ? "nothing, as long as policy " + incident.policy + " only observes"
                       : std::string(words.next)};
  if (!status.message.empty()) {
    out.waits.push_back(status.message);
  }
  if (!status.provider.message.empty() && status.message.find(status.provider.message) == std::string::npos) {
    out.waits.push_back(status.provider.name + " says: " + status.provider.message);
  }
  out.youCan.emplace_back("mainstay node release " + out.node + " --reason \"...\"", "call it healthy");
  out.youCan.emplace_back("kubectl describe noderecovery " + incident.meta.name,
                          "see every transition and its reason");
}

void explainClosed(Explanation& out, const api::NodeRecovery& incident, TimePoint now) {
  const api::NodeRecoveryStatus& status = incident.status;
  const TimePoint closed = status.closed.value_or(now);
  out.next.push_back("the last incident, " + incident.meta.name + ", was closed " +
                     humanDuration(std::max(now - closed, Duration{})) + " ago: " + status.message);
}

void explainQuiet(Explanation& out, const Fleet& fleet, const api::Node& node, TimePoint now) {
  const FleetIndex index(fleet);
  const std::string& label = node.meta.label(api::kHealthStatusLabel);
  out.headline = out.node + " is " + (label.empty() ? (node.ready() ? "Ready" : "not Ready") : label) +
                 ": no incident is open.";
  const api::RecoveryPolicy* policy = index.policyOf(node);
  if (!policy) {
    out.next.push_back("nothing: no policy selects this node");
    return;
  }
  const Standing standing = standingFaults(node, *policy, now);
  out.seen = seenLines(standing.faults);
  if (standing.wake != kNever) {
    out.waits.push_back("a fault stands and is confirmed at " + timeOfDay(standing.wake));
  }
  for (const api::Condition& condition : node.conditions) {
    if (condition.status == "True" && condition.type != "Ready" && standing.faults.empty()) {
      out.seen.push_back("condition " + condition.type + "/" + condition.reason + " is True; policy " +
                         policy->meta.name + " has no fault that matches it, or it was released");
    }
  }
  if (!standing.trouble.empty()) {
    out.seen.push_back(standing.trouble);
  }
}

const api::NodeRecovery* newestOf(const Fleet& fleet, const std::string& node) {
  const api::NodeRecovery* best = nullptr;
  for (const auto& [name, incident] : fleet.incidents) {
    const auto rank = [](const api::NodeRecovery& candidate) {
      return std::pair(candidate.open(), candidate.status.closed.value_or(candidate.meta.created));
    };
    if (incident->node.name == node && (!best || rank(*best) < rank(*incident))) {
      best = incident.get();
    }
  }
  return best;
}

std::string section(std::string_view title, const std::vector<std::string>& lines) {
  constexpr std::size_t kColumn = 16;
  std::string text;
  for (const std::string& line : lines) {
    std::string label = text.empty() ? std::string(title) : "";
    label.resize(kColumn, ' ');
    text += "  " + label + line + "\n";
  }
  return text;
}

JsonArray toArray(const std::vector<std::string>& lines) {
  return JsonArray(lines.begin(), lines.end());
}

}  // namespace

Result<Explanation> explainNode(const Fleet& fleet, const std::string& name, TimePoint now) {
  const auto at = fleet.nodes.find(name);
  const api::Node* node = at == fleet.nodes.end() ? nullptr : at->second.get();
  const api::NodeRecovery* incident = newestOf(fleet, name);
  if (!node && !incident) {
    return fail(Code::kNotFound, "there is no node " + name + ", and no incident of one");
  }
  Explanation out;
  out.node = name;
  out.incident = incident ? incident->meta.name : "";
  if (incident && incident->open()) {
    explainOpen(out, *incident, now);
  } else if (node) {
    explainQuiet(out, fleet, *node, now);
  } else {
    out.phase = phaseName(incident->status.phase);
    out.headline = name + " is gone.";
  }
  if (incident && !incident->open()) {
    explainClosed(out, *incident, now);
  }
  out.hurt =
      node || !incident->status.jobs.empty() ? hurtLines(fleet, name, incident) : std::vector<std::string>();
  return out;
}

Result<Explanation> whyNode(kube::Api& api, const std::string& node, TimePoint now) {
  Fleet fleet;
  Result<Json> object = kube::get(api, api::kNodes, "", node);
  if (!object && object.error().code() != Code::kNotFound) {
    return fail(std::move(object).error());
  }
  if (object) {
    MAINSTAY_ASSIGN(api::Node decoded, api::decodeNode(*object));
    fleet.nodes[node] = std::make_shared<const api::Node>(std::move(decoded));
  }
  const auto take = [&api](const api::Resource& resource, auto decode, auto& into,
                           Query selectors) -> Result<> {
    MAINSTAY_ASSIGN(const kube::ObjectList all, kube::list(api, resource, "", std::move(selectors)));
    for (const Json& item : all.items) {
      if (auto decoded = decode(item)) {
        const std::string key = decoded->meta.key();
        into[key] = std::make_shared<const typename decltype(decoded)::value_type>(*std::move(decoded));
      }
    }
    return {};
  };
  MAINSTAY_TRY(take(api::kRecoveryPolicies, api::decodeRecoveryPolicy, fleet.policies, {}));
  MAINSTAY_TRY(take(api::kNodeRecoveries, api::decodeNodeRecovery, fleet.incidents, {}));
  MAINSTAY_TRY(take(api::kPods, api::decodePod, fleet.pods, {{"fieldSelector", "spec.nodeName=" + node}}));
  return explainNode(fleet, node, now);
}

std::string explanationText(const Explanation& explanation) {
  std::string text = explanation.headline + "\n\n";
  text += section("What was seen", explanation.seen);
  text += section("What it means", explanation.means);
  text += section("What is next", explanation.next);
  text += section("Why not now", explanation.waits);
  text += section("Who is hurt", explanation.hurt);
  std::size_t width = 0;
  for (const auto& [command, effect] : explanation.youCan) {
    width = std::max(width, command.size());
  }
  std::vector<std::string> commands;
  for (const auto& [command, effect] : explanation.youCan) {
    commands.push_back(command + std::string(width + 4 - command.size(), ' ') + effect);
  }
  return text + section("You can", commands);
}

Json explanationJson(const Explanation& explanation) {
  JsonArray commands;
  for (const auto& [command, effect] : explanation.youCan) {
    commands.push_back(JsonObject{{"command", command}, {"effect", effect}});
  }
  return JsonObject{{"node", explanation.node},          {"incident", explanation.incident},
                    {"phase", explanation.phase},        {"headline", explanation.headline},
                    {"seen", toArray(explanation.seen)}, {"means", toArray(explanation.means)},
                    {"next", toArray(explanation.next)}, {"waits", toArray(explanation.waits)},
                    {"hurt", toArray(explanation.hurt)}, {"youCan", std::move(commands)}};
}

}  // namespace mainstay::recovery
