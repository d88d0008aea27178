#include <algorithm>

#include "local/api/discovery.h"

namespace mainstay::local {
namespace {

JsonArray toStringArray(const std::vector<std::string>& values) {
  return JsonArray(values.begin(), values.end());
}

// The verbs of a subresource entry, and the kind it speaks.
JsonObject subresourceEntry(const Kind& kind, const std::string& subresource) {
  JsonObject entry{{"name", kind.resource.plural + "/" + subresource},
                   {"singularName", ""},
                   {"namespaced", kind.resource.namespaced},
                   {"kind", kind.resource.kind}};
  if (subresource == "eviction") {
    entry["group"] = "policy";
    entry["version"] = "v1";
    entry["kind"] = "Eviction";
  }
  if (subresource == "binding") {
    entry["kind"] = "Binding";
  }
  const bool postOnly = subresource == "eviction" || subresource == "binding";
  entry["verbs"] = postOnly               ? JsonArray{"create"}
                   : subresource == "log" ? JsonArray{"get"}
                                          : JsonArray{"get", "patch", "update"};
  return entry;
}

JsonObject resourceEntry(const Kind& kind) {
  JsonObject entry{{"name", kind.resource.plural},
                   {"singularName", kind.singular},
                   {"namespaced", kind.resource.namespaced},
                   {"kind", kind.resource.kind},
                   {"verbs", JsonArray{"create", "delete", "deletecollection", "get", "list", "patch",
                                       "update", "watch"}}};
  if (!kind.shortNames.empty()) {
    entry["shortNames"] = toStringArray(kind.shortNames);
  }
  if (!kind.categories.empty()) {
    entry["categories"] = toStringArray(kind.categories);
  }
  return entry;
}

// Entries as the aggregated documents have them, made of those above.
JsonObject aggregatedKind(const JsonObject& entry, const std::string& group, const std::string& version) {
  const auto own = [&](const char* key, const std::string& otherwise) {
    const Json* said = entry.if_contains(key);
    return said ? *said : Json(otherwise);
  };
  return {{"group", own("group", group)}, {"version", own("version", version)}, {"kind", entry.at("kind")}};
}

JsonObject aggregatedResource(const Kind& kind) {
  const api::Resource& resource = kind.resource;
  const JsonObject entry = resourceEntry(kind);
  JsonObject result{{"resource", resource.plural},
                    {"responseKind", aggregatedKind(entry, resource.group, resource.version)},
                    {"scope", resource.namespaced ? "Namespaced" : "Cluster"},
                    {"singularResource", kind.singular},
                    {"verbs", entry.at("verbs")},
                    {"shortNames", toStringArray(kind.shortNames)},
                    {"categories", toStringArray(kind.categories)}};
  JsonArray subresources;
  for (const std::string& name : kind.subresources) {
    const JsonObject below = subresourceEntry(kind, name);
    subresources.push_back(
        JsonObject{{"subresource", name},
                   {"responseKind", aggregatedKind(below, resource.group, resource.version)},
                   {"verbs", below.at("verbs")}});
  }
  result["subresources"] = std::move(subresources);
  return result;
}

Json versionDocument() {
  // What clients compare themselves with: the version whose behaviour was taken as the model.
  return JsonObject{{"major", "1"},        {"minor", "34"},           {"gitVersion", "v1.34.0+mainstay"},
                    {"gitCommit", ""},     {"gitTreeState", "clean"}, {"buildDate", "1970-01-01T00:00:00Z"},
                    {"goVersion", "none"}, {"compiler", "none"},      {"platform", "linux/amd64"}};
}

JsonObject groupVersionEntry(const std::string& group, const std::string& version) {
  return {{"groupVersion", group + "/" + version}, {"version", version}};
}

// A path of a kind's objects, with the one fact that kubectl looks for before it creates or applies: that a
// PATCH takes fieldValidation, so that the server checks fields instead of the client.
JsonObject openApiPath(const Kind& kind) {
  const api::Resource& resource = kind.resource;
  const JsonObject identity{
      {"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}};
  const JsonObject parameter{{"name", "fieldValidation"},
                             {"in", "query"},
                             {"schema", JsonObject{{"type", "string"}, {"uniqueItems", true}}}};
  return {{"patch", JsonObject{{"parameters", JsonArray{Json(parameter)}},
                               {"responses", JsonObject()},
                               {"x-kubernetes-group-version-kind", identity}}}};
}

}  // namespace

std::vector<std::string> KindTable::versionsOf(const std::string& group) const {
  std::vector<std::string> versions;
  for (const KindPtr& kind : all_) {
    const std::string& version = kind->resource.version;
    if (kind->resource.group == group &&
        std::find(versions.begin(), versions.end(), version) == versions.end()) {
      versions.push_back(version);
    }
  }
  return versions;
}

std::optional<Json> KindTable::groupDocument(const std::string& group) const {
  const std::vector<std::string> versions = versionsOf(group);
  if (group.empty() || versions.empty()) {
    return std::nullopt;
  }
  JsonArray entries;
  for (const std::string& version : versions) {
    entries.push_back(groupVersionEntry(group, version));
  }
  return JsonObject{{"kind", "APIGroup"},
                    {"apiVersion", "v1"},
                    {"name", group},
                    {"versions", std::move(entries)},
                    {"preferredVersion", groupVersionEntry(group, versions.front())}};
}

std::set<std::string> KindTable::groupNames() const {
  std::set<std::string> names;
  for (const KindPtr& kind : all_) {
    names.insert(kind->resource.group);
  }
  return names;
}

Json KindTable::groupList() const {
  JsonArray groups;
  for (const std::string& name : groupNames()) {
    if (auto document = groupDocument(name)) {
      groups.push_back(*std::move(document));
    }
  }
  return JsonObject{{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}};
}

std::optional<Json> KindTable::resourceList(const std::string& group, const std::string& version) const {
  JsonArray resources;
  for (const KindPtr& kind : all_) {
    if (kind->resource.group == group && kind->resource.version == version) {
      resources.push_back(resourceEntry(*kind));
      for (const std::string& subresource : kind->subresources) {
        resources.push_back(subresourceEntry(*kind, subresource));
      }
    }
  }
  if (resources.empty()) {
    return std::nullopt;
  }
  return JsonObject{{"kind", "APIResourceList"},
                    {"apiVersion", "v1"},
                    {"groupVersion", group.empty() ? version : group + "/" + version},
                    {"resources", std::move(resources)}};
}

std::optional<Json> KindTable::document(std::string_view path) const {
  const std::vector<std::string> parts = splitPath(path);
  if (parts == std::vector<std::string>{"version"}) {
    return versionDocument();
  }
  if (parts == std::vector<std::string>{"api"}) {
    return JsonObject{
        {"kind", "APIVersions"}, {"versions", JsonArray{"v1"}}, {"serverAddressByClientCIDRs", JsonArray()}};
  }
  if (parts == std::vector<std::string>{"apis"}) {
    return groupList();
  }
  if (parts.size() == 2 && parts[0] == "api") {
    return resourceList("", parts[1]);
  }
  if (parts.size() == 2 && parts[0] == "apis") {
    return groupDocument(parts[1]);
  }
  if (parts.size() == 3 && parts[0] == "apis") {
    return resourceList(parts[1], parts[2]);
  }
  if (parts.size() >= 2 && parts[0] == "openapi" && parts[1] == "v3") {
    return openApi(path);
  }
  return std::nullopt;
}

std::optional<Json> KindTable::aggregated(std::string_view path) const {
  const std::vector<std::string> parts = splitPath(path);
  const bool core = parts == std::vector<std::string>{"api"};
  if (!core && parts != std::vector<std::string>{"apis"}) {
    return std::nullopt;
  }
  JsonArray groups;
  for (const std::string& group : groupNames()) {
    if (group.empty() != core) {
      continue;
    }
    JsonArray versions;
    for (const std::string& version : versionsOf(group)) {
      JsonArray resources;
      for (const KindPtr& kind : all_) {
        if (kind->resource.group == group && kind->resource.version == version) {
          resources.push_back(aggregatedResource(*kind));
        }
      }
      versions.push_back(
          JsonObject{{"version", version}, {"resources", std::move(resources)}, {"freshness", "Current"}});
    }
    groups.push_back(
        JsonObject{{"metadata", JsonObject{{"name", group}}}, {"versions", std::move(versions)}});
  }
  return JsonObject{{"kind", "APIGroupDiscoveryList"},
                    {"apiVersion", "apidiscovery.k8s.io/v2"},
                    {"metadata", JsonObject()},
                    {"items", std::move(groups)}};
}

// "/openapi/v3" lists a document for each group and version; each names its kinds' paths.
std::optional<Json> KindTable::openApi(std::string_view path) const {
  static constexpr std::string_view kRoot = "/openapi/v3/";
  JsonObject index;
  JsonObject paths;
  for (const KindPtr& kind : all_) {
    const api::Resource& resource = kind->resource;
    const std::string version = resource.group.empty() ? "api/v1" : "apis/" + resource.apiVersion();
    index[version] = JsonObject{{"serverRelativeURL", std::string(kRoot) + version}};
    if (path == std::string(kRoot) + version) {
      paths[resource.path(resource.namespaced ? "{namespace}" : "", "{name}")] = openApiPath(*kind);
    }
  }
  if (path == "/openapi/v3") {
    return JsonObject{{"paths", std::move(index)}};
  }
  if (paths.empty()) {
    return std::nullopt;
  }
  return JsonObject{{"openapi", "3.0.0"},
                    {"info", JsonObject{{"title", "Mainstay local cluster"}, {"version", "v1"}}},
                    {"paths", std::move(paths)}};
}

}  // namespace mainstay::local
