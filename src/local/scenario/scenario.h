// Scenario: a cluster, what happens to it, and what must and must not follow; read from a YAML page
// (docs/scenarios.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/core.h"
#include "kube/api.h"
#include "local/scenario/expectation.h"

namespace mainstay::local {

struct ScenarioNode {
  std::string name;
  std::string providerId;  // "": an instance of the group
  api::Labels labels;
  JsonArray taints;
};

// The Auto Scaling group that owns the nodes.
struct ScenarioGroup {
  std::string name = "workers";
  std::optional<int> min;  // absent: as many as there are nodes
  std::optional<int> max;
  Duration launchDelay = std::chrono::seconds(60);
  std::optional<int>
      capacity;      // instances that can be launched from time zero on; absent: as many as asked for
  int devices = 16;  // aws.amazon.com/neuron of each
  std::vector<std::string> names;  // of the nodes launched later, in order; then the cloud names them
};

// --- What happens: one action each ---
struct KernelLine {  // the kernel of a node says something
  std::string node;
  std::string text;
};
struct KillNode {  // kubelet, pods and agent die without a word; the instance stays
  std::string node;
};
struct DestroyInstance {  // the machine under a node is gone, and the cloud knows
  std::string node;
};
struct ReturnNode {  // a kubelet comes back under its old name
  std::string node;
};
struct CloudChange {
  std::optional<int> capacity;  // instances that can still be launched
  std::optional<int> devices;   // of those launched from now on
};
struct ChangeObject {  // what a person does with kubectl
  enum class Verb { kCreate, kPatch, kDelete };
  Verb verb = Verb::kPatch;
  api::Resource resource;
  std::string ns;
  std::string name;
  std::string subresource;  // of a patch: "status", or none
  kube::Body kind = kube::Body::kMergePatch;
  Json body;  // the object, or the patch
};
struct TaintNode {  // a person's `kubectl taint`
  std::string node;
  api::Taint taint;
};
struct SwitchController {
  bool runs = true;
  std::optional<int> diesAtWrite;  // from its start, or from now; then it dies
  bool before = false;             // of that write; else after it, before the answer
  Duration restarts{};             // so long after each death, with the same fate; zero: not by itself
};
struct ApiTrouble {  // the API server fails the controller's calls
  Code code = Code::kUnavailable;
  int calls = 1;
  std::string verb;  // "" = every one; "write" = all but GET
  bool dropWatches = false;
  bool compacts = false;  // and forgets its history: who resumes a watch must list again
};
struct ReleaseThing {  // `mainstay node|job release`
  std::string node;
  std::string ns;
  std::string job;
  std::string reason;
};
using Action = std::variant<KernelLine, KillNode, DestroyInstance, ReturnNode, CloudChange, ChangeObject,
                            TaintNode, SwitchController, ApiTrouble, ReleaseThing>;

struct TimelineEntry {
  Duration at{};  // since time zero: the cluster has settled
  Action action;
  std::string text;  // as written, for reports: "kmsg {node: b, text: ...}"
  int line = 0;      // in the scenario's file
};

struct Scenario {
  std::string title;
  std::string file;
  std::uint64_t seed = 1;
  std::vector<ScenarioNode> nodes;
  ScenarioGroup group;
  std::vector<Json> objects;            // the policy, the job, then `objects`: whole Kubernetes objects
  std::vector<TimelineEntry> timeline;  // by time
  std::vector<Expectation> expectations;
  std::vector<Expectation> nevers;
  Duration until{};  // where it ends
};

// One document. The error lists every mistake with file:line:column and, for a misspelt key, the nearest
// known one.
Result<Scenario> parseScenario(std::string_view yaml, const std::string& file);

// The place in the API of a kind that a scenario may name; nullopt when there is none.
std::optional<api::Resource> resourceOfKind(std::string_view kind);

}  // namespace mainstay::local
