// CustomResourceDefinitions: what a definition must be, and the kinds that it makes served.
#pragma once

#include <vector>

#include "local/api/discovery.h"
#include "local/api/schema.h"

namespace mainstay::local {

// Keeps a definition until its objects are gone.
inline constexpr char kCrdFinalizer[] = "customresourcecleanup.apiextensions.k8s.io";

void validateDefinition(const Json& definition, const KindTable& kinds, Causes& causes);
// A new definition's status (accepted, established) and finalizer. Rules of its schema that are not evaluated
// here are named in the condition RulesNotEvaluated.
void acceptDefinition(Json& definition, TimePoint now);
// One for each served version, the stored one first.
std::vector<Kind> kindsOf(const Json& definition);

// Prunes, defaults and validates an object of a custom kind. `strict` refuses unknown fields instead of
// pruning them.
Outcome<> conformToSchema(const Kind& kind, bool strict, const Json* before, Json& object, Causes& causes);

}  // namespace mainstay::local
