#include "local/api/validation.h"

#include <algorithm>
#include <set>

#include "local/api/json_access.h"

namespace mainstay::local {
namespace {

constexpr std::size_t kMaxAnnotations =
    256u << 10;  // bytes of all keys and values (apimachinery: TotalAnnotationSizeLimitB)

constexpr char kSubdomainRule[] =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and "
    "end with an alphanumeric character";
constexpr char kLabelRule[] =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an "
    "alphanumeric character";
constexpr char kQualifiedRule[] =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric "
    "character, at most 63 of them; an optional prefix is a DNS subdomain followed by '/'";
constexpr char kLabelValueRule[] =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end "
    "with an alphanumeric character, at most 63 of them";

bool isLowerAlnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool isAlnum(char c) {
  return isLowerAlnum(c) || (c >= 'A' && c <= 'Z');
}

// Alphanumeric at both ends, and nothing but alphanumerics, '-', '_' and '.' between; 1 to 63 characters.
bool isNamePart(std::string_view text) {
  return !text.empty() && text.size() <= 63 && isAlnum(text.front()) && isAlnum(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return isAlnum(c) || c == '-' || c == '_' || c == '.'; });
}

void validateName(const Kind& kind, const std::string& name, Causes& causes) {
  if (name.empty()) {
    causes.push_back(requiredValue("metadata.name", "name or generateName is required"));
    return;
  }
  const bool labelOnly = kind.shelf() == kNamespaceShelf || kind.shelf() == "services";
  if (labelOnly && !isDnsLabel(name)) {
    causes.push_back(invalidText("metadata.name", name, kLabelRule));
  } else if (!isDnsSubdomain(name)) {
    causes.push_back(invalidText("metadata.name", name, kSubdomainRule));
  }
}

void validateStringMap(const Json& object, const std::string& key, bool labels, Causes& causes) {
  const std::string field = "metadata." + key;
  const Json* map = find(object, "metadata", key);
  if (!map || map->is_null()) {
    return;
  }
  if (!map->is_object()) {
    causes.push_back(invalidValue(field, *map, "must be an object of strings"));
    return;
  }
  std::size_t size = 0;
  for (const auto& [name, value] : map->get_object()) {
    if (!isQualifiedName(name)) {
      causes.push_back(invalidValue(field, Json(name), kQualifiedRule));
    }
    if (!value.is_string()) {
      causes.push_back(invalidValue(field + "[" + std::string(name) + "]", value, "must be a string"));
      continue;
    }
    if (labels && !isLabelValue(value.get_string())) {
      causes.push_back(invalidValue(field, value, kLabelValueRule));
    }
    size += name.size() + value.get_string().size();
  }
  if (!labels && size > kMaxAnnotations) {
    causes.push_back({"FieldValueTooLong",
                      "Too long: may not be more than " + std::to_string(kMaxAnnotations) + " bytes", field});
  }
}

void validateFinalizers(const Kind& kind, const Json& object, Causes& causes) {
  const Json* finalizers = find(object, "metadata", "finalizers");
  if (!finalizers || finalizers->is_null()) {
    return;
  }
  if (!finalizers->is_array()) {
    causes.push_back(invalidValue("metadata.finalizers", *finalizers, "must be a list of strings"));
    return;
  }
  static constexpr std::string_view kStandard[] = {"kubernetes", "orphan", "foregroundDeletion"};
  const bool extension = kind.custom || kind.shelf() == kCrdShelf;  // of the API, which are less strict
  const JsonArray& list = finalizers->get_array();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string name(list[i].is_string() ? list[i].get_string() : "");
    const bool standard = std::find(std::begin(kStandard), std::end(kStandard), name) != std::end(kStandard);
    if (!isQualifiedName(name)) {
      causes.push_back(invalidValue("metadata.finalizers", list[i], kQualifiedRule));
    } else if (!extension && !standard && name.find('/') == std::string::npos) {
      causes.push_back(invalidText("metadata.finalizers[" + std::to_string(i) + "]", name,
                                   "name is neither a standard finalizer name nor is it fully qualified"));
    }
  }
}

// An object that goes is held by those who held it before, and by nobody else.
void validateNoNewFinalizers(const Json& before, const Json& after, Causes& causes) {
  const JsonArray& old = arrayAt(before, "metadata", "finalizers");
  std::string added;
  for (const Json& finalizer : arrayAt(after, "metadata", "finalizers")) {
    if (isDeleting(before) && std::find(old.begin(), old.end(), finalizer) == old.end()) {
      added += (added.empty() ? "" : ", ") + toText(finalizer);
    }
  }
  if (!added.empty()) {
    causes.push_back(forbiddenValue(
        "metadata.finalizers",
        "no new finalizers can be added if the object is being deleted, found new finalizers " + added));
  }
}

