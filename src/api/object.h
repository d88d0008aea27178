// What every Kubernetes object has, and where its kind lives. Slim: only the fields that we use; unknown
// fields survive our writes because we patch.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace mainstay::api {

using Labels = std::map<std::string, std::string>;

struct OwnerReference {
  std::string apiVersion;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
};

struct ObjectMeta {
  std::string name;
  std::string ns;  // "" for cluster-scoped
  std::string uid;
  std::string resourceVersion;
  Labels labels;
  Labels annotations;
  TimePoint created{};
  std::optional<TimePoint> deleted;  // deletionTimestamp
  std::vector<std::string> finalizers;
  std::vector<OwnerReference> owners;

  // "" when absent.
  const std::string& label(const std::string& key) const;
  const std::string& annotation(const std::string& key) const;
  // "name", or "ns/name".
  std::string key() const;
};

ObjectMeta decodeMeta(const Cursor& object);

// A kind's place in the API: /api/v1/nodes, /apis/kubeflow.org/v1/namespaces/NS/pytorchjobs.
struct Resource {
  std::string group;  // "" = core
  std::string version;
  std::string plural;
  std::string kind;
  bool namespaced = true;

  // Collection path; every namespace when `ns` is "".
  std::string path(const std::string& ns = "") const;
  std::string path(const std::string& ns, const std::string& name, const std::string& subresource = "") const;
  std::string apiVersion() const;  // "v1", "kubeflow.org/v1"
};

// Not for the initialisers of other files' globals: the order between files is not defined.
extern const Resource kNodes;
extern const Resource kPods;
extern const Resource kEvents;
extern const Resource kLeases;
extern const Resource kNamespaces;
extern const Resource kPodDisruptionBudgets;
extern const Resource kPyTorchJobs;
extern const Resource kRecoveryPolicies;
extern const Resource kNodeRecoveries;
extern const Resource kCustomResourceDefinitions;

// "a=b,c!=d,e in (f,g),!h,i": the label selector's text form, and the object form {matchLabels,
// matchExpressions}.
struct LabelRequirement {
  enum class Op { kIn, kNotIn, kExists, kDoesNotExist };
  std::string key;
  Op op = Op::kIn;
  std::vector<std::string> values;
  bool matches(const Labels& labels) const;
};
struct LabelSelector {
  std::vector<LabelRequirement> requirements;  // all must hold; none = everything
  bool matches(const Labels& labels) const;
  std::string toString() const;
};
Result<LabelSelector> parseLabelSelector(std::string_view text);
LabelSelector decodeLabelSelector(const Cursor& selector);

}  // namespace mainstay::api
