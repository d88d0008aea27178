// metadata.managedFields: which manager last wrote which field, or wants it, as Kubernetes keeps it.
#pragma once

#include <optional>
#include <string>

#include "local/api/field_set.h"

namespace mainstay::local {

struct FieldWriter {
  std::string manager;
  std::string subresource;  // "" = the object itself
  TimePoint now{};
  std::optional<FieldSet> applied{};  // by server-side apply: all that the manager wants
};

// `after` is about to replace `before` (null for a new object): gives the fields that differ to the writer,
// or those that are applied, and takes those that differ from every other manager; entries that hold nothing
// any more go. `after` keeps no managedFields of its own making.
void recordFieldWriter(const Kind& kind, const Json& before, Json& after, const FieldWriter& writer);

// Is this entry of managedFields the writer's?
bool isWriters(const Json& entry, const FieldWriter& writer);
// An entry's fields; empty when it has none.
FieldSet fieldsOfEntry(const Json& entry);
// Equal but for the version and for when who wrote: such a write changes nothing.
bool sameContent(const Json& before, const Json& after);

}  // namespace mainstay::local
