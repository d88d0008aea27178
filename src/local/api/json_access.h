// Reading members of objects that people and programs wrote: what is absent or of another type is empty.
#pragma once

#include <optional>

#include "base/json.h"

namespace mainstay::local {

// The array at this place; an empty one otherwise.
template <class... Keys>
const JsonArray& arrayAt(const Json& value, Keys... keys) {
  static const JsonArray kEmpty;
  const Json* at = find(value, keys...);
  return at && at->is_array() ? at->get_array() : kEmpty;
}

// A copy of the object at this place; an empty one otherwise.
template <class... Keys>
JsonObject objectAt(const Json& value, Keys... keys) {
  const Json* at = find(value, keys...);
  return at && at->is_object() ? at->get_object() : JsonObject();
}

template <class... Keys>
std::optional<std::int64_t> integerAt(const Json& value, Keys... keys) {
  const Json* at = find(value, keys...);
  boost::system::error_code inexact;
  const auto number = at && at->is_number() ? at->to_number<std::int64_t>(inexact) : 0;
  return at && at->is_number() && !inexact ? std::optional(number) : std::nullopt;
}

// Is the object being deleted?
inline bool isDeleting(const Json& object) {
  return find(object, "metadata", "deletionTimestamp") != nullptr;
}

}  // namespace mainstay::local
