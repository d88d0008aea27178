#include "api/core.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "api/names.h"
#include "fault/finding.h"

namespace mainstay::api {

namespace {

struct Suffix {
  std::string_view name;
  double factor;
};

// Kubernetes' resource.Quantity: decimal and binary suffixes.
constexpr Suffix kSuffixes[] = {{"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40},
                                {"Pi", 0x1p50}, {"Ei", 0x1p60}, {"n", 1e-9},    {"u", 1e-6},
                                {"m", 1e-3},    {"k", 1e3},     {"M", 1e6},     {"G", 1e9},
                                {"T", 1e12},    {"P", 1e15},    {"E", 1e18},    {"", 1}};

Condition decodeCondition(const Cursor& in) {
  Condition condition;
  condition.type = in.at("type").string();
  condition.status = in.at("status").string();
  condition.reason = in.at("reason").string("");
  condition.message = in.at("message").string("");
  condition.lastTransition = in.at("lastTransitionTime").time().value_or(TimePoint{});
  condition.lastHeartbeat = in.at("lastHeartbeatTime").time().value_or(TimePoint{});
  return condition;
}

std::vector<Condition> decodeConditions(const Cursor& list) {
  std::vector<Condition> conditions;
  for (const Cursor& condition : list.elements()) {
    conditions.push_back(decodeCondition(condition));
  }
  return conditions;
}

Toleration decodeToleration(const Cursor& in) {
  Toleration toleration;
  toleration.key = in.at("key").string("");
  toleration.op = in.at("operator").string("Equal");
  toleration.value = in.at("value").string("");
  toleration.effect = in.at("effect").string("");
  if (const Cursor seconds = in.at("tolerationSeconds"); seconds.exists()) {
    toleration.seconds = seconds.integer();
  }
  return toleration;
}

// Quantities are strings, but plain numbers are accepted, as the API server does.
Resources decodeResources(const Cursor& in) {
  Resources resources;
  for (const auto& [name, value] : in.members()) {
    if (!value.exists()) {
      continue;
    }
    const std::string text = value.value().is_string() ? value.string() : toText(value.value());
    if (const auto quantity = parseQuantity(text)) {
      resources[name] = *quantity;
    } else {
      value.error("\"" + text + "\" is not a quantity");
    }
  }
  return resources;
}

// A container's requests; a limit without a request counts as the request.
Resources decodeRequests(const Cursor& container) {
  Resources requests = decodeResources(container.at("resources").at("requests"));
  requests.merge(decodeResources(container.at("resources").at("limits")));
  return requests;
}

Resources podRequests(const Cursor& spec) {
  Resources sum;
  for (const Cursor& container : spec.at("containers").elements()) {
    add(sum, decodeRequests(container));
  }
  for (const Cursor& container : spec.at("initContainers").elements()) {
    for (const auto& [name, amount] : decodeRequests(container)) {
      sum[name] = std::max(sum[name], amount);
    }
  }
  sum["pods"] = 1000;
  return sum;
}

}  // namespace

std::optional<std::int64_t> parseQuantity(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::general);
  if (error != std::errc()) {
    return std::nullopt;
  }
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const Suffix& suffix : kSuffixes) {
    if (rest == suffix.name) {
      const double thousandths = number * suffix.factor * 1000;
      const bool representable = std::abs(thousandths) < 9.2e18;
      return representable ? std::optional(static_cast<std::int64_t>(std::ceil(thousandths))) : std::nullopt;
    }
  }
  return std::nullopt;
}

bool fits(const Resources& need, const Resources& free) {
  return std::ranges::all_of(need, [&](const auto& entry) {
    const auto at = free.find(entry.first);
    return entry.second <= 0 || (at != free.end() && at->second >= entry.second);
  });
}

void add(Resources& sum, const Resources& more) {
  for (const auto& [name, amount] : more) {
    sum[name] += amount;
  }
}

void subtract(Resources& sum, const Resources& less) {
  for (const auto& [name, amount] : less) {
    sum[name] -= amount;
  }
}

bool Toleration::tolerates(const Taint& taint) const {
  if (!effect.empty() && effect != taint.effect) {
    return false;
  }
  if (key.empty()) {
    return op == "Exists";
  }
  return key == taint.key && (op == "Exists" || value == taint.value);
}

bool tellsFault(const Condition& condition) {
  return condition.type != "Ready" &&
         condition.status == (fault::isReadyCondition(condition.type) ? "False" : "True");
}

const Condition* Node::condition(std::string_view type) const {
  const auto at = std::ranges::find(conditions, type, &Condition::type);
  return at == conditions.end() ? nullptr : &*at;
}

bool Node::ready() const {
  const Condition* ready = condition("Ready");
  return ready && ready->status == "True";
}

NodeIdentity identityOf(const Node& node) {
  return {node.meta.name, node.meta.uid, node.providerId, node.bootId};
}

bool Pod::ownedByDaemonSet() const {
  return std::ranges::any_of(
      meta.owners, [](const OwnerReference& owner) { return owner.controller && owner.kind == "DaemonSet"; });
}

bool Pod::mirror() const {
  return meta.annotations.contains(kMirrorPodAnnotation);
}

Result<Node> decodeNode(const Json& object) {
  DecodeErrors errors("node " + findString(object, "metadata", "name"));
  const Cursor root(object, errors);
  Node node;
  node.meta = decodeMeta(root);
  node.providerId = root.at("spec").at("providerID").string("");
  node.unschedulable = root.at("spec").at("unschedulable").boolean(false);
  for (const Cursor& taint : root.at("spec").at("taints").elements()) {
    node.taints.push_back(
        {taint.at("key").string(), taint.at("value").string(""), taint.at("effect").string()});
  }
  node.conditions = decodeConditions(root.at("status").at("conditions"));
  node.allocatable = decodeResources(root.at("status").at("allocatable"));
  node.bootId = root.at("status").at("nodeInfo").at("bootID").string("");
  MAINSTAY_TRY(errors.result());
  return node;
}

Result<Pod> decodePod(const Json& object) {
  DecodeErrors errors("pod " + findString(object, "metadata", "namespace") + "/" +
                      findString(object, "metadata", "name"));
  const Cursor root(object, errors);
  const Cursor spec = root.at("spec");
  Pod pod;
  pod.meta = decodeMeta(root);
  pod.nodeName = spec.at("nodeName").string("");
  pod.phase = root.at("status").at("phase").string("Pending");
  pod.reason = root.at("status").at("reason").string("");
  pod.nodeAffinity = decodeNodeAffinity(spec);
  for (const Cursor& toleration : spec.at("tolerations").elements()) {
    pod.tolerations.push_back(decodeToleration(toleration));
  }
  pod.requests = podRequests(spec);
  pod.conditions = decodeConditions(root.at("status").at("conditions"));
  MAINSTAY_TRY(errors.result());
  return pod;
}

bool matchesNode(const Pod& pod, const Node& node) {
  const auto tolerated = [&](const Taint& taint) {
    return taint.effect == "PreferNoSchedule" ||
           std::ranges::any_of(pod.tolerations, [&](const Toleration& t) { return t.tolerates(taint); });
  };
  // The scheduler treats spec.unschedulable as the taint that the node controller derives from it.
  const bool open = !node.unschedulable || tolerated({"node.kubernetes.io/unschedulable", "", "NoSchedule"});
  return open && std::ranges::all_of(node.taints, tolerated) &&
         pod.nodeAffinity.allows(node.meta.name, node.meta.labels);
}

}  // namespace mainstay::api
