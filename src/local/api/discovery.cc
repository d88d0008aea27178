#include "local/api/discovery.h"

#include <algorithm>

namespace mainstay::local {
namespace {

std::vector<Kind> builtInKinds() {
  const auto kind = [](std::string group, std::string version, std::string plural, std::string name,
                       bool namespaced, std::string singular, std::vector<std::string> shortNames,
                       std::vector<std::string> subresources) {
    Kind result;
    result.resource = {std::move(group), std::move(version), std::move(plural), std::move(name), namespaced};
    result.singular = std::move(singular);
    result.shortNames = std::move(shortNames);
    result.subresources = std::move(subresources);
    if (result.singular == "pod" || result.singular == "service" || result.singular == "daemonset") {
      result.categories = {"all"};  // of `kubectl get all`
    }
    return result;
  };
  return {
      kind("", "v1", "namespaces", "Namespace", false, "namespace", {"ns"}, {"status"}),
      kind("", "v1", "nodes", "Node", false, "node", {"no"}, {"status"}),
      kind("", "v1", "pods", "Pod", true, "pod", {"po"}, {"status", "binding", "eviction", "log"}),
      kind("", "v1", "events", "Event", true, "event", {"ev"}, {}),
      kind("", "v1", "configmaps", "ConfigMap", true, "configmap", {"cm"}, {}),
      kind("", "v1", "secrets", "Secret", true, "secret", {}, {}),
      kind("", "v1", "services", "Service", true, "service", {"svc"}, {"status"}),
      kind("apps", "v1", "daemonsets", "DaemonSet", true, "daemonset", {"ds"}, {"status"}),
      kind("coordination.k8s.io", "v1", "leases", "Lease", true, "lease", {}, {}),
      kind("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true, "poddisruptionbudget",
           {"pdb"}, {"status"}),
      kind("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false,
           "customresourcedefinition", {"crd", "crds"}, {"status"}),
  };
}

}  // namespace

bool Kind::hasSubresource(std::string_view name) const {
  return std::find(subresources.begin(), subresources.end(), name) != subresources.end();
}

KindTable::KindTable() {
  for (Kind& kind : builtInKinds()) {
    builtIn_.push_back(std::make_shared<const Kind>(std::move(kind)));
  }
  all_ = builtIn_;
}

void KindTable::setCustom(const std::string& crdName, std::vector<Kind> kinds) {
  std::vector<KindPtr> shared;
  for (Kind& kind : kinds) {
    shared.push_back(std::make_shared<const Kind>(std::move(kind)));
  }
  if (shared.empty()) {
    custom_.erase(crdName);
  } else {
    custom_[crdName] = std::move(shared);
  }
  all_ = builtIn_;
  for (const auto& [name, versions] : custom_) {
    all_.insert(all_.end(), versions.begin(), versions.end());
  }
}

bool KindTable::servedByOther(const std::string& group, const std::string& plural,
                              const std::string& crdName) const {
  const auto same = [&](const KindPtr& kind) {
    return kind->resource.group == group && kind->resource.plural == plural;
  };
  if (std::any_of(builtIn_.begin(), builtIn_.end(), same)) {
    return true;
  }
  return std::any_of(custom_.begin(), custom_.end(), [&](const auto& entry) {
    return entry.first != crdName && std::any_of(entry.second.begin(), entry.second.end(), same);
  });
}

KindPtr KindTable::find(const std::string& group, const std::string& version,
                        const std::string& plural) const {
  for (const KindPtr& kind : all_) {
    const api::Resource& resource = kind->resource;
    if (resource.plural == plural && resource.group == group && resource.version == version) {
      return kind;
    }
  }
  return nullptr;
}

std::vector<KindPtr> KindTable::oneOfEachShelf() const {
  std::vector<KindPtr> kinds = builtIn_;
  for (const auto& [name, versions] : custom_) {
    kinds.push_back(versions.front());
  }
  return kinds;
}

std::vector<std::string> splitPath(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) {
      parts.emplace_back(path.substr(0, end));
    }
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

Outcome<Target> KindTable::resolve(std::string_view path) const {
  std::vector<std::string> parts = splitPath(path);
  const bool core = !parts.empty() && parts[0] == "api";
  const std::size_t head = core ? 2 : 3;  // /api/VERSION or /apis/GROUP/VERSION
  if (parts.size() <= head || (!core && parts[0] != "apis")) {
    return refuse(unknownPath());
  }
  const std::string group = core ? "" : parts[1];
  const std::string version = parts[head - 1];
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(head));

  Target target;
  // "namespaces/NS/pods", but "namespaces/NS" and "namespaces/NS/status" name the namespace itself.
  if (parts[0] == "namespaces" && parts.size() >= 3 && find(group, version, parts[2])) {
    target.ns = parts[1];
    parts.erase(parts.begin(), parts.begin() + 2);
  }
  target.kind = find(group, version, parts[0]);
  const bool wrongScope = target.kind && !target.ns.empty() && !target.kind->resource.namespaced;
  if (!target.kind || wrongScope || parts.size() > 3) {
    return refuse(unknownPath());
  }
  target.name = parts.size() > 1 ? parts[1] : "";
  target.subresource = parts.size() > 2 ? parts[2] : "";
  const bool unknownSubresource =
      !target.subresource.empty() && !target.kind->hasSubresource(target.subresource);
  const bool namespaceMissing = !target.name.empty() && target.ns.empty() && target.kind->resource.namespaced;
  if (unknownSubresource || namespaceMissing) {
    return refuse(unknownPath());
  }
  return target;
}

}  // namespace mainstay::local
