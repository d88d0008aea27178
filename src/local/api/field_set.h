// Sets of fields of an object, as trees in fieldsV1's own form: a member for each step below, "." for "this
// part itself", and {} for a part that is owned as a whole.
#pragma once

#include <string>
#include <vector>

#include "local/api/ownership.h"

namespace mainstay::local {

using FieldSet = JsonObject;

// Every field that `object` gives a value to.
FieldSet fieldsOf(const Json& object, const Ownership& ownership);
// Those fields of `after` that `before` (null: nothing) lacks or has otherwise.
FieldSet changedFields(const Json& before, const Json& after, const Ownership& ownership);

void addFields(FieldSet& set, const FieldSet& more);
// Takes out what `gone` names, and what is empty after that.
void takeFields(FieldSet& set, const FieldSet& gone);
// What is below this step; nullptr when nothing is.
const FieldSet* fieldsBelow(const FieldSet& set, std::string_view step);
// The paths of fields in both, sorted, as messages write them: .spec.containers[name="a"].image
std::vector<std::string> commonFields(const FieldSet& one, const FieldSet& other);

}  // namespace mainstay::local
