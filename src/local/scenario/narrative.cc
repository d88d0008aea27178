#include "local/scenario/narrative.h"

#include <algorithm>
#include <optional>

#include "api/core.h"
#include "api/names.h"
#include "api/node_recovery.h"
#include "fault/finding.h"

namespace mainstay::local {
namespace {

using Lines = std::vector<StoryLine>;

constexpr char kController[] = "mainstay-controller";  // as it signs its Events

std::string listed(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    text += (text.empty() ? "" : ", ") + part;
  }
  return text;
}

// --- Nodes ---

bool ofKubelet(const std::string& type) {
  return type == "MemoryPressure" || type == "DiskPressure" || type == "PIDPressure" ||
         type == "NetworkUnavailable";
}

// What the agent's finding adds to a condition: rule and device.
std::string findingText(const api::Node& node, const api::Condition& condition) {
  const auto findings = fault::decodeFindings(node.meta.annotation(api::kFindingsAnnotation));
  if (!findings) {
    return condition.message;
  }
  for (auto finding = findings->rbegin(); finding != findings->rend(); ++finding) {
    if (finding->type == condition.type && finding->reason == condition.reason) {
      return "rule " + finding->rule + (finding->device.empty() ? "" : ", device " + finding->device);
    }
  }
  return condition.message;
}

void tellConditions(const api::Node* before, const api::Node& after, const Entry& entry, Lines& lines) {
  for (const api::Condition& condition : after.conditions) {
    const api::Condition* old = before ? before->condition(condition.type) : nullptr;
    const bool changed = old ? old->status != condition.status || old->reason != condition.reason
                             : condition.status == "True" && condition.type == "Ready";
    if (!changed || ofKubelet(condition.type)) {
      continue;
    }
    const bool ready = condition.type == "Ready";
    const std::string who = !ready                          ? "agent"
                            : condition.status == "Unknown" ? "node-lifecycle"
                                                            : after.meta.name;
    const std::string what =
        (ready ? "" : after.meta.name + ": ") + condition.type + " = " + condition.status;
    lines.push_back({entry.at, entry.person ? "person" : who,
                     ready ? after.meta.name + ": " + what : what + ", " + condition.reason,
                     ready ? condition.message : findingText(after, condition)});
  }
}

std::vector<std::string> taintChanges(const api::Node& before, const api::Node& after, bool all) {
  std::vector<std::string> changes;
  const auto compare = [&](const api::Node& from, const api::Node& to, const std::string& word) {
    for (const api::Taint& taint : from.taints) {
      const bool kept = std::ranges::find(to.taints, taint) != to.taints.end();
      if (!kept && (all || !taint.key.starts_with("node.kubernetes.io/"))) {
        const bool ours = taint.key == api::kHealthTaintKey;
        changes.push_back(word + (ours ? "" : " " + taint.key + "=" + taint.value + ":" + taint.effect));
      }
    }
  };
  compare(after, before, "taint");
  compare(before, after, "no more taint");
  return changes;
}

void tellMarks(const api::Node& before, const api::Node& after, const Entry& entry, Lines& lines) {
  std::vector<std::string> changes;
  const std::string& label = after.meta.label(api::kHealthStatusLabel);
  if (label != before.meta.label(api::kHealthStatusLabel)) {
    changes.push_back(label.empty() ? "no health label" : "label " + label);
  }
  for (std::string& change : taintChanges(before, after, entry.person)) {
    changes.push_back(std::move(change));
  }
  if (after.unschedulable != before.unschedulable) {
    changes.emplace_back(after.unschedulable ? "cordon" : "uncordon");
  }
  if (!changes.empty()) {
    const std::string& recovery = after.meta.annotation(api::kRecoveryAnnotation);
    lines.push_back({entry.at, entry.person ? "person" : "controller",
                     after.meta.name + ": " + listed(changes),
                     entry.person || recovery.empty() ? "" : "incident " + recovery});
  }
}

void tellNode(const Entry& entry, Lines& lines) {
  const auto before = entry.before ? api::decodeNode(*entry.before) : Result<api::Node>();
  const auto after = entry.after ? api::decodeNode(*entry.after) : Result<api::Node>();
  if (!before || !after) {
    return;
  }
  if (!entry.after) {
    lines.push_back({entry.at, entry.person ? "person" : "controller", "Node " + entry.key + " deleted", ""});
    return;
  }
  if (!entry.before) {
    lines.push_back({entry.at, entry.key, "joined as a new Node", after->providerId});
  }
  tellConditions(entry.before ? &*before : nullptr, *after, entry, lines);
  if (entry.before) {
    tellMarks(*before, *after, entry, lines);
  }
}

// --- Incidents ---

void tellRecovery(const Entry& entry, Lines& lines) {
  if (!entry.after) {
    return;
  }
  const auto before = entry.before ? api::decodeNodeRecovery(*entry.before) : Result<api::NodeRecovery>();
  const auto after = api::decodeNodeRecovery(*entry.after);
  if (!before || !after) {
    return;
  }
  const std::size_t told = before->status.transitions.size();
  for (std::size_t i = told; i < after->status.transitions.size(); ++i) {
    const api::Transition& transition = after->status.transitions[i];
    lines.push_back({entry.at, "controller",
                     entry.key + " is " + std::string(api::phaseName(transition.phase)), transition.reason});
  }
  const bool moved = told < after->status.transitions.size();
  if (!moved && after->status.message != before->status.message && !after->status.message.empty()) {
    lines.push_back({entry.at, "controller", entry.key + " goes on", after->status.message});
  }
}

// --- Jobs ---

bool suspendedIn(const Version& job) {
  const Json* flag = job ? mainstay::find(*job, "spec", "runPolicy", "suspend") : nullptr;
  return flag && flag->is_bool() && flag->get_bool();
}

std::vector<std::string> trueConditions(const Version& job) {
  std::vector<std::string> types;
  const Json* list = job ? mainstay::find(*job, "status", "conditions") : nullptr;
  for (const Json& condition : list && list->is_array() ? list->get_array() : JsonArray()) {
    if (findString(condition, "status") == "True") {
      types.push_back(findString(condition, "type"));
    }
  }
  return types;
}

// "retry 1, for incident b-5e24d956-1".
std::string resumeText(const Json& job) {
  const auto state = parseJson(findString(job, "metadata", "annotations", api::kResumeAnnotation));
  const Json* retry = state ? mainstay::find(*state, "retry") : nullptr;
  const Json* incidents = state ? mainstay::find(*state, "incidents") : nullptr;
  if (!retry || !incidents || !incidents->is_array() || incidents->get_array().empty()) {
    return "";
  }
  return "retry " + toText(*retry) + ", for incident " + flowText(incidents->get_array().back());
}

void tellJob(const Entry& entry, Lines& lines) {
  const std::string job = "job " + entry.key.substr(entry.key.find('/') + 1);
  if (!entry.after || !entry.before) {
    lines.push_back({entry.at, "person", job + (entry.after ? " created" : " deleted"), ""});
    return;
  }
  if (suspendedIn(entry.before) != suspendedIn(entry.after)) {
    lines.push_back({entry.at, entry.person ? "person" : "controller",
                     job + (suspendedIn(entry.after) ? " stopped (suspend)" : " started"),
                     resumeText(*entry.after)});
  }
  const std::vector<std::string> old = trueConditions(entry.before);
  for (const std::string& type : trueConditions(entry.after)) {
    if (std::ranges::find(old, type) == old.end()) {
      lines.push_back({entry.at, "job", job.substr(4) + " " + type, ""});
    }
  }
}

// --- Events, cloud, scenario ---

int timesOf(const Version& event) {
  const Json* count = event ? mainstay::find(*event, "count") : nullptr;
  return count && count->is_int64() ? static_cast<int>(count->get_int64()) : 0;
}

void tellEvent(const Entry& entry, Lines& lines) {
  if (!entry.after || (entry.before && timesOf(entry.before) == timesOf(entry.after))) {
    return;
  }
  const std::string component = findString(*entry.after, "source", "component");
  const std::string message = findString(*entry.after, "message");
  const bool ours = component == kController;
  const bool echo = message.starts_with("Node condition ");  // the agent's; told as the condition itself
  if (ours || (findString(*entry.after, "type") == "Warning" && !echo)) {
    const std::string times = entry.before ? " (" + std::to_string(timesOf(entry.after)) + " times)" : "";
    lines.push_back({entry.at, ours ? "controller" : component,
                     "Event " + findString(*entry.after, "reason") + " on " +
                         findString(*entry.after, "involvedObject", "name") + times,
                     message});
  }
}

void tellCloud(const Entry& entry, Lines& lines) {
  std::string what = findString(*entry.after, "cloud");
  const Json* names = mainstay::find(*entry.after, "instance");
  for (const Json& name : names && names->is_array() ? names->get_array() : JsonArray()) {
    what += " " + std::string(name.get_string());
  }
  const std::string status = findString(*entry.after, "status");
  lines.push_back({entry.at, findString(*entry.after, "who"), what + (status.empty() ? "" : ": " + status),
                   findString(*entry.after, "message")});
}

void tellScenario(const Entry& entry, Lines& lines) {
  lines.push_back({entry.at, findString(*entry.after, "who"), findString(*entry.after, "what"),
                   findString(*entry.after, "why")});
}

void tell(const Entry& entry, Lines& lines) {
  if (entry.kind == "nodes") {
    tellNode(entry, lines);
  } else if (entry.kind == "noderecoveries") {
    tellRecovery(entry, lines);
  } else if (entry.kind == "pytorchjobs") {
    tellJob(entry, lines);
  } else if (entry.kind == "events") {
    tellEvent(entry, lines);
  } else if (entry.kind == kCloudKind) {
    tellCloud(entry, lines);
  } else if (entry.kind == kScenarioKind) {
    tellScenario(entry, lines);
  }
}

}  // namespace

std::vector<StoryLine> narrate(const Recording& recording) {
  Lines lines;
  for (std::size_t i = recording.zeroIndex; i < recording.entries.size(); ++i) {
    tell(recording.entries[i], lines);
  }
  return lines;
}

}  // namespace mainstay::local
