// Writes to a Node's labels, annotations, taints and cordon that never lose what others wrote there.
//
// The taint list is atomic for the API server: a patch replaces all of it. So every such write reads the
// node, keeps foreign taints byte for byte, carries the resourceVersion, and begins again when somebody wrote
// in between.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/core.h"
#include "kube/api.h"

namespace mainstay::kube {

struct NodeChange {
  // nullopt removes.
  std::map<std::string, std::optional<std::string>> labels{};
  std::map<std::string, std::optional<std::string>> annotations{};
  // A taint is known by key and effect: one of the same is replaced.
  std::vector<api::Taint> addTaints{};
  // Removed when key, value and effect are these.
  std::vector<api::Taint> removeTaints{};
  // true cordons, false uncordons; nullopt leaves it alone.
  std::optional<bool> unschedulable{};
};

// The merge patch that turns `node` into what `change` asks for, guarded by the node's resourceVersion;
// nullopt when nothing would change.
std::optional<Json> nodePatch(const Json& node, const NodeChange& change);

// What to change, given the node as it is now ("record that we cordoned only if it was not cordoned before").
// Pure: called again after each conflict. An error ends the write.
using DecideNodeChange = std::function<Result<NodeChange>(const Json& node)>;

// As much of a cached Node as changes need: metadata, providerID, taints, cordon, bootID. nullopt when the cache does not
// hold all of its taints (the time of a NoExecute taint).
std::optional<Json> asRead(const api::Node& node);

// Reads, decides, patches, at most five times while others write in between. Returns the node as it is then. `known`
// stands in for the first read: what is outdated in it, the API server refuses. kFailedPrecondition when the node of this
// name has another UID ("" = any): it is not the node that was meant.
Result<Json> changeNode(Api& api, const std::string& name, const std::string& uid,
                        const DecideNodeChange& decide, std::string_view manager,
                        std::optional<Json> known = std::nullopt);

}  // namespace mainstay::kube
