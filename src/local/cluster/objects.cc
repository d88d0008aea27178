#include "local/cluster/objects.h"

#include "local/api/json_access.h"

namespace mainstay::local {

Result<api::Resource> resourceOf(kube::Api& api, const Json& object) {
  const std::string apiVersion = findString(object, "apiVersion");
  const std::string kind = findString(object, "kind");
  const std::size_t slash = apiVersion.find('/');
  kube::ApiRequest request;
  request.path = (slash == std::string::npos ? "/api/" : "/apis/") + apiVersion;
  MAINSTAY_ASSIGN(const Json served, api.call(request, Deadline::after(kube::kCallTimeout)));
  for (const Json& entry : arrayAt(served, "resources")) {
    const std::string plural = findString(entry, "name");
    if (findString(entry, "kind") == kind && plural.find('/') == std::string::npos) {
      const Json* namespaced = find(entry, "namespaced");
      return api::Resource{slash == std::string::npos ? "" : apiVersion.substr(0, slash),
                           apiVersion.substr(slash == std::string::npos ? 0 : slash + 1), plural, kind,
                           namespaced && namespaced->is_bool() && namespaced->get_bool()};
    }
  }
  return fail(Code::kNotFound, "the API server has no kind " + kind + " in " + apiVersion);
}

Result<Json> createObject(kube::Api& api, const Json& object, std::string_view manager) {
  const std::string name = findString(object, "kind") + " " + findString(object, "metadata", "name");
  auto resource = resourceOf(api, object);
  if (!resource) {
    return fail(std::move(resource).error().with("creating " + name));
  }
  const std::string ns = findString(object, "metadata", "namespace");
  auto created = kube::create(api, *resource, resource->namespaced ? (ns.empty() ? "default" : ns) : "",
                              object, manager);
  return created ? created : fail(std::move(created).error().with("creating " + name));
}

}  // namespace mainstay::local
