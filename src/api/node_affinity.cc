#include "api/node_affinity.h"

#include <algorithm>
#include <charconv>

namespace mainstay::api {

namespace {

using Op = NodeRequirement::Op;

constexpr std::pair<std::string_view, Op> kNodeOperators[] = {
    {"In", Op::kIn},   {"NotIn", Op::kNotIn}, {"Exists", Op::kExists}, {"DoesNotExist", Op::kDoesNotExist},
    {"Gt", Op::kGt},   {"Lt", Op::kLt}};

std::optional<std::int64_t> wholeNumber(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::vector<NodeRequirement> decodeRequirements(const Cursor& list) {
  std::vector<NodeRequirement> requirements;
  for (const Cursor& in : list.elements()) {
    NodeRequirement requirement;
    requirement.key = in.at("key").string();
    const std::string name = in.at("operator").string();
    const auto* const known = std::ranges::find(kNodeOperators, name, &std::pair<std::string_view, Op>::first);
    if (known == std::end(kNodeOperators)) {
      in.at("operator").error("\"" + name + "\" is not one of In, NotIn, Exists, DoesNotExist, Gt, Lt");
      continue;
    }
    requirement.op = known->second;
    for (const Cursor& value : in.at("values").elements()) {
      requirement.values.push_back(value.string());
    }
    requirements.push_back(std::move(requirement));
  }
  return requirements;
}

NodeSelectorTerm decodeTerm(const Cursor& term) {
  return {decodeRequirements(term.at("matchExpressions")), decodeRequirements(term.at("matchFields"))};
}

}  // namespace

bool NodeRequirement::allows(const std::string* value) const {
  switch (op) {
    case Op::kIn:
      return value && std::ranges::find(values, *value) != values.end();
    case Op::kNotIn:
      return !value || std::ranges::find(values, *value) == values.end();
    case Op::kExists:
      return value != nullptr;
    case Op::kDoesNotExist:
      return value == nullptr;
    case Op::kGt:
    case Op::kLt:
      break;
  }
  const auto has = value ? wholeNumber(*value) : std::nullopt;
  const auto bound = values.size() == 1 ? wholeNumber(values[0]) : std::nullopt;
  return has && bound && (op == Op::kGt ? *has > *bound : *has < *bound);
}

bool NodeSelectorTerm::matches(const std::string& name, const Labels& labelsOfNode) const {
  const auto labelled = [&](const NodeRequirement& requirement) {
    const auto at = labelsOfNode.find(requirement.key);
    return requirement.allows(at == labelsOfNode.end() ? nullptr : &at->second);
  };
  const auto named = [&](const NodeRequirement& requirement) {
    return requirement.key == "metadata.name" && requirement.allows(&name);
  };
  return !(labels.empty() && fields.empty()) && std::ranges::all_of(labels, labelled) &&
         std::ranges::all_of(fields, named);
}

bool NodeAffinity::allows(const std::string& name, const Labels& labels) const {
  const auto selected = [&](const auto& wanted) {
    const auto at = labels.find(wanted.first);
    return at != labels.end() && at->second == wanted.second;
  };
  const auto matches = [&](const NodeSelectorTerm& term) { return term.matches(name, labels); };
  return std::ranges::all_of(nodeSelector, selected) && (!required || std::ranges::any_of(*required, matches));
}

int NodeAffinity::preference(const std::string& name, const Labels& labels) const {
  int sum = 0;
  for (const PreferredNodes& wish : preferred) {
    sum += wish.term.matches(name, labels) ? wish.weight : 0;
  }
  return sum;
}

NodeAffinity decodeNodeAffinity(const Cursor& spec) {
  NodeAffinity affinity;
  affinity.nodeSelector = spec.at("nodeSelector").stringMap();
  const Cursor in = spec.at("affinity").at("nodeAffinity");
  if (const Cursor required = in.at("requiredDuringSchedulingIgnoredDuringExecution"); required.exists()) {
    affinity.required.emplace();
    for (const Cursor& term : required.at("nodeSelectorTerms").elements()) {
      affinity.required->push_back(decodeTerm(term));
    }
  }
  for (const Cursor& wish : in.at("preferredDuringSchedulingIgnoredDuringExecution").elements()) {
    const auto weight = std::clamp<std::int64_t>(wish.at("weight").integer(), 1, 100);
    affinity.preferred.push_back({static_cast<int>(weight), decodeTerm(wish.at("preference"))});
  }
  return affinity;
}

}  // namespace mainstay::api
