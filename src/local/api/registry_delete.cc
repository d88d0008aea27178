// Deletion: preconditions, grace, finalizers.
#include <algorithm>

#include "local/api/metadata.h"
#include "local/api/registry.h"

namespace mainstay::local {
namespace {

void addFinalizer(Json& object, const std::string& finalizer) {
  if (!hasFinalizer(object, finalizer)) {
    memberArray(metadataOf(object), "finalizers").emplace_back(finalizer);
  }
}

// How long a pod may take to stop: nobody is asked to wait for one that never ran or has ended.
std::int64_t podGrace(const Json& pod, const std::optional<std::int64_t>& wanted) {
  const std::string phase = findString(pod, "status", "phase");
  if (findString(pod, "spec", "nodeName").empty() || phase == "Succeeded" || phase == "Failed") {
    return 0;
  }
  const auto own = integerAt(pod, "spec", "terminationGracePeriodSeconds");
  return std::max<std::int64_t>(wanted ? *wanted : own.value_or(0), 0);
}

Outcome<> checkPreconditions(const Target& target, const Json& object, const DeleteOptions& options) {
  MAINSTAY_TRY(checkUid(target, object, options.uid));
  const std::string version = findString(object, "metadata", "resourceVersion");
  if (!options.resourceVersion.empty() && options.resourceVersion != version) {
    return refuse(conflict(target.kind->resource, target.name,
                           "Precondition failed: ResourceVersion in precondition: " +
                               options.resourceVersion + ", ResourceVersion in object meta: " + version));
  }
  return {};
}

}  // namespace

Outcome<> checkUid(const Target& target, const Json& object, const std::string& wanted) {
  const std::string uid = findString(object, "metadata", "uid");
  if (!wanted.empty() && wanted != uid) {
    return refuse(
        conflict(target.kind->resource, target.name,
                 "Precondition failed: UID in precondition: " + wanted + ", UID in object meta: " + uid));
  }
  return {};
}

Outcome<DeleteOptions> parseDeleteOptions(const Json& body, const Query& query) {
  DeleteOptions options;
  options.graceSeconds = integerAt(body, "gracePeriodSeconds");
  if (const std::string text = queryValue(query, "gracePeriodSeconds"); !text.empty()) {
    if (text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos) {
      return refuse(badRequest("gracePeriodSeconds: \"" + text + "\" is not a number of seconds"));
    }
    options.graceSeconds = std::stol(text);
  }
  options.uid = findString(body, "preconditions", "uid");
  options.resourceVersion = findString(body, "preconditions", "resourceVersion");
  for (const std::string& text :
       {findString(body, "propagationPolicy"), queryValue(query, "propagationPolicy")}) {
    if (!text.empty()) {
      options.propagation = text;
    }
  }
  if (options.propagation != "Background" && options.propagation != "Foreground" &&
      options.propagation != "Orphan") {
    return refuse(badRequest("propagationPolicy: \"" + options.propagation +
                             "\" is none of Background, Foreground, Orphan"));
  }
  const Json* dryRun = findMember(body, "dryRun");
  options.dryRun =
      (dryRun && dryRun->is_array() && !dryRun->get_array().empty()) || !queryValue(query, "dryRun").empty();
  return options;
}

Json Registry::markDeleted(const Kind& kind, const Json& before, std::int64_t grace,
                           const std::string& propagation) const {
  Json after = before;
  if (propagation != "Background") {
    addFinalizer(after, propagation == "Orphan" ? "orphan" : "foregroundDeletion");
  }
  JsonObject& metadata = metadataOf(after);
  const bool sooner = !isDeleting(before) || grace < graceOf(before);
  if (sooner) {
    metadata["deletionTimestamp"] = formatTime(clock_.now() + std::chrono::seconds(grace));
    metadata["deletionGracePeriodSeconds"] = grace;
    if (const Json* generation = metadata.if_contains("generation"); generation && generation->is_int64()) {
      metadata["generation"] = generation->get_int64() + 1;
    }
  }
  if (kind.shelf() == kNamespaceShelf) {
    after.as_object()["status"] = JsonObject{{"phase", "Terminating"}};
  }
  return after;
}

Outcome<Json> Registry::remove(const Target& target, const DeleteOptions& options) {
  const Kind& kind = *target.kind;
  MAINSTAY_ASSIGN(const ObjectPtr before, existing(target));
  MAINSTAY_TRY(checkPreconditions(target, *before, options));
  const bool isPod = kind.shelf() == kPodShelf;
  const std::int64_t grace = isPod ? podGrace(*before, options.graceSeconds) : 0;
  const std::string uid = findString(*before, "metadata", "uid");
  const bool lives = grace > 0 || hasFinalizers(*before) || options.propagation != "Background";
  if (options.dryRun) {
    return presentAs(kind, *before);
  }
  if (lives) {
    Json marked = markDeleted(kind, *before, grace, options.propagation);
    return marked == *before ? presentAs(kind, *before) : commit(kind, target.key(), std::move(marked));
  }
  erase(kind, target.key());
  return isPod ? presentAs(kind, *before) : successStatus(detailsOf(kind.resource, target.name, uid));
}

Outcome<Json> Registry::removeAll(const Target& collection, const DeleteOptions& options,
                                  const Query& query) {
  MAINSTAY_ASSIGN(Json found, list(collection, query));
  for (const Json& item : found.as_object()["items"].as_array()) {
    Target target = collection;
    target.ns = findString(item, "metadata", "namespace");
    target.name = findString(item, "metadata", "name");
    MAINSTAY_TRY(remove(target, options));
  }
  return found;
}

}  // namespace mainstay::local
