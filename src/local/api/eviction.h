// What is done to pods through their subresources: eviction under disruption budgets, and binding to a node.
#pragma once

#include "local/api/registry.h"

namespace mainstay::local {

// The numbers of a PodDisruptionBudget's status.
struct BudgetState {
  std::int64_t expected = 0;  // pods that it selects
  std::int64_t healthy = 0;   // of them: Ready, and not being deleted
  std::int64_t desired = 0;   // must stay healthy
  std::int64_t allowed = 0;   // may be disrupted now
};

// Computed from the pods as they are. Kubernetes takes `expected` of percentages and of maxUnavailable from
// the size that the pods' controller wants; here it is the pods that exist, so such a budget does not count
// pods that are yet to come.
BudgetState budgetState(const Registry& registry, const Json& budget);
// Does this budget select this pod?
bool budgetSelects(const Json& budget, const Json& pod);
// Writes the numbers into the status when they differ.
void refreshBudget(Registry& registry, const Json& budget);

// POST pods/NAME/eviction. `target` names the pod. 429 when a budget refuses for now.
Outcome<Json> evictPod(Registry& registry, const Target& target, const Json& eviction, bool dryRun);
// POST pods/NAME/binding.
Outcome<Json> bindPod(Registry& registry, const Target& target, const Json& binding);

}  // namespace mainstay::local
