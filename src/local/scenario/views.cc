#include "local/scenario/views.h"

#include <fnmatch.h>

#include <algorithm>

#include "api/names.h"
#include "api/object.h"
#include "cloud/provider.h"

namespace mainstay::local {
namespace {

Json textOf(const Json& object, auto... keys) {
  return Json(findString(object, keys...));
}

bool flagOf(const Json& object, auto... keys) {
  const Json* flag = find(object, keys...);
  return flag && flag->is_bool() && flag->get_bool();
}

const JsonArray& listOf(const Json& object, auto... keys) {
  static const JsonArray none;
  const Json* list = find(object, keys...);
  return list && list->is_array() ? list->get_array() : none;
}

Json mapOf(const Json& object, auto... keys) {
  const Json* map = find(object, keys...);
  return map && map->is_object() ? *map : Json(JsonObject());
}

bool sameText(std::string_view glob, std::string_view text) {
  return fnmatch(std::string(glob).c_str(), std::string(text).c_str(), 0) == 0;
}

// {type: [status, reason]}.
JsonObject conditionsOf(const Json& object) {
  JsonObject all;
  for (const Json& condition : listOf(object, "status", "conditions")) {
    all[findString(condition, "type")] = JsonArray{textOf(condition, "status"), textOf(condition, "reason")};
  }
  return all;
}

JsonArray taintKeys(const Json& node) {
  JsonArray keys;
  for (const Json& taint : listOf(node, "spec", "taints")) {
    keys.push_back(textOf(taint, "key"));
  }
  return keys;
}

// The newest incident of a node: they are told apart by time, and by name within one second.
const Json* newestRecovery(const World& world, const std::string& node) {
  const Json* newest = nullptr;
  const auto age = [](const Json& recovery) {
    return std::pair(findString(recovery, "metadata", "creationTimestamp"),
                     findString(recovery, "metadata", "name"));
  };
  for (const auto& [key, recovery] : world.all("noderecoveries")) {
    if (findString(*recovery, "spec", "node", "name") == node &&
        (!newest || age(*newest) <= age(*recovery))) {
      newest = recovery;
    }
  }
  return newest;
}

JsonArray evidenceOf(const Json& recovery) {
  JsonArray reasons;
  for (const Json& finding : listOf(recovery, "status", "evidence")) {
    reasons.push_back(textOf(finding, "reason"));
  }
  return reasons;
}

bool ownedBy(const Json& pod, std::string_view kind, const std::string& name) {
  return std::ranges::any_of(listOf(pod, "metadata", "ownerReferences"), [&](const Json& owner) {
    return findString(owner, "kind") == kind && findString(owner, "name") == name;
  });
}

void showPods(const World& world, const std::string& key, JsonObject& view) {
  const std::string ns = key.substr(0, key.find('/'));
  const std::string job = key.substr(key.find('/') + 1);
  int running = 0;
  JsonArray on;
  for (const auto& [podKey, pod] : world.all("pods")) {
    const bool ours = podKey.starts_with(ns + "/") && ownedBy(*pod, "PyTorchJob", job);
    if (ours && findString(*pod, "status", "phase") == "Running") {
      ++running;
      on.push_back(textOf(*pod, "spec", "nodeName"));
    }
  }
  view["pods"] = running;
  view["on"] = std::move(on);
}

}  // namespace

JsonObject nodeView(const World& world, const std::string& name) {
  JsonObject view;
  if (const Json* recovery = newestRecovery(world, name)) {
    view["phase"] = textOf(*recovery, "status", "phase");
    view["outcome"] = textOf(*recovery, "status", "outcome");
  }
  const Json* node = world.find("nodes", name);
  view["exists"] = node != nullptr;
  if (!node) {
    return view;
  }
  JsonObject conditions = conditionsOf(*node);
  const Json* ready = conditions.if_contains("Ready");
  view["ready"] = ready && ready->get_array()[0] == Json("True");
  view["label"] = mapOf(*node, "metadata", "labels");
  view["annotation"] = mapOf(*node, "metadata", "annotations");
  view["condition"] = std::move(conditions);
  view["taint"] = view["taints"] = taintKeys(*node);
  view["cordoned"] = flagOf(*node, "spec", "unschedulable");
  view["instance"] = cloud::instanceIdOf(findString(*node, "spec", "providerID"));
  return view;
}

JsonObject podView(const World& world, const std::string& key) {
  const Json* pod = world.find("pods", key);
  JsonObject view{{"exists", pod != nullptr}};
  if (pod) {
    view["phase"] = textOf(*pod, "status", "phase");
    view["on"] = textOf(*pod, "spec", "nodeName");
  }
  return view;
}

JsonObject jobView(const World& world, const std::string& key) {
  const Json* job = world.find("pytorchjobs", key);
  JsonObject view{{"exists", job != nullptr}};
  if (!job) {
    return view;
  }
  view["suspended"] = flagOf(*job, "spec", "runPolicy", "suspend");
  JsonArray conditions;
  for (const auto& [type, shown] : conditionsOf(*job)) {
    if (shown.get_array()[0] == Json("True")) {
      conditions.push_back(Json(type));
    }
  }
  view["condition"] = std::move(conditions);
  const auto resume = parseJson(findString(*job, "metadata", "annotations", api::kResumeAnnotation));
  const Json* retry = resume ? find(*resume, "retry") : nullptr;
  view["retry"] = retry ? *retry : Json(0);
  showPods(world, key, view);
  return view;
}

std::vector<JsonObject> recoveryRows(const World& world) {
  std::vector<JsonObject> rows;
  for (const auto& [key, recovery] : world.all("noderecoveries")) {
    rows.push_back({{"node", textOf(*recovery, "spec", "node", "name")},
                    {"policy", textOf(*recovery, "spec", "policy")},
                    {"phase", textOf(*recovery, "status", "phase")},
                    {"outcome", textOf(*recovery, "status", "outcome")},
                    {"mode", textOf(*recovery, "status", "mode")},
                    {"message", textOf(*recovery, "status", "message")},
                    {"evidence", evidenceOf(*recovery)}});
  }
  return rows;
}

std::vector<JsonObject> cloudRows(const World& world) {
  std::vector<JsonObject> rows;
  for (const auto& [key, deed] : world.all(kCloudKind)) {
    rows.push_back(deed->get_object());
  }
  return rows;
}

std::vector<JsonObject> eventRows(const World& world) {
  std::vector<JsonObject> rows;
  for (const auto& [key, event] : world.all("events")) {
    const Json* times = find(*event, "count");
    rows.push_back({{"event", textOf(*event, "reason")},
                    {"on", textOf(*event, "involvedObject", "name")},
                    {"message", textOf(*event, "message")},
                    {"component", textOf(*event, "source", "component")},
                    {"times", times && times->is_int64() ? *times : Json(1)}});
  }
  return rows;
}

bool shows(const Json& seen, const Json& wanted) {
  if (wanted.is_object()) {
    return std::ranges::all_of(wanted.get_object(), [&](const auto& member) {
      const Json* shown = findMember(seen, member.key());
      return member.value().is_null() ? !shown : shown && shows(*shown, member.value());
    });
  }
  if (wanted.is_array()) {
    const auto shownBy = [&](const Json& element) { return shows(seen, element); };
    const auto wantedBy = [&](const Json& element) {
      return std::ranges::any_of(wanted.get_array(), [&](const Json& one) { return shows(element, one); });
    };
    return seen.is_array() && std::ranges::all_of(wanted.get_array(), shownBy) &&
           std::ranges::all_of(seen.get_array(), wantedBy);
  }
  if (seen.is_array()) {
    return std::ranges::any_of(seen.get_array(), [&](const Json& element) { return shows(element, wanted); });
  }
  if (wanted.is_string() && seen.is_string()) {
    return sameText(wanted.get_string(), seen.get_string());
  }
  if (wanted.is_bool() &&
      seen.is_string()) {  // YAML reads an unquoted True as a flag; Kubernetes writes it as text
    return sameText(wanted.get_bool() ? "[Tt]rue" : "[Ff]alse", seen.get_string());
  }
  return seen == wanted;
}

}  // namespace mainstay::local
