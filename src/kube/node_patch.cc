#include "kube/node_patch.h"

#include <algorithm>

namespace mainstay::kube {
namespace {

// Kubelet and node controllers write a node every few seconds at most; five rounds outlast any of their
// bursts.
constexpr int kMaxTries = 5;

api::Taint taintOf(const Json& taint) {
  return {.key = findString(taint, "key"),
          .value = findString(taint, "value"),
          .effect = findString(taint, "effect")};
}

Json taintJson(const api::Taint& taint) {
  JsonObject object{{"key", taint.key}, {"effect", taint.effect}};
  if (!taint.value.empty()) {
    object["value"] = taint.value;
  }
  return object;
}

JsonArray changedTaints(const JsonArray& present, const NodeChange& change) {
  JsonArray result;
  std::vector<api::Taint> toAdd = change.addTaints;
  for (const Json& entry : present) {
    const api::Taint taint = taintOf(entry);
    const auto same = [&](const api::Taint& other) {
      return other.key == taint.key && other.effect == taint.effect;
    };
    if (const auto ours = std::find_if(toAdd.begin(), toAdd.end(), same); ours != toAdd.end()) {
      result.push_back(*ours == taint ? entry : taintJson(*ours));
      toAdd.erase(ours);
    } else if (std::find(change.removeTaints.begin(), change.removeTaints.end(), taint) ==
               change.removeTaints.end()) {
      result.push_back(entry);
    }
  }
  for (const api::Taint& taint : toAdd) {
    result.push_back(taintJson(taint));
  }
  return result;
}

// The part of a merge patch that brings `wanted` about in the string map `present`.
JsonObject changedStrings(const Json* present,
                          const std::map<std::string, std::optional<std::string>>& wanted) {
  JsonObject patch;
  for (const auto& [key, value] : wanted) {
    const Json* old = present ? findMember(*present, key) : nullptr;
    const bool same = value ? old && old->is_string() && old->get_string() == *value : old == nullptr;
    if (!same) {
      patch[key] = value ? Json(*value) : Json(nullptr);
    }
  }
  return patch;
}

JsonObject changedSpec(const Json& node, const NodeChange& change) {
  JsonObject spec;
  const Json* list = find(node, "spec", "taints");
  const JsonArray present = list && list->is_array() ? list->get_array() : JsonArray();
  JsonArray taints = changedTaints(present, change);
  if (taints != present) {
    spec["taints"] = taints.empty() ? Json(nullptr) : Json(std::move(taints));
  }
  const Json* cordon = find(node, "spec", "unschedulable");
  const bool cordoned = cordon && cordon->is_bool() && cordon->get_bool();
  if (change.unschedulable && *change.unschedulable != cordoned) {
    spec["unschedulable"] = *change.unschedulable ? Json(true) : Json(nullptr);
  }
  return spec;
}

// nullopt: somebody wrote in between, or a node that was not `read` just now needs no change as far as we know.
Result<std::optional<Json>> tryChange(Api& api, Json node, bool read, const std::string& name,
                                      const std::string& uid, const DecideNodeChange& decide,
                                      std::string_view manager) {
  const std::string found = findString(node, "metadata", "uid");
  if (!uid.empty() && found != uid) {
    return fail(Code::kFailedPrecondition,
                "node " + name + " is another one now (UID " + found + ", meant was " + uid + ")");
  }
  MAINSTAY_ASSIGN(const NodeChange change, decide(node));
  const std::optional<Json> body = nodePatch(node, change);
  if (!body) {
    return read ? std::optional<Json>(std::move(node)) : std::nullopt;
  }
  Result<Json> written = patch(api, api::kNodes, "", name, Body::kMergePatch, *body, manager);
  if (!written && written.error().code() == Code::kConflict) {
    return std::optional<Json>();
  }
  if (!written) {
    return fail(std::move(written).error());
  }
  return std::optional<Json>(*std::move(written));
}

}  // namespace

std::optional<Json> nodePatch(const Json& node, const NodeChange& change) {
  JsonObject metadata;
  if (JsonObject labels = changedStrings(find(node, "metadata", "labels"), change.labels); !labels.empty()) {
    metadata["labels"] = std::move(labels);
  }
  if (JsonObject notes = changedStrings(find(node, "metadata", "annotations"), change.annotations);
      !notes.empty()) {
    metadata["annotations"] = std::move(notes);
  }
  JsonObject spec = changedSpec(node, change);
  if (metadata.empty() && spec.empty()) {
    return std::nullopt;
  }
  metadata["resourceVersion"] = findString(node, "metadata", "resourceVersion");
  JsonObject patch{{"metadata", std::move(metadata)}};
  if (!spec.empty()) {
    patch["spec"] = std::move(spec);
  }
  return patch;
}

std::optional<Json> asRead(const api::Node& node) {
  JsonArray taints;
  for (const api::Taint& taint : node.taints) {
    if (taint.effect == "NoExecute") {
      return std::nullopt;
    }
    taints.push_back(taintJson(taint));
  }
  JsonObject labels;
  for (const auto& [key, value] : node.meta.labels) {
    labels[key] = value;
  }
  JsonObject annotations;
  for (const auto& [key, value] : node.meta.annotations) {
    annotations[key] = value;
  }
  return JsonObject{{"metadata", JsonObject{{"name", node.meta.name},
                                            {"uid", node.meta.uid},
                                            {"resourceVersion", node.meta.resourceVersion},
                                            {"labels", std::move(labels)},
                                            {"annotations", std::move(annotations)}}},
                    {"spec", JsonObject{{"providerID", node.providerId},
                                        {"unschedulable", node.unschedulable},
                                        {"taints", std::move(taints)}}},
                    {"status", JsonObject{{"nodeInfo", JsonObject{{"bootID", node.bootId}}}}}};
}

Result<Json> changeNode(Api& api, const std::string& name, const std::string& uid,
                        const DecideNodeChange& decide, std::string_view manager, std::optional<Json> known) {
  for (int i = 0; i < kMaxTries; ++i) {
    const bool read = !known;
    if (read) {
      MAINSTAY_ASSIGN(known, get(api, api::kNodes, "", name));
    }
    MAINSTAY_ASSIGN(std::optional<Json> node,
                    tryChange(api, *std::exchange(known, std::nullopt), read, name, uid, decide, manager));
    if (node) {
      return *std::move(node);
    }
  }
  return fail(Code::kConflict, "patching Node " + name + ": others wrote in between " +
                                   std::to_string(kMaxTries) + " times; the next round tries again");
}

}  // namespace mainstay::kube
