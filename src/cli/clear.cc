#include "cli/clear.h"

#include <set>

#include "agent/source_health.h"
#include "api/core.h"
#include "api/managed_fields.h"
#include "api/names.h"
#include "fault/clear_request.h"
#include "fault/finding.h"

namespace mainstay::cli {
namespace {

// Types of the conditions that the node's agent writes, without the one that tells what it does not see, and those that
// say in the words of other agents what these say.
std::set<std::string> clearableTypes(const Json& object, const api::Node& node) {
  std::set<std::string> types;
  for (const auto& [type, managers] : api::conditionManagers(object)) {
    if (managers.contains(api::kAgentManager) && type != agent::kMonitorDegraded &&
        !fault::isReadyCondition(type)) {
      types.insert(type);
    }
  }
  if (const auto findings = fault::decodeFindings(node.meta.annotation(api::kFindingsAnnotation))) {
    for (const fault::Finding& finding : *findings) {
      for (const fault::ForeignName& name : finding.also) {
        types.erase(name.type);
      }
    }
  }
  return types;
}

template <class Texts>
std::string listOf(const Texts& texts) {
  std::string list;
  for (const std::string& text : texts) {
    list += (list.empty() ? "" : ", ") + text;
  }
  return list;
}

Result<> checkCondition(const std::set<std::string>& known, const std::string& asked) {
  if (asked == agent::kMonitorDegraded) {
    return fail(
        Code::kFailedPrecondition,
        std::string(agent::kMonitorDegraded) +
            " cannot be cleared: it says what the agent does not see, and ends by itself when that is "
            "seen again. Its message says what to do");
  }
  if (known.empty()) {
    return fail(
        Code::kFailedPrecondition,
        "it has no conditions that an agent of Mainstay has written, so nobody would clear anything: is "
        "there an agent on it? Conditions of other programs are theirs to clear");
  }
  if (!asked.empty() && !known.contains(asked)) {
    return fail(Code::kFailedPrecondition,
                "its agent writes no condition \"" + asked + "\". It writes " + listOf(known));
  }
  return {};
}

// "GPUFault (Xid79)" of each that is True and meant.
std::vector<std::string> faultsOf(const api::Node& node, const std::set<std::string>& types,
                                  const std::string& asked) {
  std::vector<std::string> faults;
  for (const api::Condition& condition : node.conditions) {
    const bool meant = types.contains(condition.type) && (asked.empty() || asked == condition.type);
    if (meant && condition.status == "True") {
      faults.push_back(condition.type + " (" + condition.reason + ")");
    }
  }
  return faults;
}

// The UID is a precondition: a node of the same name that came in between is not the one that was read.
Json requestPatch(const api::Node& node, const ClearOptions& options, TimePoint now) {
  const std::string request = fault::encodeClearRequest({now, options.by, options.reason, options.condition});
  return JsonObject{{"metadata", JsonObject{{"uid", node.meta.uid},
                                            {"annotations", JsonObject{{api::kClearAnnotation, request}}}}}};
}

Result<std::string> tryToClear(kube::Api& api, const std::string& name, const ClearOptions& options,
                               TimePoint now) {
  MAINSTAY_ASSIGN(const Json object, kube::get(api, api::kNodes, "", name));
  MAINSTAY_ASSIGN(const api::Node node, api::decodeNode(object));
  const std::set<std::string> types = clearableTypes(object, node);
  MAINSTAY_TRY(checkCondition(types, options.condition));
  const std::vector<std::string> faults = faultsOf(node, types, options.condition);
  if (faults.empty()) {
    return "node " + name + ": nothing to clear, " +
           (options.condition.empty() ? "no fault is known to its agent"
                                      : options.condition + " is not True");
  }
  if (!options.dryRun) {
    MAINSTAY_TRY(kube::patch(api, api::kNodes, "", name, kube::Body::kMergePatch,
                             requestPatch(node, options, now), api::kCliManager));
  }
  return "node " + name + ": its agent " + (options.dryRun ? "would be" : "is") +
         " told that over is what was last seen before " + formatTime(now) + " of " + listOf(faults) +
         ". It looks every 20 s, and says in an Event ClearedByOperator what it cleared; what is seen again "
         "is raised again";
}

}  // namespace

Result<std::string> clearNode(kube::Api& api, const std::string& node, const ClearOptions& options,
                              TimePoint now) {
  Result<std::string> cleared = tryToClear(api, node, options, now);
  if (!cleared) {
    cleared.error().with("clearing node " + node);
  }
  return cleared;
}

int clearNode(Connection& connection, const std::string& node, const ClearOptions& options, std::ostream& out,
              std::ostream& errors) {
  if (options.reason.empty() && !options.dryRun) {
    errors << "mainstay: say why with --reason; it is told in the Event. (--dry-run needs none.)\n";
    return 2;
  }
  const auto api = connection.open();
  if (!api) {
    errors << "mainstay: " << api.error().toString() << "\n";
    return kWrongCluster;
  }
  const auto cleared = clearNode(**api, node, options, connection.clock().now());
  if (!cleared) {
    errors << "mainstay: " << cleared.error().toString() << "\n";
    return 1;
  }
  out << *cleared << "\n";
  return 0;
}

}  // namespace mainstay::cli
