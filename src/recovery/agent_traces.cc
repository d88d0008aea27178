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
  const auto bears = [&](const char* annotation) {
    return !findString(node, "metadata", "annotations", annotation).empty();
  };
  if (conditions.empty() && !bears(api::kFindingsAnnotation) && !bears(api::kClearAnnotation)) {
    return std::nullopt;
  }
  // The UID is a precondition: a node of the same name that came in between is not the one that was read.
  return JsonObject{{"metadata", JsonObject{{"uid", findString(node, "metadata", "uid")},
                                            {"annotations", JsonObject{{api::kFindingsAnnotation, nullptr},
                                                                       {api::kClearAnnotation, nullptr}}}}},
                    {"status", JsonObject{{"conditions", std::move(conditions)}}}};
}

}  // namespace mainstay::recovery
