// The part of NodeState that hears what others write on the Node: a cordon, and that a person calls faults over.
#include <algorithm>

#include "agent/node_state.h"
#include "agent/source_health.h"
#include "api/names.h"

namespace mainstay::agent {
namespace {

std::string whoAndWhy(const fault::ClearRequest& request) {
  return (request.by.empty() ? "somebody" : request.by) + " at " + formatTime(request.at) + ": " +
         request.reason;
}

std::string idsOf(const std::vector<fault::Finding>& findings) {
  std::string ids;
  for (const fault::Finding& finding : findings) {
    ids += (ids.empty() ? "" : ", ") + finding.id;
  }
  return ids;
}

}  // namespace

void NodeState::hear(const Json& node, TimePoint now) {
  noteCordon(node);
  const std::string text = findString(node, "metadata", "annotations", api::kClearAnnotation);
  const bool news = !text.empty() && text != heard_;
  heard_ = text;
  if (!news) {
    return;
  }
  ++revision_;  // the annotation is to go
  const auto request = fault::decodeClearRequest(text);
  if (!request) {
    addEvent(
        {kAgentSource, true, "ClearUnreadable",
         std::string("nothing is cleared, and the annotation ") + api::kClearAnnotation +
             " goes, because it is not as `mainstay node clear` writes it: " + request.error().toString(),
         "", now});
    return;
  }
  for (Held& held : conditions_) {
    const bool meant = request->condition.empty() || request->condition == held.condition.type;
    // What a monitor does not see is not for a person to say: it ends when the monitor sees.
    if (meant && held.owner.empty() && !held.translated && held.condition.type != kMonitorDegraded) {
      clear(held, *request, now);
    }
  }
  translate(now);
}

void NodeState::noteCordon(const Json& node) {
  const Json* unschedulable = mainstay::find(node, "spec", "unschedulable");
  const bool ours = findString(node, "metadata", "annotations", api::kCordonedAnnotation) == "true";
  cordoned_ = unschedulable && unschedulable->is_bool() && unschedulable->get_bool() && !ours;
}

// What is seen again, by whatever watches for it, is raised again.
void NodeState::clear(Held& held, const fault::ClearRequest& request, TimePoint now) {
  if (held.condition.status != "True") {
    return;
  }
  std::vector<fault::Finding> over;
  std::vector<fault::Finding> since;
  for (const auto& [id, seen] : seen_) {
    if (seen.finding.type == held.condition.type) {
      (seen.finding.last < request.at ? over : since).push_back(seen.finding);
    }
  }
  for (const fault::Finding& finding : over) {
    endReason(finding.type, forget(finding.id));
  }
  // Without a finding: of another program, or of a check whose finding had to make room.
  const bool bare = since.empty() && held.condition.lastTransition < request.at;
  if (bare) {
    std::erase_if(held.checks, [](const auto& check) { return check.second.status == "True"; });
  }
  if (!over.empty() || bare) {
    settle(held, now);
  }
  tellCleared(held.condition.type, request, over, since, now);
}

void NodeState::tellCleared(const std::string& type, const fault::ClearRequest& request,
                            const std::vector<fault::Finding>& over, const std::vector<fault::Finding>& since,
                            TimePoint now) {
  if (over.empty() && !since.empty()) {
    addEvent({kAgentSource, true, "NotCleared",
              type + " stays as it is, though called over by " + whoAndWhy(request) +
                  ". Seen since: " + idsOf(since),
              "", now});
    return;
  }
  const bool vouched = std::ranges::any_of(over, [&](const fault::Finding& finding) {
    const auto spec = reasonSpec(type, finding.reason, finding.device);
    return spec && spec->clearOn == fault::ClearOn::kInstance;
  });
  std::string message = type + " called over by " + whoAndWhy(request);
  message += over.empty() ? "" : ". Over: " + idsOf(over);
  message += vouched ? ". By its rule only another instance ends it: a person vouches for this one" : "";
  message += since.empty() ? "" : ". Seen since, and standing: " + idsOf(since);
  addEvent({kAgentSource, false, "ClearedByOperator", std::move(message), "", now});
}

}  // namespace mainstay::agent
