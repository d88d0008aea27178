// An object's metadata: reaching it, and what it says about the object's end.
#pragma once

#include <string_view>

#include "local/api/json_access.h"

namespace mainstay::local {

// metadata of an object, made when absent. Stays valid until a member is added to the object.
JsonObject& metadataOf(Json& object);
// Member `key`, made an object when it is none.
JsonObject& memberObject(JsonObject& parent, std::string_view key);
// Member `key`, made an array when it is none.
JsonArray& memberArray(JsonObject& parent, std::string_view key);
// Makes member `key` of `to` what it is in `from`, or absent.
void copyMember(JsonObject& to, const Json& from, std::string_view key);

// Must something happen before it may go? A namespace waits for its content too.
bool hasFinalizers(const Json& object);
bool hasFinalizer(const Json& object, std::string_view finalizer);
// Seconds that a pod in deletion is given; 0 for everything else.
std::int64_t graceOf(const Json& object);

}  // namespace mainstay::local