void validateOwners(const Json& object, Causes& causes) {
  const JsonArray& owners = arrayAt(object, "metadata", "ownerReferences");
  int controllers = 0;
  for (const Json& owner : owners) {
    for (const char* key : {"apiVersion", "kind", "name", "uid"}) {
      if (findString(owner, key).empty()) {
        causes.push_back(
            invalidText(std::string("metadata.ownerReferences.") + key, "", "must not be empty"));
      }
    }
    const Json* controller = findMember(owner, "controller");
    controllers += controller && controller->is_bool() && controller->get_bool() ? 1 : 0;
  }
  if (controllers > 1) {
    causes.push_back(invalidValue("metadata.ownerReferences", controllers,
                                  "Only one reference can have Controller set to true"));
  }
}

void validateTaints(const Json& node, Causes& causes) {
  const JsonArray& taints = arrayAt(node, "spec", "taints");
  static const std::vector<std::string> kEffects = {"NoSchedule", "PreferNoSchedule", "NoExecute"};
  std::set<std::string> seen;
  for (std::size_t i = 0; i < taints.size(); ++i) {
    const Json& taint = taints[i];
    const std::string field = "metadata.taints[" + std::to_string(i) + "]";  // as kube-apiserver calls it
    const std::string key = findString(taint, "key");
    const std::string effect = findString(taint, "effect");
    if (!isQualifiedName(key)) {
      causes.push_back(invalidText(field + ".key", key, kQualifiedRule));
    }
    if (!isLabelValue(findString(taint, "value"))) {
      causes.push_back(invalidText(field + ".value", findString(taint, "value"), kLabelValueRule));
    }
    if (std::find(kEffects.begin(), kEffects.end(), effect) == kEffects.end()) {
      causes.push_back(unsupportedText(field + ".effect", effect, kEffects));
    }
    if (!seen.insert(key + "\n" + effect).second) {
      causes.push_back(
          {"FieldValueDuplicate", "Duplicate value: taints must be unique by key and effect pair", field});
    }
  }
}

void validateNode(const Json* before, const Json& after, Causes& causes) {
  validateTaints(after, causes);
  if (!before) {
    return;
  }
  const std::string providerId = findString(*before, "spec", "providerID");
  if (!providerId.empty() && providerId != findString(after, "spec", "providerID")) {
    causes.push_back(forbiddenValue("spec.providerID",
                                    "node updates may not change providerID except from \"\" to valid"));
  }
}

// A pod's spec without what an update may change.
Json fixedPartOfSpec(const Json& pod) {
  const Json* spec = findMember(pod, "spec");
  Json fixed = spec && spec->is_object() ? *spec : JsonObject();
  JsonObject& members = fixed.get_object();
  members.erase("activeDeadlineSeconds");
  members.erase("tolerations");
  members.erase("terminationGracePeriodSeconds");
  for (const char* list : {"containers", "initContainers"}) {
    if (Json* containers = members.if_contains(list); containers && containers->is_array()) {
      for (Json& container : containers->get_array()) {
        if (container.is_object()) {
          container.get_object().erase("image");
        }
      }
    }
  }
  return fixed;
}

void validateContainers(const Json& pod, Causes& causes) {
  const JsonArray& containers = arrayAt(pod, "spec", "containers");
  if (containers.empty()) {
    causes.push_back(requiredValue("spec.containers"));
    return;
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Json& container = containers[i];
    const std::string field = "spec.containers[" + std::to_string(i) + "]";
    const std::string name = findString(container, "name");
    if (name.empty()) {
      causes.push_back(requiredValue(field + ".name"));
    } else if (!isDnsLabel(name)) {
      causes.push_back(invalidText(field + ".name", name, kLabelRule));
    } else if (!names.insert(name).second) {
      causes.push_back({"FieldValueDuplicate", "Duplicate value: \"" + name + "\"", field + ".name"});
    }
    if (findString(container, "image").empty()) {
      causes.push_back(requiredValue(field + ".image"));
    }
  }
}

void validatePod(const Json* before, const Json& after, Causes& causes) {
  static const std::vector<std::string> kRestartPolicies = {"Always", "OnFailure", "Never"};
  validateContainers(after, causes);
  const std::string restart = findString(after, "spec", "restartPolicy");
  if (std::find(kRestartPolicies.begin(), kRestartPolicies.end(), restart) == kRestartPolicies.end()) {
    causes.push_back(unsupportedText("spec.restartPolicy", restart, kRestartPolicies));
  }
  if (before && fixedPartOfSpec(*before) != fixedPartOfSpec(after)) {
    causes.push_back(forbiddenValue(
        "spec",
        "pod updates may not change fields other than "
        "`spec.containers[*].image`,`spec.initContainers[*].image`,"
        "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"));
  }
}

