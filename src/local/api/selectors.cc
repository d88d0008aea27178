#include "local/api/selectors.h"

#include <algorithm>
#include <map>
#include <set>

#include "local/api/validation.h"

namespace mainstay::local {
namespace {

// Which fields each kind can be selected by, besides metadata.name and metadata.namespace (Kubernetes 1.34,
// pkg/apis/core/v1/conversion.go and the registries' SelectableFields).
const std::set<std::string>& selectableFields(const std::string& shelf) {
  static const std::map<std::string, std::set<std::string>> kFields = {
      {"pods",
       {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
        "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName"}},
      {"nodes", {"spec.unschedulable"}},
      {"events",
       {"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
        "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
        "reportingComponent", "source", "type"}},
      {"namespaces", {"status.phase"}},
      {"secrets", {"type"}},
  };
  static const std::set<std::string> kNone;
  const auto at = kFields.find(shelf);
  return at == kFields.end() ? kNone : at->second;
}

// Booleans read "true" and "false"; an absent one is false, an absent string empty.
std::string fieldText(const Json& object, const std::string& path) {
  if (path == "source") {
    return findString(object, "source", "component");
  }
  const Json* at = &object;
  std::size_t begin = 0;
  while (at && begin <= path.size()) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    at = findMember(*at, std::string_view(path).substr(begin, end - begin));
    begin = end + 1;
  }
  const bool isFlag = path == "spec.unschedulable" || path == "spec.hostNetwork";
  if (isFlag) {
    return at && at->is_bool() && at->get_bool() ? "true" : "false";
  }
  return at && at->is_string() ? std::string(at->get_string()) : std::string();
}

// "a=b", "a==b" or "a!=b".
Outcome<FieldTerm> parseFieldTerm(const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign == std::string::npos) {
    return refuse(badRequest("invalid selector: '" + text + "'; can't understand '" + text + "'"));
  }
  const bool equal = sign == 0 || text[sign - 1] != '!';
  const std::size_t valueAt = text.compare(sign, 2, "==") == 0 ? sign + 2 : sign + 1;
  return FieldTerm{text.substr(0, equal ? sign : sign - 1), text.substr(valueAt), equal};
}

Outcome<std::vector<FieldTerm>> parseFieldSelector(const api::Resource& resource, const std::string& text) {
  std::vector<FieldTerm> terms;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    MAINSTAY_ASSIGN(FieldTerm term, parseFieldTerm(text.substr(begin, end - begin)));
    const bool common = term.path == "metadata.name" || term.path == "metadata.namespace";
    if (!common && !selectableFields(qualifiedName(resource)).contains(term.path)) {
      return refuse(badRequest("field label not supported: " + term.path));
    }
    terms.push_back(std::move(term));
    begin = end + 1;
  }
  return terms;
}

// A label that no object can have is a mistake.
Outcome<> checkLabels(const api::LabelSelector& selector) {
  for (const api::LabelRequirement& requirement : selector.requirements) {
    if (!isQualifiedName(requirement.key)) {
      return refuse(
          badRequest("unable to parse requirement: \"" + requirement.key + "\" is no key of a label"));
    }
    for (const std::string& value : requirement.values) {
      if (!isLabelValue(value)) {
        return refuse(badRequest("unable to parse requirement: \"" + value + "\" is no value of a label"));
      }
    }
  }
  return {};
}

}  // namespace

bool Filter::matches(const Json& object) const {
  if (!labels.requirements.empty() && !labels.matches(labelsOf(object))) {
    return false;
  }
  return std::all_of(fields.begin(), fields.end(), [&](const FieldTerm& term) {
    return (fieldText(object, term.path) == term.value) == term.equal;
  });
}

Outcome<Filter> parseFilter(const api::Resource& resource, const Query& query) {
  Filter filter;
  if (const std::string text = queryValue(query, "labelSelector"); !text.empty()) {
    auto labels = api::parseLabelSelector(text);
    if (!labels) {
      return refuse(badRequest("unable to parse requirement: " + labels.error().toString()));
    }
    MAINSTAY_TRY(checkLabels(*labels));
    filter.labels = *std::move(labels);
  }
  MAINSTAY_ASSIGN(filter.fields, parseFieldSelector(resource, queryValue(query, "fieldSelector")));
  return filter;
}

api::Labels labelsOf(const Json& object) {
  api::Labels labels;
  const Json* found = find(object, "metadata", "labels");
  if (found && found->is_object()) {
    for (const auto& [key, value] : found->get_object()) {
      if (value.is_string()) {
        labels.emplace(key, value.get_string());
      }
    }
  }
  return labels;
}

}  // namespace mainstay::local
