// Where a pod may run, as far as labels and names of nodes decide it: nodeSelector and node affinity, as
// kube-scheduler reads them. The local scheduler and the fit check of jobs both ask here.
#pragma once

#include <string>
#include <vector>

#include "api/object.h"

namespace mainstay::api {

struct NodeRequirement {
  enum class Op { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };
  std::string key;
  Op op = Op::kIn;
  std::vector<std::string> values;
  // `value` null: the node has no such label.
  bool allows(const std::string* value) const;
};

// All of it must hold. One that asks for nothing matches no node.
struct NodeSelectorTerm {
  std::vector<NodeRequirement> labels = {};
  std::vector<NodeRequirement> fields = {};  // metadata.name is the only one that there is
  bool matches(const std::string& name, const Labels& labelsOfNode) const;
};

struct PreferredNodes {
  int weight = 0;  // 1 to 100
  NodeSelectorTerm term;
};

struct NodeAffinity {
  Labels nodeSelector = {};                                       // all of it must hold
  std::optional<std::vector<NodeSelectorTerm>> required = {};  // one must match; nullopt = no demand
  std::vector<PreferredNodes> preferred = {};

  bool allows(const std::string& name, const Labels& labels) const;
  // Sum of the weights of the preferences that the node meets.
  int preference(const std::string& name, const Labels& labels) const;
};

// Of a pod's spec; mistakes are added to the Cursor's errors.
NodeAffinity decodeNodeAffinity(const Cursor& spec);

}  // namespace mainstay::api
