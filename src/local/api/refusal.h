// Refusal: what the API server answers when it does not do as asked, in Kubernetes' words (metav1.Status).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "api/object.h"
#include "base/json.h"

namespace mainstay::local {

// One wrong field of a 422, or another cause that a client may branch on.
struct Cause {
  std::string reason;   // "FieldValueInvalid"
  std::string message;  // "Invalid value: \"A\": must be lower case"
  std::string field;    // "metadata.name"; "" when it is about no field
};

struct Refusal {
  int code = 500;
  std::string reason;  // "NotFound"
  std::string message;
  JsonObject details;
  std::optional<int> retryAfterSeconds;

  Json toStatus() const;
};

// MAINSTAY_TRY and MAINSTAY_ASSIGN of base/result.h pass these on too.
template <class T = void>
using Outcome = tl::expected<T, Refusal>;

inline tl::unexpected<Refusal> refuse(Refusal refusal) {
  return tl::unexpected<Refusal>(std::move(refusal));
}

// {"kind":"Status","status":"Success"}; `details` names what it was done to.
Json successStatus(JsonObject details = {});
// {"name", "group", "kind", "uid"}: the details of most answers. Empty values are left out.
JsonObject detailsOf(const api::Resource& resource, const std::string& name, const std::string& uid = "");

// "pods" or "pytorchjobs.kubeflow.org", as messages name a resource.
std::string qualifiedName(const api::Resource& resource);

Refusal badRequest(const std::string& message);
Refusal forbidden(const api::Resource& resource, const std::string& name, const std::string& why);
Refusal unknownPath();
Refusal notFound(const api::Resource& resource, const std::string& name);
Refusal alreadyExists(const api::Resource& resource, const std::string& name);
Refusal methodNotAllowed();
Refusal unsupportedMediaType(const std::string& accepted);
Refusal conflict(const api::Resource& resource, const std::string& name, const std::string& why);
// "the object has been modified; please apply your changes to the latest version and try again".
Refusal modifiedMeanwhile(const api::Resource& resource, const std::string& name);
// 410: the revision is no longer in the history.
Refusal expired(const std::string& message);
// 422 with every wrong field. REQUIRES: !causes.empty().
Refusal invalid(const api::Resource& resource, const std::string& name, const std::vector<Cause>& causes);
Refusal tooManyRequests(const std::string& message, int retryAfterSeconds, std::vector<Cause> causes = {});

}  // namespace mainstay::local
