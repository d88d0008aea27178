#include "local/api/garbage.h"

#include <algorithm>

#include "local/api/crd.h"
#include "local/api/eviction.h"
#include "local/api/metadata.h"

namespace mainstay::local {
namespace {

constexpr char kCollectorManager[] = "kube-controller-manager";
constexpr char kForeground[] = "foregroundDeletion";
constexpr char kOrphan[] = "orphan";

std::vector<std::string> ownerUids(const Json& object) {
  std::vector<std::string> uids;
  for (const Json& owner : arrayAt(object, "metadata", "ownerReferences")) {
    uids.push_back(findString(owner, "uid"));
  }
  return uids;
}

// An empty list is not written at all.
void setOrErase(JsonObject& object, std::string_view key, JsonArray list) {
  if (list.empty()) {
    object.erase(key);
  } else {
    object[key] = std::move(list);
  }
}

// Is it being deleted, and does it wait for what this loop does?
bool waitsForUs(const std::string& shelf, const Json& object) {
  return isDeleting(object) && (shelf == kNamespaceShelf || shelf == kCrdShelf ||
                                hasFinalizer(object, kForeground) || hasFinalizer(object, kOrphan));
}

}  // namespace

Housekeeper::Housekeeper(std::mutex& mutex, Store& store, Registry& registry)
    : mutex_(mutex), store_(store), registry_(registry) {
  for (const KindPtr& kind : registry_.kinds().oneOfEachShelf()) {
    for (const auto& [key, object] : store_.all(kind->shelf())) {
      changed(kind->shelf(), {store_.revision(), key, nullptr, object});
    }
  }
  store_.listen(Store::kEverything, *this);
}

Housekeeper::~Housekeeper() {
  std::lock_guard lock(mutex_);
  store_.unlisten(Store::kEverything, *this);
}

// --- Noticing ---

void Housekeeper::changed(const std::string& shelf, const Change& change) {
  const Ref ref{shelf, change.key};
  if (change.before) {
    unindex(ref, *change.before);
  }
  if (change.after) {
    index(ref, *change.after);
  } else if (const auto at = dependents_.find(findString(*change.before, "metadata", "uid"));
             at != dependents_.end()) {
    suspects_.insert(at->second.begin(), at->second.end());
  }
  if (shelf == kPodShelf || shelf == kBudgetShelf) {
    uncounted_.insert(findString(change.after ? *change.after : *change.before, "metadata", "namespace"));
  }
  if (!suspects_.empty() || !deleting_.empty() || !uncounted_.empty()) {
    signal().notify();
  }
}

void Housekeeper::index(const Ref& ref, const Json& object) {
  uids_.insert(findString(object, "metadata", "uid"));
  for (const std::string& owner : ownerUids(object)) {
    dependents_[owner].insert(ref);
    if (!uids_.contains(owner)) {
      suspects_.insert(ref);
    }
  }
  if (waitsForUs(ref.shelf, object)) {
    deleting_.insert(ref);
  }
  if (ref.shelf == "events") {
    if (expiries_.empty()) {
      signal().notify();  // there is a time to wake up at now
    }
    expiries_.push_back(
        {registry_.clock().now() + kEventLife, ref.key, findString(object, "metadata", "resourceVersion")});
  }
}

void Housekeeper::unindex(const Ref& ref, const Json& object) {
  uids_.erase(findString(object, "metadata", "uid"));
  for (const std::string& owner : ownerUids(object)) {
    if (const auto at = dependents_.find(owner); at != dependents_.end()) {
      at->second.erase(ref);
      if (at->second.empty()) {
        dependents_.erase(at);
      }
    }
  }
  deleting_.erase(ref);
}

// --- Acting ---

TimePoint Housekeeper::step(TimePoint now) {
  std::lock_guard lock(mutex_);
  // What we do here is noticed too: it fills the sets anew, and we come again.
  for (const Ref& ref : std::exchange(suspects_, {})) {
    collectOrphan(ref);
  }
  const std::set<Ref> deleting = deleting_;
  for (const Ref& ref : deleting) {
    finishDeletion(ref);
  }
  for (const std::string& ns : std::exchange(uncounted_, {})) {
    recountBudgets(ns);
  }
  expireEvents(now);
  return expiries_.empty() ? kNever : expiries_.front().at;
}

KindPtr Housekeeper::kindOf(const std::string& shelf) const {
  for (const KindPtr& kind : registry_.kinds().oneOfEachShelf()) {
    if (kind->shelf() == shelf) {
      return kind;
    }
  }
  return nullptr;
}

void Housekeeper::remove(const Ref& ref) {
  const ObjectPtr object = stored(ref);
  const KindPtr kind = kindOf(ref.shelf);
  if (object && kind && !isDeleting(*object)) {
    const Target target{kind, findString(*object, "metadata", "namespace"),
                        findString(*object, "metadata", "name"), ""};
    static_cast<void>(registry_.remove(target, {}));  // it exists, and nothing else can be refused
  }
}

// With no owner left it goes; with some left it forgets those that are gone.
void Housekeeper::collectOrphan(const Ref& ref) {
  const ObjectPtr object = stored(ref);
  if (!object) {
    return;
  }
  const std::vector<std::string> owners = ownerUids(*object);
  const auto exists = [&](const std::string& uid) { return uids_.contains(uid); };
  if (owners.empty() || std::all_of(owners.begin(), owners.end(), exists)) {
    return;
  }
  if (std::none_of(owners.begin(), owners.end(), exists)) {
    remove(ref);
    return;
  }
  for (const std::string& uid : owners) {
    if (!exists(uid)) {
      dropOwner(ref, uid);
    }
  }
}

void Housekeeper::dropOwner(const Ref& dependent, const std::string& uid) {
  const ObjectPtr object = stored(dependent);
  const KindPtr kind = kindOf(dependent.shelf);
  if (!object || !kind) {
    return;
  }
  JsonArray kept;
  for (const Json& owner : arrayAt(*object, "metadata", "ownerReferences")) {
    if (findString(owner, "uid") != uid) {
      kept.push_back(owner);
    }
  }
  Json after = *object;
  setOrErase(metadataOf(after), "ownerReferences", std::move(kept));
  registry_.rewrite(*kind, dependent.key, std::move(after), kCollectorManager);
}

void Housekeeper::finishDeletion(const Ref& ref) {
  const ObjectPtr object = stored(ref);
  if (!object) {
    return;
  }
  if (ref.shelf == kNamespaceShelf) {
    emptyNamespace(ref, *object);
  } else if (ref.shelf == kCrdShelf) {
    emptyDefinition(ref, *object);
  } else {
    finishPropagation(ref, *object);
  }
}

void Housekeeper::emptyNamespace(const Ref& ref, const Json& ns) {
  bool empty = true;
  for (const KindPtr& kind : registry_.kinds().oneOfEachShelf()) {
    if (!kind->resource.namespaced) {
      continue;
    }
    const Objects& all = store_.all(kind->shelf());
    const auto [begin, end] = inNamespace(all, ref.key);
    const Objects inside(begin, end);
    for (const auto& [key, object] : inside) {
      remove({kind->shelf(), key});
      empty = empty && !stored({kind->shelf(), key});
    }
  }
  if (empty && !arrayAt(ns, "spec", "finalizers").empty()) {
    Json after = ns;
    after.as_object()["spec"].as_object()["finalizers"] = JsonArray();
    registry_.rewrite(*kindOf(ref.shelf), ref.key, std::move(after), kCollectorManager);
  }
}

void Housekeeper::emptyDefinition(const Ref& ref, const Json& definition) {
  const std::string shelf = ref.key;  // a definition is named as its objects' shelf: "plural.group"
  const Objects inside = store_.all(shelf);
  for (const auto& [key, object] : inside) {
    remove({shelf, key});
  }
  if (store_.all(shelf).empty()) {
    dropFinalizer(ref, definition, kCrdFinalizer);
  }
}

// Foreground: the dependents go first. Orphan: they stay, and forget their owner.
void Housekeeper::finishPropagation(const Ref& ref, const Json& object) {
  const std::string uid = findString(object, "metadata", "uid");
  const auto found = dependents_.find(uid);
  const std::set<Ref> dependents = found == dependents_.end() ? std::set<Ref>() : found->second;
  const bool orphan = hasFinalizer(object, kOrphan);
  for (const Ref& dependent : dependents) {
    if (orphan) {
      dropOwner(dependent, uid);
    } else {
      remove(dependent);
    }
  }
  if (!dependents_.contains(uid)) {
    dropFinalizer(ref, object, orphan ? kOrphan : kForeground);
  }
}

void Housekeeper::dropFinalizer(const Ref& ref, const Json& object, const std::string& finalizer) {
  if (!hasFinalizer(object, finalizer)) {
    return;
  }
  JsonArray kept;
  for (const Json& present : arrayAt(object, "metadata", "finalizers")) {
    if (present != Json(finalizer)) {
      kept.push_back(present);
    }
  }
  Json after = object;
  setOrErase(metadataOf(after), "finalizers", std::move(kept));
  registry_.rewrite(*kindOf(ref.shelf), ref.key, std::move(after), kCollectorManager);
}

void Housekeeper::recountBudgets(const std::string& ns) {
  const auto [begin, end] = inNamespace(store_.all(kBudgetShelf), ns);
  const Objects budgets(begin, end);
  for (const auto& [key, budget] : budgets) {
    refreshBudget(registry_, *budget);
  }
}

void Housekeeper::expireEvents(TimePoint now) {
  while (!expiries_.empty() && expiries_.front().at <= now) {
    const Expiry expiry = std::move(expiries_.front());
    expiries_.pop_front();
    const ObjectPtr event = store_.find("events", expiry.key);
    if (event && findString(*event, "metadata", "resourceVersion") == expiry.resourceVersion) {
      store_.erase("events", expiry.key);
    }
  }
}

}  // namespace mainstay::local
