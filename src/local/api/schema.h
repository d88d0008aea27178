// Schema: the structural OpenAPI v3 schema of a custom kind: prunes unknown fields, fills in defaults,
// validates.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "local/api/validation.h"

namespace mainstay::local {

class Schema {
 public:
  explicit Schema(Json openApi) : root_(std::move(openApi)) {}
  const Json& root() const { return root_; }

  // Removes from `object` what the schema does not know (their paths are returned) and gives absent fields
  // their defaults.
  std::vector<std::string> pruneAndDefault(Json& object) const;
  // Every violation, with its path. `before` is the object that is replaced, or null: for rules on what may
  // change.
  void validate(const Json* before, const Json& object, Causes& causes) const;
  // x-kubernetes-validations that are not evaluated here (rules.h), as "path: rule".
  std::vector<std::string> unevaluatedRules() const;

 private:
  Json root_;
};

}  // namespace mainstay::local
