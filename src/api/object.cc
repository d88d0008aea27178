#include "api/object.h"

#include <algorithm>

namespace mainstay::api {

const Resource kNodes{"", "v1", "nodes", "Node", false};
const Resource kPods{"", "v1", "pods", "Pod", true};
const Resource kEvents{"", "v1", "events", "Event", true};
const Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};
const Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};
const Resource kPodDisruptionBudgets{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true};
const Resource kPyTorchJobs{"kubeflow.org", "v1", "pytorchjobs", "PyTorchJob", true};
const Resource kRecoveryPolicies{"mainstay.dev", "v1alpha1", "recoverypolicies", "RecoveryPolicy", false};
const Resource kNodeRecoveries{"mainstay.dev", "v1alpha1", "noderecoveries", "NodeRecovery", false};
const Resource kCustomResourceDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                          "CustomResourceDefinition", false};

namespace {

const std::string& valueOrEmpty(const Labels& labels, const std::string& key) {
  static const std::string kEmpty;
  const auto at = labels.find(key);
  return at == labels.end() ? kEmpty : at->second;
}

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) {
    return "";
  }
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

// Splits at commas outside parentheses.
std::vector<std::string> splitRequirements(std::string_view text) {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      parts.push_back(trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  parts.push_back(trimmed(part));
  return parts;
}

// "key in (a,b)" and "key notin (a)"; nullopt when the text has no such form.
std::optional<LabelRequirement> parseSetRequirement(const std::string& text) {
  for (const auto& [word, op] :
       {std::pair{" notin ", LabelRequirement::Op::kNotIn}, {" in ", LabelRequirement::Op::kIn}}) {
    const auto at = text.find(word);
    if (at == std::string::npos) {
      continue;
    }
    const std::string list = trimmed(text.substr(at + std::string_view(word).size()));
    if (list.size() < 2 || list.front() != '(' || list.back() != ')') {
      return std::nullopt;
    }
    return LabelRequirement{trimmed(text.substr(0, at)), op,
                            splitRequirements(list.substr(1, list.size() - 2))};
  }
  return std::nullopt;
}

LabelRequirement parseRequirement(const std::string& text) {
  using Op = LabelRequirement::Op;
  if (const auto set = parseSetRequirement(text)) {
    return *set;
  }
  if (const auto at = text.find("!="); at != std::string::npos) {
    return {trimmed(text.substr(0, at)), Op::kNotIn, {trimmed(text.substr(at + 2))}};
  }
  if (const auto at = text.find('='); at != std::string::npos) {
    const std::size_t length = text.compare(at, 2, "==") == 0 ? 2 : 1;
    return {trimmed(text.substr(0, at)), Op::kIn, {trimmed(text.substr(at + length))}};
  }
  if (text.starts_with('!')) {
    return {trimmed(text.substr(1)), Op::kDoesNotExist, {}};
  }
  return {text, Op::kExists, {}};
}

}  // namespace

const std::string& ObjectMeta::label(const std::string& key) const {
  return valueOrEmpty(labels, key);
}

const std::string& ObjectMeta::annotation(const std::string& key) const {
  return valueOrEmpty(annotations, key);
}

std::string ObjectMeta::key() const {
  return ns.empty() ? name : ns + "/" + name;
}

ObjectMeta decodeMeta(const Cursor& object) {
  const Cursor in = object.at("metadata");
  ObjectMeta meta;
  meta.name = in.at("name").string();
  meta.ns = in.at("namespace").string("");
  meta.uid = in.at("uid").string("");
  meta.resourceVersion = in.at("resourceVersion").string("");
  meta.labels = in.at("labels").stringMap();
  meta.annotations = in.at("annotations").stringMap();
  meta.created = in.at("creationTimestamp").time().value_or(TimePoint{});
  meta.deleted = in.at("deletionTimestamp").time();
  for (const Cursor& finalizer : in.at("finalizers").elements()) {
    meta.finalizers.push_back(finalizer.string());
  }
  for (const Cursor& owner : in.at("ownerReferences").elements()) {
    meta.owners.push_back({owner.at("apiVersion").string(""), owner.at("kind").string(""),
                           owner.at("name").string(""), owner.at("uid").string(""),
                           owner.at("controller").boolean(false)});
  }
  return meta;
}

