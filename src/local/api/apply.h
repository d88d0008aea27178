// Server-side apply: a manager says what it wants of an object. That is merged into what is there; what it
// wanted before, and nobody wants any more, goes; what another manager owns it may change by force only.
// Pure.
//
// Not modelled: fields of built-in kinds that do not exist (they are kept), and managers of other versions of
// a kind.
#pragma once

#include "local/api/managed_fields.h"

namespace mainstay::local {

// Takes out of `wanted` what a request through `subresource` may not want, as restrictToScope (defaults.h) does.
void restrictWanted(const Kind& kind, const std::string& subresource, Json& wanted);

// The object after `wanted` was applied to `before`, its managedFields not yet written. `writer.applied`
// holds the fields of `wanted`. Unless forced, a 409 that names each field that another manager owns and this
// would change.
Outcome<Json> applyWanted(const Kind& kind, const Json& before, const Json& wanted, const FieldWriter& writer,
                          bool force);

}  // namespace mainstay::local
