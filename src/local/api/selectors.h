// Filter: the label and field selector of a list or watch.
#pragma once

#include <string>
#include <vector>

#include "api/object.h"
#include "base/http.h"
#include "local/api/refusal.h"

namespace mainstay::local {

struct FieldTerm {
  std::string path;  // "spec.nodeName"
  std::string value;
  bool equal = true;  // false: !=
};

struct Filter {
  api::LabelSelector labels;
  std::vector<FieldTerm> fields;
  bool everything() const { return labels.requirements.empty() && fields.empty(); }
  bool matches(const Json& object) const;
};

// Reads labelSelector and fieldSelector of a query. A field that this kind cannot be selected by is a 400, as
// in Kubernetes.
Outcome<Filter> parseFilter(const api::Resource& resource, const Query& query);

// metadata.labels, leaving out what is not a string.
api::Labels labelsOf(const Json& object);

}  // namespace mainstay::local