std::string Resource::apiVersion() const {
  return group.empty() ? version : group + "/" + version;
}

std::string Resource::path(const std::string& ns) const {
  const std::string root = (group.empty() ? "/api/" : "/apis/") + apiVersion();
  return root + (namespaced && !ns.empty() ? "/namespaces/" + ns : "") + "/" + plural;
}

std::string Resource::path(const std::string& ns, const std::string& name,
                           const std::string& subresource) const {
  return path(ns) + "/" + name + (subresource.empty() ? "" : "/" + subresource);
}

bool LabelRequirement::matches(const Labels& labels) const {
  const auto at = labels.find(key);
  const bool listed = at != labels.end() && std::ranges::find(values, at->second) != values.end();
  switch (op) {
    case Op::kIn:
      return listed;
    case Op::kNotIn:
      return !listed;
    case Op::kExists:
      return at != labels.end();
    case Op::kDoesNotExist:
      return at == labels.end();
  }
  return false;
}

bool LabelSelector::matches(const Labels& labels) const {
  return std::ranges::all_of(requirements, [&](const LabelRequirement& r) { return r.matches(labels); });
}

std::string LabelSelector::toString() const {
  std::string text;
  for (const LabelRequirement& r : requirements) {
    text += text.empty() ? "" : ",";
    if (r.op == LabelRequirement::Op::kExists || r.op == LabelRequirement::Op::kDoesNotExist) {
      text += (r.op == LabelRequirement::Op::kExists ? "" : "!") + r.key;
      continue;
    }
    std::string values;
    for (const std::string& value : r.values) {
      values += (values.empty() ? "" : ",") + value;
    }
    const bool in = r.op == LabelRequirement::Op::kIn;
    text += r.values.size() == 1 ? r.key + (in ? "=" : "!=") + values
                                 : r.key + (in ? " in (" : " notin (") + values + ")";
  }
  return text;
}

Result<LabelSelector> parseLabelSelector(std::string_view text) {
  LabelSelector selector;
  if (trimmed(text).empty()) {
    return selector;
  }
  for (const std::string& part : splitRequirements(text)) {
    LabelRequirement requirement = parseRequirement(part);
    if (requirement.key.empty() || requirement.key.find_first_of("()!=, \t") != std::string::npos) {
      return fail(Code::kInvalidArgument,
                  "unable to parse label selector \"" + std::string(text) + "\" at \"" + part + "\"");
    }
    selector.requirements.push_back(std::move(requirement));
  }
  return selector;
}

LabelSelector decodeLabelSelector(const Cursor& selector) {
  using Op = LabelRequirement::Op;
  LabelSelector decoded;
  for (const auto& [key, value] : selector.at("matchLabels").stringMap()) {
    decoded.requirements.push_back({key, Op::kIn, {value}});
  }
  for (const Cursor& expression : selector.at("matchExpressions").elements()) {
    LabelRequirement requirement;
    requirement.key = expression.at("key").string();
    const std::string op = expression.at("operator").string();
    for (const Cursor& value : expression.at("values").elements()) {
      requirement.values.push_back(value.string());
    }
    if (op == "In" || op == "NotIn") {
      requirement.op = op == "In" ? Op::kIn : Op::kNotIn;
    } else if (op == "Exists" || op == "DoesNotExist") {
      requirement.op = op == "Exists" ? Op::kExists : Op::kDoesNotExist;
    } else {
      expression.at("operator").error("\"" + op + "\" is not one of In, NotIn, Exists, DoesNotExist");
    }
    decoded.requirements.push_back(std::move(requirement));
  }
  return decoded;
}

}  // namespace mainstay::api
