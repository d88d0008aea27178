// Nodes and pods, as far as we look at them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/node_affinity.h"
#include "api/object.h"

namespace mainstay::api {

struct Condition {
  std::string type;
  std::string status;  // "True", "False", "Unknown"
  std::string reason;
  std::string message;
  TimePoint lastTransition{};
  TimePoint lastHeartbeat{};
};

// Whether something is wrong by this condition. Ready is not meant: a node that does not answer is a case of its own.
bool tellsFault(const Condition& condition);

struct Taint {
  std::string key;
  std::string value;
  std::string effect;  // NoSchedule, PreferNoSchedule, NoExecute
  bool operator==(const Taint&) const = default;
};

struct Toleration {
  std::string key;  // "" with Exists = every taint
  std::string op = "Equal";
  std::string value;
  std::string effect;                   // "" = every effect
  std::optional<std::int64_t> seconds;  // tolerationSeconds
  bool tolerates(const Taint& taint) const;
};

// Quantities in thousandths ("500m" = 500, "2" = 2000, "1Ki" = 1024000), so that sums are exact.
using Resources = std::map<std::string, std::int64_t>;
std::optional<std::int64_t> parseQuantity(std::string_view text);
// Does `need` fit into `free`? A resource that `free` lacks is zero.
bool fits(const Resources& need, const Resources& free);
void add(Resources& sum, const Resources& more);
void subtract(Resources& sum, const Resources& less);

struct Node {
  ObjectMeta meta;
  std::string providerId;
  bool unschedulable = false;
  std::vector<Taint> taints;
  std::vector<Condition> conditions;
  Resources allocatable;
  std::string bootId;

  const Condition* condition(std::string_view type) const;
  bool ready() const;  // Ready == "True"
};

// Node identity in evidence: the three together. A node that differs in any is another node.
struct NodeIdentity {
  std::string name;
  std::string uid;
  std::string providerId;
  std::string bootId;
  bool operator==(const NodeIdentity&) const = default;
};
NodeIdentity identityOf(const Node& node);

struct Pod {
  ObjectMeta meta;
  std::string nodeName;
  std::string phase;  // Pending Running Succeeded Failed Unknown
  std::string reason;
  NodeAffinity nodeAffinity;  // with the nodeSelector
  std::vector<Toleration> tolerations;
  Resources
      requests;  // the scheduler's sum: containers (at least the largest init container), plus "pods": 1
  std::vector<Condition> conditions;
  bool finished() const { return phase == "Succeeded" || phase == "Failed"; }
  bool ownedByDaemonSet() const;
  bool mirror() const;
};

// Each reads one object; the error lists every wrong field with its path.
Result<Node> decodeNode(const Json& object);
Result<Pod> decodePod(const Json& object);

// Would the scheduler's predicates, other than free room, allow this pod on this node?
bool matchesNode(const Pod& pod, const Node& node);

}  // namespace mainstay::api
