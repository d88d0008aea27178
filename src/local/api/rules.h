// The validation rules of custom kinds (x-kubernetes-validations), as far as they are evaluated here: of CEL,
// the operators || && ! == != < <= > >=, parentheses, has(), literals, and fields of self and oldSelf.
#pragma once

#include <string_view>

#include "base/json.h"

namespace mainstay::local {

enum class Verdict {
  kHolds,
  kBroken,       // false, or it compares a field that is absent
  kUnevaluated,  // a form that is not evaluated here
};

// `oldSelf` is null for a new value: a rule that names it then holds, as in Kubernetes.
Verdict evaluateRule(std::string_view rule, const Json& self, const Json* oldSelf);

}  // namespace mainstay::local
