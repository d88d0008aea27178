// The patch types of the Kubernetes API beside merge patch (base/json.h), and which lists are merged by which
// key.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "local/api/refusal.h"

namespace mainstay::local {

// The key by which the elements of a list are told apart ("name" for containers, "type" for conditions);
// nullopt: the list is atomic, replaced as a whole (taints, tolerations, args). `first` is an element of it:
// "ports" of a container go by containerPort, those of a Service by port.
std::optional<std::string> mergeKeyOf(std::string_view field, const Json& first);
// Lists of scalars that are merged as sets: finalizers, podCIDRs.
bool isMergedSet(std::string_view field);

// RFC 6902. A failed "test" or a path that leads nowhere is a 422.
Outcome<> applyJsonPatch(Json& target, const Json& patch);

// Strategic merge patch with $patch (replace, delete, merge), $deleteFromPrimitiveList and $retainKeys.
// $setElementOrder is accepted and not needed: order carries no meaning in the lists that we merge.
Outcome<> applyStrategicMerge(Json& target, const Json& patch);

}  // namespace mainstay::local
