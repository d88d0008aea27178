// Registry: what the verbs of the Kubernetes API do to stored objects: defaults, validation, optimistic
// locking, generation, managed fields, finalizers, graceful deletion. Not locked: its owner (ApiServer) lets
// one call in at a time.
#pragma once

#include <optional>
#include <random>
#include <string>

#include "kube/api.h"
#include "local/api/discovery.h"
#include "local/api/managed_fields.h"
#include "local/api/selectors.h"
#include "local/api/store.h"

namespace mainstay::local {

struct WriteOptions {
  std::string manager;  // field manager; "" = "unknown"
  bool dryRun = false;  // answer as if, store nothing
  bool strict =
      false;           // fieldValidation=Strict: unknown fields of custom kinds are refused instead of pruned
  bool force = false;  // of server-side apply: take what others own
};

struct DeleteOptions {
  std::optional<std::int64_t> graceSeconds;
  std::string uid;  // preconditions; "" = none
  std::string resourceVersion;
  std::string propagation = "Background";  // or Foreground, Orphan
  bool dryRun = false;
};
// Reads a DeleteOptions body (may be null) and the query parameters of the same names.
Outcome<DeleteOptions> parseDeleteOptions(const Json& body, const Query& query);

class Registry {
 public:
  // `seed`: UIDs and generated names follow from it, so that a simulation repeats.
  Registry(const Clock& clock, Store& store, KindTable& kinds, std::uint64_t seed);

  Outcome<Json> get(const Target& target) const;
  // limit, continue, resourceVersion, resourceVersionMatch, selectors.
  Outcome<Json> list(const Target& target, const Query& query) const;
  Outcome<Json> create(const Target& target, Json object, const WriteOptions& options);
  // PUT. Also of the status subresource, as patch.
  Outcome<Json> update(const Target& target, Json object, const WriteOptions& options);
  Outcome<Json> patch(const Target& target, kube::Body type, const Json& patch, const WriteOptions& options);
  // Server-side apply; creates what is not there.
  Outcome<Json> apply(const Target& target, Json wanted, const WriteOptions& options);
  // Answers with the object where it lives on for a while (grace, finalizers) and for pods; else a Status.
  Outcome<Json> remove(const Target& target, const DeleteOptions& options);
  Outcome<Json> removeAll(const Target& collection, const DeleteOptions& options, const Query& query);

  // A change by the server itself, past validation: binding, eviction, garbage collection. Removes the object
  // instead when it was only waiting for its last finalizer.
  Json rewrite(const Kind& kind, const std::string& key, Json after, const std::string& manager,
               const std::string& subresource = "");

  const Clock& clock() const { return clock_; }
  const Store& store() const { return store_; }
  const KindTable& kinds() const { return kinds_; }

 private:
  Outcome<> checkEnvelope(const Target& target, Json& object) const;
  Outcome<> checkNamespaceOpen(const Target& target) const;
  Outcome<std::string> nameFor(const Target& target, const Json& object);
  Outcome<ObjectPtr> existing(const Target& target) const;
  FieldWriter writerOf(const WriteOptions& options, const std::string& subresource) const;
  Outcome<Json> createBy(const FieldWriter& writer, const Target& target, Json object,
                         const WriteOptions& options);
  Outcome<Json> replaceBy(const FieldWriter& writer, const Target& target, const Json& before, Json after,
                          const WriteOptions& options);
  Outcome<> conform(const Target& target, const Json* before, Json& object, bool strict) const;
  Json markDeleted(const Kind& kind, const Json& before, std::int64_t grace,
                   const std::string& propagation) const;
  Json settle(const Kind& kind, const std::string& key, Json after);
  Json commit(const Kind& kind, const std::string& key, Json object);
  void erase(const Kind& kind, const std::string& key);
  std::string newUid();
  std::string randomSuffix();

  const Clock& clock_;
  Store& store_;
  KindTable& kinds_;
  std::mt19937_64 random_;
};

// 409 when the object is not the one that is meant; "" means any.
Outcome<> checkUid(const Target& target, const Json& object, const std::string& wanted);
// The object as this version of its kind shows it: stored once, served in every version.
Json presentAs(const Kind& kind, const Json& object);

}  // namespace mainstay::local
