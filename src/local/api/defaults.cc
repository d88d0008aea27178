#include "local/api/defaults.h"

#include <algorithm>

#include "local/api/metadata.h"

namespace mainstay::local {
namespace {

constexpr int kDefaultGraceSeconds = 30;
// The admission plugin DefaultTolerationSeconds: how long a pod stays on a node that is not ready or not
// reached.
constexpr int kNodeTroubleTolerationSeconds = 300;

void setDefault(JsonObject& object, std::string_view key, Json value) {
  Json& slot = object[key];
  if (slot.is_null()) {
    slot = std::move(value);
  }
}

// Requests that are not given are the limits.
void defaultRequests(JsonObject& container) {
  JsonObject& resources = memberObject(container, "resources");
  const Json* limits = resources.if_contains("limits");
  if (!limits || !limits->is_object()) {
    return;
  }
  const JsonObject wanted = limits->get_object();
  JsonObject& requests = memberObject(resources, "requests");
  for (const auto& [name, quantity] : wanted) {
    setDefault(requests, name, quantity);
  }
}

void defaultContainer(JsonObject& container) {
  setDefault(container, "terminationMessagePath", "/dev/termination-log");
  setDefault(container, "terminationMessagePolicy", "File");
  setDefault(container, "imagePullPolicy", "IfNotPresent");
  defaultRequests(container);
  if (Json* ports = container.if_contains("ports"); ports && ports->is_array()) {
    for (Json& port : ports->get_array()) {
      if (port.is_object()) {
        setDefault(port.get_object(), "protocol", "TCP");
      }
    }
  }
}

void forEachContainer(JsonObject& spec, void (*visit)(JsonObject&)) {
  for (const char* list : {"initContainers", "containers"}) {
    if (Json* containers = spec.if_contains(list); containers && containers->is_array()) {
      for (Json& container : containers->get_array()) {
        if (container.is_object()) {
          visit(container.get_object());
        }
      }
    }
  }
}

void tolerateNodeTrouble(JsonObject& spec) {
  JsonArray& tolerations = memberArray(spec, "tolerations");
  for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    const bool said = std::any_of(tolerations.begin(), tolerations.end(), [&](const Json& toleration) {
      const std::string effect = findString(toleration, "effect");
      const std::string tolerated = findString(toleration, "key");
      return (tolerated == key || tolerated.empty()) && (effect == "NoExecute" || effect.empty());
    });
    if (!said) {
      tolerations.push_back(JsonObject{{"key", key},
                                       {"operator", "Exists"},
                                       {"effect", "NoExecute"},
                                       {"tolerationSeconds", kNodeTroubleTolerationSeconds}});
    }
  }
}

// Guaranteed: every container limits cpu and memory and requests just that; BestEffort: none asks for either.
std::string qosClass(const JsonObject& spec) {
  const Json* containers = spec.if_contains("containers");
  bool guaranteed = true;
  bool asksNothing = true;
  if (containers && containers->is_array()) {
    for (const Json& container : containers->get_array()) {
      for (const char* name : {"cpu", "memory"}) {
        const Json* request = find(container, "resources", "requests", name);
        const Json* limit = find(container, "resources", "limits", name);
        asksNothing = asksNothing && !request && !limit;
        guaranteed = guaranteed && request && limit && *request == *limit;
      }
    }
  }
  return asksNothing ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

void defaultPod(JsonObject& pod) {
  JsonObject& spec = memberObject(pod, "spec");
  setDefault(spec, "restartPolicy", "Always");
  setDefault(spec, "terminationGracePeriodSeconds", kDefaultGraceSeconds);
  setDefault(spec, "dnsPolicy", "ClusterFirst");
  setDefault(spec, "schedulerName", "default-scheduler");
  setDefault(spec, "enableServiceLinks", true);
  setDefault(spec, "securityContext", JsonObject());
  forEachContainer(spec, defaultContainer);
  tolerateNodeTrouble(spec);
  pod["status"] = JsonObject{{"phase", "Pending"}, {"qosClass", qosClass(spec)}};
}

void defaultNamespace(JsonObject& ns) {
  Json name = ns["metadata"].as_object()["name"];
  memberObject(memberObject(ns, "metadata"), "labels")["kubernetes.io/metadata.name"] = std::move(name);
  memberObject(ns, "spec")["finalizers"] = JsonArray{Json("kubernetes")};
  ns["status"] = JsonObject{{"phase", "Active"}};
}

// The admission plugin TaintNodesByCondition: nothing is scheduled to a node before it was seen to be ready.
void distrustNode(JsonObject& spec) {
  static constexpr char kNotReady[] = "node.kubernetes.io/not-ready";
  JsonArray& taints = memberArray(spec, "taints");
  const bool said = std::any_of(taints.begin(), taints.end(), [](const Json& taint) {
    return findString(taint, "key") == kNotReady && findString(taint, "effect") == "NoSchedule";
  });
  if (!said) {
    taints.push_back(JsonObject{{"key", kNotReady}, {"effect", "NoSchedule"}});
  }
}

void defaultService(JsonObject& service) {
  JsonObject& spec = memberObject(service, "spec");
  setDefault(spec, "type", "ClusterIP");
  setDefault(spec, "sessionAffinity", "None");
  if (Json* ports = spec.if_contains("ports"); ports && ports->is_array()) {
    for (Json& port : ports->get_array()) {
      if (port.is_object()) {
        setDefault(port.get_object(), "protocol", "TCP");
      }
    }
  }
  service["status"] = JsonObject{{"loadBalancer", JsonObject()}};
}

// What a request to the status of a built-in kind may change beside the status.
constexpr std::string_view kStatusWritersMetadata[] = {"labels", "annotations"};

}  // namespace

void applyCreateDefaults(const Kind& kind, Json& object) {
  JsonObject& members = object.as_object();
  const std::string shelf = kind.shelf();
  if (shelf == kPodShelf) {
    defaultPod(members);
  } else if (shelf == kNamespaceShelf) {
    defaultNamespace(members);
  } else if (shelf == "services") {
    defaultService(members);
  } else if (shelf == "secrets") {
    setDefault(members, "type", "Opaque");
  } else if (shelf == "nodes") {
    // A kubelet registers its node together with the status; everybody else's begins empty.
    setDefault(members, "spec", JsonObject());
    setDefault(members, "status", JsonObject());
    distrustNode(members["spec"].as_object());
  } else if (kind.hasStatus()) {
    members.erase("status");
  }
}

void restrictToScope(const Kind& kind, const std::string& subresource, const Json& before, Json& after) {
  if (subresource.empty()) {
    if (kind.hasStatus()) {
      copyMember(after.as_object(), before, "status");
    }
    return;
  }
  Json allowed = before;
  copyMember(allowed.as_object(), after, "status");
  JsonObject& metadata = metadataOf(allowed);
  const Json* wanted = findMember(after, "metadata");
  if (!kind.custom && wanted) {
    for (const std::string_view key : kStatusWritersMetadata) {
      copyMember(metadata, *wanted, key);
    }
  }
  after = std::move(allowed);
}

bool mayBeReplacedBlindly(const Kind& kind) {
  const std::string shelf = kind.shelf();
  return !kind.custom && shelf != "leases.coordination.k8s.io" && shelf != kBudgetShelf && shelf != kCrdShelf;
}

bool countsGenerations(const Kind& kind) {
  const std::string shelf = kind.shelf();
  return kind.custom || shelf == kBudgetShelf || shelf == kCrdShelf || shelf == kPodShelf ||
         shelf == "daemonsets.apps";
}

bool isNewGeneration(const Kind& kind, const Json& before, const Json& after) {
  const auto counted = [&](const Json& object) {
    JsonObject part = object.is_object() ? object.get_object() : JsonObject();
    part.erase("metadata");
    if (kind.hasStatus()) {
      part.erase("status");
    }
    return part;
  };
  return counted(before) != counted(after);
}

}  // namespace mainstay::local
