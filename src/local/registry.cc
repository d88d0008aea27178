#include "local/registry.h"

#include <algorithm>
#include <charconv>

#include "local/crd.h"
#include "local/defaults.h"
#include "local/managed_fields.h"
#include "local/patch.h"
#include "local/validation.h"

namespace mainstay::local {
namespace {

constexpr int kNameTries = 8;                 // of a generated name that is taken, as the API server does
constexpr std::size_t kMaxGenerateName = 58;  // leaves room for the five random characters in a DNS label
constexpr std::string_view kNameAlphabet =
    "bcdfghjklmnpqrstvwxz2456789";  // k8s.io/apimachinery/pkg/util/rand

std::optional<std::uint64_t> parseRevision(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// Where a page begins: an opaque text to clients, "revision:last key" to us.
struct ContinueToken {
  std::uint64_t revision = 0;
  std::string lastKey;

  std::string toString() const { return std::to_string(revision) + ":" + lastKey; }
  static std::optional<ContinueToken> parse(const std::string& text) {
    const std::size_t colon = text.find(':');
    const auto revision = parseRevision(text.substr(0, colon));
    if (colon == std::string::npos || !revision) {
      return std::nullopt;
    }
    return ContinueToken{*revision, text.substr(colon + 1)};
  }
};

struct ListOptions {
  std::size_t limit = 0;  // 0 = all
  std::optional<ContinueToken> from;
  std::optional<std::uint64_t> exactRevision;
};

Outcome<ListOptions> parseListOptions(const Query& query, std::uint64_t current) {
  ListOptions options;
  if (const std::string limit = queryValue(query, "limit"); !limit.empty()) {
    const auto value = parseRevision(limit);
    if (!value) {
      return refuse(badRequest("limit: \"" + limit + "\" is not a number"));
    }
    options.limit = static_cast<std::size_t>(*value);
  }
  if (const std::string token = queryValue(query, "continue"); !token.empty()) {
    options.from = ContinueToken::parse(token);
    if (!options.from) {
      return refuse(badRequest("continue key is not valid"));
    }
    return options;
  }
  const std::string text = queryValue(query, "resourceVersion");
  const auto revision = text.empty() ? std::optional<std::uint64_t>(0) : parseRevision(text);
  if (!revision) {
    return refuse(badRequest("resourceVersion: Invalid value: \"" + text + "\""));
  }
  if (*revision > current) {
    return refuse({504,
                   "Timeout",
                   "Too large resource version: " + text + ", current: " + std::to_string(current),
                   {},
                   std::nullopt});
  }
  if (queryValue(query, "resourceVersionMatch") == "Exact") {
    options.exactRevision = *revision;
  }
  return options;
}

Json listDocument(const Kind& kind, JsonArray items, JsonObject metadata) {
  return JsonObject{{"kind", kind.resource.kind + "List"},
                    {"apiVersion", kind.resource.apiVersion()},
                    {"metadata", std::move(metadata)},
                    {"items", std::move(items)}};
}

bool beingDeleted(const Json& object) {
  return !findString(object, "metadata", "deletionTimestamp").empty();
}

// A namespace has some in its spec too: it waits for its content to go.
bool hasFinalizers(const Json& object) {
  const auto filled = [](const Json* list) { return list && list->is_array() && !list->get_array().empty(); };
  return filled(find(object, "metadata", "finalizers")) ||
         (findString(object, "kind") == "Namespace" && filled(find(object, "spec", "finalizers")));
}

std::int64_t graceOf(const Json& object) {
  const Json* grace = find(object, "metadata", "deletionGracePeriodSeconds");
  return grace && grace->is_int64() ? grace->get_int64() : 0;
}

// Equal but for who wrote which field when: such a write changes nothing.
bool sameContent(const Json& before, const Json& after) {
  Json left = before;
  Json right = after;
  metadataOf(left).erase("managedFields");
  metadataOf(right).erase("managedFields");
  metadataOf(right)["resourceVersion"] = metadataOf(left)["resourceVersion"];
  return left == right;
}

// What only the server writes stays as it was.
void keepServersMetadata(const Json& before, Json& after) {
  const Json* old = findMember(before, "metadata");
  for (const char* key : {"name", "namespace", "uid", "creationTimestamp", "generation", "deletionTimestamp",
                          "deletionGracePeriodSeconds", "generateName", "resourceVersion", "managedFields"}) {
    copyMember(metadataOf(after), old ? *old : Json(), key);
  }
  metadataOf(after).erase("selfLink");
}

void addFinalizer(Json& object, const std::string& finalizer) {
  Json& slot = metadataOf(object)["finalizers"];
  if (!slot.is_array()) {
    slot = JsonArray();
  }
  JsonArray& finalizers = slot.get_array();
  if (std::find(finalizers.begin(), finalizers.end(), Json(finalizer)) == finalizers.end()) {
    finalizers.emplace_back(finalizer);
  }
}

// How long a pod may take to stop: nobody is asked to wait for one that never ran or has ended.
std::int64_t podGrace(const Json& pod, const std::optional<std::int64_t>& wanted) {
  const std::string phase = findString(pod, "status", "phase");
  if (findString(pod, "spec", "nodeName").empty() || phase == "Succeeded" || phase == "Failed") {
    return 0;
  }
  const Json* own = find(pod, "spec", "terminationGracePeriodSeconds");
  const std::int64_t grace = wanted ? *wanted : own && own->is_int64() ? own->get_int64() : 0;
  return std::max<std::int64_t>(grace, 0);
}

Outcome<> checkPreconditions(const Target& target, const Json& object, const DeleteOptions& options) {
  const std::string uid = findString(object, "metadata", "uid");
  const std::string version = findString(object, "metadata", "resourceVersion");
  if (!options.uid.empty() && options.uid != uid) {
    return refuse(conflict(
        target.kind->resource, target.name,
        "Precondition failed: UID in precondition: " + options.uid + ", UID in object meta: " + uid));
  }
  if (!options.resourceVersion.empty() && options.resourceVersion != version) {
    return refuse(conflict(target.kind->resource, target.name,
                           "Precondition failed: ResourceVersion in precondition: " +
                               options.resourceVersion + ", ResourceVersion in object meta: " + version));
  }
  return {};
}

}  // namespace

Json presentAs(const Kind& kind, const Json& object) {
  Json shown = object;
  if (kind.custom) {
    shown.as_object()["apiVersion"] = kind.resource.apiVersion();
  }
  return shown;
}

Outcome<DeleteOptions> parseDeleteOptions(const Json& body, const Query& query) {
  DeleteOptions options;
  const Json* grace = findMember(body, "gracePeriodSeconds");
  if (grace && grace->is_int64()) {
    options.graceSeconds = grace->get_int64();
  } else if (const std::string text = queryValue(query, "gracePeriodSeconds"); !text.empty()) {
    const auto seconds = parseRevision(text);
    if (!seconds) {
      return refuse(badRequest("gracePeriodSeconds: \"" + text + "\" is not a number"));
    }
    options.graceSeconds = static_cast<std::int64_t>(*seconds);
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

Registry::Registry(const Clock& clock, Store& store, KindTable& kinds, std::uint64_t seed)
    : clock_(clock), store_(store), kinds_(kinds), random_(seed) {}

// --- Reading ---

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

Outcome<Json> Registry::list(const Target& target, const Query& query) const {
  const std::string shelf = target.kind->shelf();
  MAINSTAY_ASSIGN(const Filter filter, parseFilter(target.kind->resource, query));
  MAINSTAY_ASSIGN(const ListOptions options, parseListOptions(query, store_.revision()));
  // All pages show the world as it stood when the first one was read.
  std::uint64_t revision = store_.revision();
  std::optional<Objects> past;
  if (options.from || options.exactRevision) {
    revision = options.from ? options.from->revision : *options.exactRevision;
    MAINSTAY_ASSIGN(past, store_.at(shelf, revision));
  }
  const Objects& objects = past ? *past : store_.all(shelf);
  auto [at, end] = inNamespace(objects, target.ns);
  if (options.from) {
    at = objects.upper_bound(options.from->lastKey);
  }

  JsonArray items;
  JsonObject metadata{{"resourceVersion", std::to_string(revision)}};
  std::string lastKey;
  for (; at != end && (options.limit == 0 || items.size() < options.limit); ++at) {
    if (filter.matches(*at->second)) {
      items.push_back(presentAs(*target.kind, *at->second));
    }
    lastKey = at->first;
  }
  if (at != end) {
    metadata["continue"] = ContinueToken{revision, lastKey}.toString();
    if (filter.everything()) {
      metadata["remainingItemCount"] = std::distance(at, end);
    }
  }
  return listDocument(*target.kind, std::move(items), std::move(metadata));
}

// --- Creating ---

Outcome<> Registry::checkEnvelope(const Target& target, Json& object) const {
  const api::Resource& resource = target.kind->resource;
  if (!object.is_object()) {
    return refuse(badRequest("the body is not an object"));
  }
  const std::string kind = findString(object, "kind");
  const std::string version = findString(object, "apiVersion");
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
  if (beingDeleted(*ns)) {
    return refuse(forbidden(
        target.kind->resource, target.name,
        "unable to create new content in namespace " + target.ns + " because it is being terminated"));
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
  validateMetadata(kind, object, causes);
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

Outcome<Json> Registry::create(const Target& collection, Json object, const WriteOptions& options) {
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
  recordFieldWriter(Json(), object, {options.manager, "", clock_.now()});
  return options.dryRun ? object : commit(*target.kind, target.key(), std::move(object));
}

// --- Changing ---

Outcome<Json> Registry::update(const Target& target, Json object, const WriteOptions& options) {
  MAINSTAY_ASSIGN(const ObjectPtr before, existing(target));
  if (target.kind->custom && findString(object, "metadata", "resourceVersion").empty()) {
    return refuse(invalid(target.kind->resource, target.name,
                          {invalidValue("metadata.resourceVersion", 0, "must be specified for an update")}));
  }
  return replace(target, *before, std::move(object), options);
}

Outcome<Json> Registry::patch(const Target& target, kube::Body type, const Json& patch,
                              const WriteOptions& options) {
  MAINSTAY_ASSIGN(const ObjectPtr before, existing(target));
  Json after = presentAs(*target.kind, *before);
  if (type == kube::Body::kMergePatch) {
    mergePatch(after, patch);
  } else if (type == kube::Body::kJsonPatch) {
    MAINSTAY_TRY(applyJsonPatch(after, patch));
  } else if (type == kube::Body::kStrategicMergePatch && !target.kind->custom) {
    MAINSTAY_TRY(applyStrategicMerge(after, patch));
  } else {
    return refuse(unsupportedMediaType(target.kind->custom
                                           ? "application/json-patch+json, application/merge-patch+json"
                                           : "application/json-patch+json, application/merge-patch+json, "
                                             "application/strategic-merge-patch+json"));
  }
  return replace(target, *before, std::move(after), options);
}

Outcome<Json> Registry::replace(const Target& target, const Json& before, Json after,
                                const WriteOptions& options) {
  const Kind& kind = *target.kind;
  MAINSTAY_TRY(checkEnvelope(target, after));
  const std::string version = findString(after, "metadata", "resourceVersion");
  if (!version.empty() && version != findString(before, "metadata", "resourceVersion")) {
    return refuse(modifiedMeanwhile(kind.resource, target.name));
  }
  DeleteOptions sameObject;
  sameObject.uid = findString(after, "metadata", "uid");
  MAINSTAY_TRY(checkPreconditions(target, before, sameObject));
  keepServersMetadata(before, after);
  restrictToScope(kind, target.subresource, before, after);
  MAINSTAY_TRY(conform(target, &before, after, options.strict));
  if (sameContent(before, after)) {
    return presentAs(kind, before);
  }
  if (countsGenerations(kind) && isNewGeneration(kind, before, after)) {
    const Json* generation = find(before, "metadata", "generation");
    metadataOf(after)["generation"] =
        (generation && generation->is_int64() ? generation->get_int64() : 0) + 1;
  }
  return options.dryRun ? after
                        : rewrite(kind, target.key(), std::move(after), options.manager, target.subresource);
}

Json Registry::rewrite(const Kind& kind, const std::string& key, Json after, const std::string& manager,
                       const std::string& subresource) {
  if (const ObjectPtr before = store_.find(kind.shelf(), key)) {
    recordFieldWriter(*before, after, {manager, subresource, clock_.now()});
  }
  if (beingDeleted(after) && !hasFinalizers(after) && graceOf(after) == 0) {
    // The last finalizer has gone: what was written is the object's last state.
    Json last = commit(kind, key, std::move(after));
    erase(kind, key);
    return last;
  }
  return commit(kind, key, std::move(after));
}

// --- Deleting ---

Json Registry::markDeleted(const Kind& kind, const Json& before, std::int64_t grace,
                           const std::string& propagation) const {
  Json after = before;
  if (propagation != "Background") {
    addFinalizer(after, propagation == "Orphan" ? "orphan" : "foregroundDeletion");
  }
  JsonObject& metadata = metadataOf(after);
  const bool sooner = !beingDeleted(before) || grace < graceOf(before);
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
