// Objects as files hold them: what kind they are stands in the object.
#pragma once

#include "kube/api.h"

namespace mainstay::local {

// Where the API serves this object's kind, by asking it. kNotFound when it does not.
Result<api::Resource> resourceOf(kube::Api& api, const Json& object);

// Creates it in metadata.namespace ("default" when a namespaced object has none).
Result<Json> createObject(kube::Api& api, const Json& object, std::string_view manager);

}  // namespace mainstay::local
