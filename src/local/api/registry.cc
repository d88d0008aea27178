#include "local/api/registry.h"

#include "local/api/apply.h"
#include "local/api/crd.h"
#include "local/api/defaults.h"
#include "local/api/metadata.h"
#include "local/api/patch.h"
#include "local/api/validation.h"

namespace mainstay::local {
namespace {

constexpr int kNameTries = 8;                 // of a generated name that is taken, as the API server does
constexpr std::size_t kMaxGenerateName = 58;  // leaves room for the five random characters in a DNS label
constexpr std::string_view kNameAlphabet =
    "bcdfghjklmnpqrstvwxz2456789";  // k8s.io/apimachinery/pkg/util/rand

// What only the server writes stays as it was.
void keepServersMetadata(const Json& before, Json& after) {
  const Json* old = findMember(before, "metadata");
  for (const char* key : {"name", "namespace", "uid", "creationTimestamp", "generation", "deletionTimestamp",
                          "deletionGracePeriodSeconds", "generateName", "resourceVersion", "managedFields"}) {
    copyMember(metadataOf(after), old ? *old : Json(), key);
  }
  metadataOf(after).erase("selfLink");
}

Outcome<> checkApplied(const Json& wanted) {
  if (findString(wanted, "kind").empty() || findString(wanted, "apiVersion").empty()) {
    return refuse(badRequest("an applied object says its kind and apiVersion"));
  }
  if (find(wanted, "metadata", "managedFields")) {
    return refuse(badRequest("metadata.managedFields must be nil"));
  }
  return {};
}

std::string patchTypes(bool custom) {
  const std::string common =
      "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
  return custom ? common : common + ", application/strategic-merge-patch+json";
}

}  // namespace

Json presentAs(const Kind& kind, const Json& object) {
  Json shown = object;
  if (kind.custom) {
    shown.as_object()["apiVersion"] = kind.resource.apiVersion();
  }
  return shown;
}

Registry::Registry(const Clock& clock, Store& store, KindTable& kinds, std::uint64_t seed)
    : clock_(clock), store_(store), kinds_(kinds), random_(seed) {}

Outcome<ObjectPtr> Registry::existing(const Target& target) const {
  ObjectPtr object = store_.find(target.kind->shelf(), target.key());
  if (!object) {
    return refuse(notFound(target.kind->resource, target.name));
  }
  return object;
}

Outcome<Json> Registry::get(const Target& target) const {
  MAINSTAY_ASSIGN(const ObjectPtr object, existing(target));
  return presentAs(*target.kind, *object);
}

// --- Creating ---

Outcome<> Registry::checkEnvelope(const Target& target, Json& object) const {
  const api::Resource& resource = target.kind->resource;
  if (!object.is_object()) {
    return refuse(badRequest("the body is not an object"));
  }
  const std::string kind = findString(object, "kind");
  const std::string version = findString(object, "apiVersion");
  if (target.kind->custom && (kind.empty() || version.empty())) {
    return refuse(badRequest("Object 'Kind' or 'apiVersion' is missing: a custom object says what it is"));
  }
  if ((!kind.empty() && kind != resource.kind) || (!version.empty() && version != resource.apiVersion())) {
    return refuse(badRequest("the object is a " + version + " " + kind + ", and this path takes " +
                             resource.apiVersion() + " " + resource.kind));
  }
  object.get_object()["kind"] = resource.kind;
  object.get_object()["apiVersion"] = resource.apiVersion();
  JsonObject& metadata = metadataOf(object);
  const std::string ns = findString(object, "metadata", "namespace");
  if (!ns.empty() && ns != target.ns) {
    return refuse(
        badRequest("the namespace of the provided object does not match the namespace sent on the request"));
  }
  if (!target.ns.empty()) {
    metadata["namespace"] = target.ns;
  }
  // As Kubernetes' own types are written: without what is empty.
  for (const char* key : {"labels", "annotations", "finalizers", "ownerReferences"}) {
    const Json* value = metadata.if_contains(key);
    if (value && (*value == Json(JsonObject()) || *value == Json(JsonArray()) || value->is_null())) {
      metadata.erase(key);
    }
  }
  const std::string name = findString(object, "metadata", "name");
  if (!target.name.empty() && !name.empty() && name != target.name) {
    return refuse(badRequest("the name of the object (" + name + ") does not match the name on the URL (" +
                             target.name + ")"));
  }
  return {};
}

Outcome<> Registry::checkNamespaceOpen(const Target& target) const {
  if (target.ns.empty()) {
    return {};
  }
  const ObjectPtr ns = store_.find(kNamespaceShelf, target.ns);
  if (!ns) {
    return refuse(notFound(kinds_.find("", "v1", "namespaces")->resource, target.ns));
  }
  if (isDeleting(*ns)) {
    const std::string why =
        "unable to create new content in namespace " + target.ns + " because it is being terminated";
    Refusal refusal = forbidden(target.kind->resource, target.name, why);
    refusal.details["causes"] =
        JsonArray{JsonObject{{"reason", "NamespaceTerminating"},
                             {"message", "namespace " + target.ns + " is being terminated"},
                             {"field", "metadata.namespace"}}};
    return refuse(std::move(refusal));
  }
  return {};
}

Outcome<std::string> Registry::nameFor(const Target& target, const Json& object) {
  const std::string given = findString(object, "metadata", "name");
  const std::string prefix = findString(object, "metadata", "generateName").substr(0, kMaxGenerateName);
  const auto taken = [&](const std::string& name) {
    return store_.find(target.kind->shelf(), Target{target.kind, target.ns, name, ""}.key()) != nullptr;
  };
  std::string name = given;
  for (int i = 0; given.empty() && !prefix.empty() && (name.empty() || taken(name)) && i < kNameTries; ++i) {
    name = prefix + randomSuffix();
  }
  if (!name.empty() && taken(name)) {
    return refuse(alreadyExists(target.kind->resource, name));
  }
  return name;
}

Outcome<> Registry::conform(const Target& target, const Json* before, Json& object, bool strict) const {
  const Kind& kind = *target.kind;
  Causes causes;
  if (kind.custom) {
    MAINSTAY_TRY(conformToSchema(kind, strict, before, object, causes));
  }
  validateMetadata(kind, before, object, causes);
  if (target.subresource.empty()) {
    validateKind(kind, before, object, causes);
  }
  if (kind.shelf() == kCrdShelf) {
    validateDefinition(object, kinds_, causes);
  }
  if (!causes.empty()) {
    return refuse(invalid(kind.resource, findString(object, "metadata", "name"), causes));
  }
  return {};
}

FieldWriter Registry::writerOf(const WriteOptions& options, const std::string& subresource) const {
  return {options.manager, subresource, clock_.now()};
}

Outcome<Json> Registry::create(const Target& collection, Json object, const WriteOptions& options) {
  return createBy(writerOf(options, ""), collection, std::move(object), options);
}

Outcome<Json> Registry::createBy(const FieldWriter& writer, const Target& collection, Json object,
                                 const WriteOptions& options) {
  MAINSTAY_TRY(checkEnvelope(collection, object));
  MAINSTAY_TRY(checkNamespaceOpen(collection));
  Target target = collection;
  MAINSTAY_ASSIGN(target.name, nameFor(collection, object));
  for (const char* key : {"uid", "resourceVersion", "generation", "deletionTimestamp",
                          "deletionGracePeriodSeconds", "selfLink", "managedFields"}) {
    metadataOf(object).erase(key);
  }
  metadataOf(object)["name"] = target.name;
  applyCreateDefaults(*target.kind, object);
  MAINSTAY_TRY(conform(target, nullptr, object, options.strict));
  JsonObject& metadata = metadataOf(object);
  metadata["uid"] = newUid();
  metadata["creationTimestamp"] = formatTime(clock_.now());
  if (countsGenerations(*target.kind)) {
    metadata["generation"] = 1;
  }
  if (target.kind->shelf() == kCrdShelf) {
    acceptDefinition(object, clock_.now());
  }
  recordFieldWriter(*target.kind, Json(), object, writer);
  return options.dryRun ? object : commit(*target.kind, target.key(), std::move(object));
}

// --- Changing ---

Outcome<Json> Registry::update(const Target& target, Json object, const WriteOptions& options) {
  MAINSTAY_ASSIGN(const ObjectPtr before, existing(target));
  if (!mayBeReplacedBlindly(*target.kind) && findString(object, "metadata", "resourceVersion").empty()) {
    return refuse(invalid(target.kind->resource, target.name,
                          {invalidValue("metadata.resourceVersion", 0, "must be specified for an update")}));
  }
  MAINSTAY_TRY(checkUid(target, *before, findString(object, "metadata", "uid")));
  return replaceBy(writerOf(options, target.subresource), target, *before, std::move(object), options);
}

Outcome<Json> Registry::patch(const Target& target, kube::Body type, const Json& patch,
                              const WriteOptions& options) {
  MAINSTAY_ASSIGN(const ObjectPtr before, existing(target));
  Json after = presentAs(*target.kind, *before);
  if (type == kube::Body::kMergePatch && patch.is_object()) {
    mergePatch(after, patch);
  } else if (type == kube::Body::kMergePatch) {
    return refuse(badRequest("a merge patch is an object"));
  } else if (type == kube::Body::kJsonPatch) {
    MAINSTAY_TRY(applyJsonPatch(after, patch));
  } else if (type == kube::Body::kStrategicMergePatch && !target.kind->custom) {
    MAINSTAY_TRY(applyStrategicMerge(after, patch));
  } else {
    return refuse(unsupportedMediaType(patchTypes(target.kind->custom)));
  }
  const std::string uid = findString(after, "metadata", "uid");
  if (!uid.empty() && uid != findString(*before, "metadata", "uid")) {
    return refuse(invalid(target.kind->resource, target.name,
                          {invalidText("metadata.uid", uid, "field is immutable")}));
  }
  return replaceBy(writerOf(options, target.subresource), target, *before, std::move(after), options);
}

Outcome<Json> Registry::apply(const Target& target, Json wanted, const WriteOptions& options) {
  const Kind& kind = *target.kind;
  MAINSTAY_TRY(checkApplied(wanted));
  MAINSTAY_TRY(checkEnvelope(target, wanted));
  restrictWanted(kind, target.subresource, wanted);
  FieldWriter writer = writerOf(options, target.subresource);
  writer.applied = fieldsOf(wanted, Ownership::of(kind));
  const ObjectPtr before = store_.find(kind.shelf(), target.key());
  if (!before && !target.subresource.empty()) {
    return refuse(notFound(kind.resource, target.name));
  }
  if (!before && findString(wanted, "metadata", "name") != target.name) {
    return refuse(badRequest("the name of the object (" + target.name +
                             " based on URL) was undeterminable: name must be provided"));
  }
  if (!before) {
    return createBy(writer, target, std::move(wanted), options);
  }
  MAINSTAY_TRY(checkUid(target, *before, findString(wanted, "metadata", "uid")));
  MAINSTAY_ASSIGN(Json after, applyWanted(kind, presentAs(kind, *before), wanted, writer, options.force));
  if (const Json* guard = find(wanted, "metadata", "resourceVersion")) {
    metadataOf(after)["resourceVersion"] = *guard;
  }
  return replaceBy(writer, target, *before, std::move(after), options);
}

Outcome<Json> Registry::replaceBy(const FieldWriter& writer, const Target& target, const Json& before,
                                  Json after, const WriteOptions& options) {
  const Kind& kind = *target.kind;
  MAINSTAY_TRY(checkEnvelope(target, after));
  const std::string version = findString(after, "metadata", "resourceVersion");
  if (!version.empty() && version != findString(before, "metadata", "resourceVersion")) {
    return refuse(modifiedMeanwhile(kind.resource, target.name));
  }
  keepServersMetadata(before, after);
  restrictToScope(kind, target.subresource, before, after);
  MAINSTAY_TRY(conform(target, &before, after, options.strict));
  if (countsGenerations(kind) && isNewGeneration(kind, before, after)) {
    metadataOf(after)["generation"] = integerAt(before, "metadata", "generation").value_or(0) + 1;
  }
  recordFieldWriter(kind, before, after, writer);
  if (sameContent(before, after)) {
    return presentAs(kind, before);
  }
  return options.dryRun ? after : settle(kind, target.key(), std::move(after));
}

Json Registry::rewrite(const Kind& kind, const std::string& key, Json after, const std::string& manager,
                       const std::string& subresource) {
  if (const ObjectPtr before = store_.find(kind.shelf(), key)) {
    recordFieldWriter(kind, *before, after, {manager, subresource, clock_.now()});
  }
  return settle(kind, key, std::move(after));
}

Json Registry::settle(const Kind& kind, const std::string& key, Json after) {
  if (isDeleting(after) && !hasFinalizers(after) && graceOf(after) == 0) {
    // The last finalizer has gone: what was written is the object's last state.
    Json last = commit(kind, key, std::move(after));
    erase(kind, key);
    return last;
  }
  return commit(kind, key, std::move(after));
}

// --- Storing ---

Json Registry::commit(const Kind& kind, const std::string& key, Json object) {
  if (kind.custom) {
    // One stored form for all versions.
    object.as_object()["apiVersion"] = kind.resource.apiVersion();
  }
  const ObjectPtr stored = store_.put(kind.shelf(), key, std::move(object));
  if (kind.shelf() == kCrdShelf) {
    kinds_.setCustom(key, kindsOf(*stored));
  }
  return *stored;
}

void Registry::erase(const Kind& kind, const std::string& key) {
  store_.erase(kind.shelf(), key);
  if (kind.shelf() == kCrdShelf) {
    kinds_.setCustom(key, {});
  }
}

std::string Registry::newUid() {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string uid = "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx";  // RFC 4122, version 4
  for (char& c : uid) {
    const std::uint64_t nibble = random_() & 15u;
    c = c == 'x' ? kHex[nibble] : c == 'y' ? kHex[8u | (nibble & 3u)] : c;
  }
  return uid;
}

std::string Registry::randomSuffix() {
  std::string suffix;
  for (int i = 0; i < 5; ++i) {
    suffix += kNameAlphabet[random_() % kNameAlphabet.size()];
  }
  return suffix;
}

}  // namespace mainstay::local
