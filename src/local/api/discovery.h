// What is served: the built-in kinds and those that CustomResourceDefinitions add, how a path names an
// object, and the discovery documents that clients read first.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/object.h"
#include "local/api/refusal.h"

namespace mainstay::local {

class Schema;

struct PrinterColumn {
  std::string name;
  std::string type;  // "string", "integer", "date", ...
  std::string jsonPath;
  int priority = 0;  // above 0: only with -o wide
};

// One served resource in one version.
struct Kind {
  api::Resource resource;
  std::string singular;
  std::vector<std::string> shortNames;
  std::vector<std::string> categories;
  std::vector<std::string> subresources;  // "status", "eviction", ...
  bool custom = false;                    // defined by a CustomResourceDefinition
  std::shared_ptr<const Schema> schema;   // custom kinds only
  std::vector<PrinterColumn> columns;     // custom kinds only

  // Where the store keeps it; all versions of a kind share one shelf.
  std::string shelf() const { return qualifiedName(resource); }
  bool hasSubresource(std::string_view name) const;
  bool hasStatus() const { return hasSubresource("status"); }
};
using KindPtr = std::shared_ptr<const Kind>;

// What a path names. A collection has no name; cluster-scoped objects have no namespace.
struct Target {
  KindPtr kind;
  std::string ns;
  std::string name;
  std::string subresource;
  std::string key() const { return ns.empty() ? name : ns + "/" + name; }
};

// The shelves that the server itself looks into.
inline constexpr char kNamespaceShelf[] = "namespaces";
inline constexpr char kPodShelf[] = "pods";
inline constexpr char kBudgetShelf[] = "poddisruptionbudgets.policy";
inline constexpr char kCrdShelf[] = "customresourcedefinitions.apiextensions.k8s.io";

class KindTable {
 public:
  KindTable();
  // The kinds of a CustomResourceDefinition, in place of those it defined before; none = forget it.
  void setCustom(const std::string& crdName, std::vector<Kind> kinds);
  // Does any other definition or built-in kind serve this group and plural?
  bool servedByOther(const std::string& group, const std::string& plural, const std::string& crdName) const;

  // "/api/v1/namespaces/NS/pods/NAME/log"; 404 when it names nothing that is served.
  Outcome<Target> resolve(std::string_view path) const;
  KindPtr find(const std::string& group, const std::string& version, const std::string& plural) const;
  // One per shelf: for those who walk over everything that is stored.
  std::vector<KindPtr> oneOfEachShelf() const;

  // The document at a discovery path ("/api", "/apis/policy", "/api/v1", "/version"); nullopt when it is
  // none.
  std::optional<Json> document(std::string_view path) const;
  // All groups with their kinds in one APIGroupDiscoveryList: of "/api" or "/apis"; nullopt for another path.
  std::optional<Json> aggregated(std::string_view path) const;

 private:
  std::set<std::string> groupNames() const;
  Json groupList() const;
  std::optional<Json> groupDocument(const std::string& group) const;
  std::optional<Json> resourceList(const std::string& group, const std::string& version) const;
  std::optional<Json> openApi(std::string_view path) const;
  std::vector<std::string> versionsOf(const std::string& group) const;

  std::vector<KindPtr> builtIn_;
  std::map<std::string, std::vector<KindPtr>> custom_;  // by name of the definition
  std::vector<KindPtr> all_;                            // of both
};

// "/a//b/" -> {"a", "b"}.
std::vector<std::string> splitPath(std::string_view path);

}  // namespace mainstay::local
