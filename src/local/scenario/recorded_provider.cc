#include "local/scenario/recorded_provider.h"

namespace mainstay::local {

Result<> RecordedProvider::markUnhealthy(const std::string& id, const std::string& token) {
  const std::size_t before = cluster_.cloud().effects().size();
  Result<> result = inner_.markUnhealthy(id, token);
  note(id, "Unhealthy", cluster_.cloud().effects().size() > before, result);
  return result;
}

Result<> RecordedProvider::markHealthy(const std::string& id) {
  const std::size_t before = cluster_.cloud().effects().size();
  Result<> result = inner_.markHealthy(id);
  note(id, "Healthy", cluster_.cloud().effects().size() > before, result);
  return result;
}

void RecordedProvider::note(const std::string& id, const char* status, bool effect, const Result<>& result) {
  const std::string instance = cloud::instanceIdOf(id);
  recorder_.note(kCloudKind, {{"cloud", "SetInstanceHealth"},
                              {"who", "controller"},
                              {"id", instance},
                              {"instance", namesOfInstance(cluster_, instance)},
                              {"status", status},
                              {"effect", effect},
                              {"message", !result  ? result.error().toString()
                                          : effect ? ""
                                                   : "it was so already"}});
}

JsonArray namesOfInstance(const Cluster& cluster, const std::string& id) {
  JsonArray names{Json(id)};
  for (const Cluster::NodeState& node : cluster.nodes()) {
    if (cloud::instanceIdOf(node.providerId) == id) {
      names.push_back(Json(node.name));
    }
  }
  return names;
}

}  // namespace mainstay::local