// An event lives in the namespace of what it is about; cluster-scoped subjects have theirs in "default".
void validateEvent(const Json& event, Causes& causes) {
  const std::string subject = findString(event, "involvedObject", "namespace");
  const std::string ns = findString(event, "metadata", "namespace");
  if (subject.empty() ? ns != "default" : ns != subject) {
    causes.push_back(invalidText("involvedObject.namespace", subject, "does not match event.namespace"));
  }
}

void validateBudget(const Json& budget, Causes& causes) {
  const Json* least = find(budget, "spec", "minAvailable");
  const Json* most = find(budget, "spec", "maxUnavailable");
  if (least && most) {
    causes.push_back(invalidValue("spec", Json(), "minAvailable and maxUnavailable cannot be both set"));
  }
}

void validateLease(const Json& lease, Causes& causes) {
  const Json* seconds = find(lease, "spec", "leaseDurationSeconds");
  if (seconds && (!seconds->is_int64() || seconds->get_int64() <= 0)) {
    causes.push_back(invalidValue("spec.leaseDurationSeconds", *seconds, "must be greater than 0"));
  }
}

void validateSecret(const Json& secret, Causes& causes) {
  if (findMember(secret, "stringData")) {
    causes.push_back(
        forbiddenValue("stringData", "the local cluster does not encode it: write base64 into data"));
  }
}

}  // namespace

bool isDnsLabel(std::string_view text) {
  return !text.empty() && text.size() <= 63 && isLowerAlnum(text.front()) && isLowerAlnum(text.back()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return isLowerAlnum(c) || c == '-'; });
}

bool isDnsSubdomain(std::string_view text) {
  if (text.size() > 253) {
    return false;
  }
  while (true) {
    const std::size_t dot = text.find('.');
    const std::string_view part = text.substr(0, dot);
    // Parts of a subdomain may be as long as the whole.
    const bool ok = !part.empty() && isLowerAlnum(part.front()) && isLowerAlnum(part.back()) &&
                    std::all_of(part.begin(), part.end(), [](char c) { return isLowerAlnum(c) || c == '-'; });
    if (!ok || dot == std::string_view::npos) {
      return ok;
    }
    text.remove_prefix(dot + 1);
  }
}

bool isQualifiedName(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return isNamePart(text);
  }
  std::string prefix(text.substr(0, slash));
  std::transform(prefix.begin(), prefix.end(), prefix.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return isDnsSubdomain(prefix) && isNamePart(text.substr(slash + 1));
}

bool isLabelValue(std::string_view text) {
  return text.empty() || isNamePart(text);
}

Cause invalidValue(const std::string& field, const Json& value, const std::string& why) {
  return {"FieldValueInvalid", "Invalid value: " + toText(value) + ": " + why, field};
}

Cause invalidText(const std::string& field, std::string_view value, const std::string& why) {
  return invalidValue(field, Json(value), why);
}

Cause requiredValue(const std::string& field, const std::string& why) {
  return {"FieldValueRequired", why.empty() ? "Required value" : "Required value: " + why, field};
}

Cause forbiddenValue(const std::string& field, const std::string& why) {
  return {"FieldValueForbidden", "Forbidden: " + why, field};
}

Cause unsupportedValue(const std::string& field, const Json& value,
                       const std::vector<std::string>& supported) {
  std::string list;
  for (const std::string& one : supported) {
    list += (list.empty() ? "\"" : ", \"") + one + "\"";
  }
  return {"FieldValueNotSupported", "Unsupported value: " + toText(value) + ": supported values: " + list,
          field};
}

Cause unsupportedText(const std::string& field, std::string_view value,
                      const std::vector<std::string>& supported) {
  return unsupportedValue(field, Json(value), supported);
}

void validateMetadata(const Kind& kind, const Json* before, const Json& object, Causes& causes) {
  validateName(kind, findString(object, "metadata", "name"), causes);
  validateStringMap(object, "labels", true, causes);
  validateStringMap(object, "annotations", false, causes);
  validateFinalizers(kind, object, causes);
  if (before) {
    validateNoNewFinalizers(*before, object, causes);
  }
  validateOwners(object, causes);
}

void validateKind(const Kind& kind, const Json* before, const Json& after, Causes& causes) {
  const std::string shelf = kind.shelf();
  if (shelf == "nodes") {
    validateNode(before, after, causes);
  } else if (shelf == kPodShelf) {
    validatePod(before, after, causes);
  } else if (shelf == "events" && !before) {
    validateEvent(after, causes);
  } else if (shelf == kBudgetShelf) {
    validateBudget(after, causes);
  } else if (shelf == "leases.coordination.k8s.io") {
    validateLease(after, causes);
  } else if (shelf == "secrets") {
    validateSecret(after, causes);
  }
}

}  // namespace mainstay::local
