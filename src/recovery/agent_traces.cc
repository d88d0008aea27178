#include "recovery/agent_traces.h"

#include "api/managed_fields.h"
#include "api/names.h"

namespace mainstay::recovery {

std::optional<Json> withoutAgentTraces(const Json& node) {
  JsonArray conditions;
  for (const auto& [type, managers] : api::conditionManagers(node)) {
    if (managers == std::set<std::string>{api::kAgentManager}) {
      conditions.push_back(JsonObject{{"$patch", "delete"}, {"type", type}});
    }
  }
  if (conditions.empty() && findString(node, "metadata", "annotations", api::kFindingsAnnotation).empty()) {
    return std::nullopt;
  }
  // The UID is a precondition: a node of the same name that came in between is not the one that was read.
  return JsonObject{
      {"metadata", JsonObject{{"uid", findString(node, "metadata", "uid")},
                              {"annotations", JsonObject{{api::kFindingsAnnotation, nullptr}}}}},
      {"status", JsonObject{{"conditions", std::move(conditions)}}}};
}

}  // namespace mainstay::recovery
