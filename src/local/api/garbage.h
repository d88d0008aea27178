// Housekeeper: what happens behind the scenes of a cluster, as one loop: objects whose owners are gone are
// deleted, namespaces and definitions that are being deleted are emptied, disruption budgets are recounted,
// old events expire.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "base/loop.h"
#include "local/api/registry.h"

namespace mainstay::local {

class Housekeeper final : public Loop, private Store::Listener {
 public:
  // How long an event is kept after its last change (kube-apiserver's --event-ttl).
  static constexpr Duration kEventLife = std::chrono::hours(1);

  // `mutex` guards the rest, and is held by the caller of the constructor. All of it outlives the loop.
  Housekeeper(std::mutex& mutex, Store& store, Registry& registry);
  ~Housekeeper() override;

  std::string_view name() const override { return "housekeeper"; }
  TimePoint step(TimePoint now) override;

 private:
  struct Ref {
    std::string shelf;
    std::string key;
    auto operator<=>(const Ref&) const = default;
  };
  struct Expiry {
    TimePoint at;
    std::string key;
    std::string resourceVersion;  // a later change gives the event a new life
  };

  void changed(const std::string& shelf, const Change& change) override;
  void index(const Ref& ref, const Json& object);
  void unindex(const Ref& ref, const Json& object);
  void collectOrphan(const Ref& ref);
  void finishDeletion(const Ref& ref);
  void emptyNamespace(const Ref& ref, const Json& ns);
  void emptyDefinition(const Ref& ref, const Json& definition);
  void finishPropagation(const Ref& ref, const Json& object);
  void dropOwner(const Ref& dependent, const std::string& uid);
  void dropFinalizer(const Ref& ref, const Json& object, const std::string& finalizer);
  void recountBudgets(const std::string& ns);
  void expireEvents(TimePoint now);
  void remove(const Ref& ref);
  KindPtr kindOf(const std::string& shelf) const;
  ObjectPtr stored(const Ref& ref) const { return store_.find(ref.shelf, ref.key); }

  std::mutex& mutex_;
  Store& store_;
  Registry& registry_;
  // What is known and what is to be looked at; all guarded by mutex_.
  std::set<std::string> uids_;                       // of everything that exists
  std::map<std::string, std::set<Ref>> dependents_;  // by UID of an owner
  std::set<Ref> suspects_;                           // may have lost their owner
  std::set<Ref> deleting_;                           // wait for something to go before them
  std::set<std::string> uncounted_;                  // namespaces whose budgets may have changed
  std::deque<Expiry> expiries_;                      // oldest first
};

}  // namespace mainstay::local
