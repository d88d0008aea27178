// Store: the objects of the local cluster, with one revision that grows by every write and a bounded history
// of changes. Not locked: its owner (ApiServer) lets one call in at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "local/api/refusal.h"

namespace mainstay::local {

// Stored objects are immutable; a write replaces them.
using ObjectPtr = std::shared_ptr<const Json>;
// By "name", or "ns/name": the order in which lists are paged.
using Objects = std::map<std::string, ObjectPtr>;

struct Change {
  std::uint64_t revision = 0;
  std::string key;
  ObjectPtr before;  // null: the object is new
  ObjectPtr after;   // null: the object is gone
};

class Store {
 public:
  // Told of each change, within the write. Must not write or (un)listen itself.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void changed(const std::string& shelf, const Change& change) = 0;
    // There may be something else to look at than a change.
    virtual void wake() {}
  };

  // `history`: changes kept per shelf; a reader that is further behind must list again.
  explicit Store(std::size_t history) : limit_(history) {}

  // Of the last write, in the whole store. A new store begins at 1: "0" means something else to clients.
  std::uint64_t revision() const { return revision_; }

  // A shelf holds one kind: "nodes", "pytorchjobs.kubeflow.org".
  ObjectPtr find(const std::string& shelf, const std::string& key) const;
  const Objects& all(const std::string& shelf) const;
  // The shelf as it stood at `revision`, by undoing later changes; 410 when they are no longer all known.
  Outcome<Objects> at(const std::string& shelf, std::uint64_t revision) const;
  // Changes after `revision`, oldest first; 410 as above.
  Outcome<std::vector<Change>> since(const std::string& shelf, std::uint64_t revision) const;

  // Adds or replaces; writes metadata.resourceVersion and returns what is now stored.
  ObjectPtr put(const std::string& shelf, const std::string& key, Json object);
  void erase(const std::string& shelf, const std::string& key);
  // Forgets the whole history, as etcd's compaction does every five minutes.
  void compact();

  // To one shelf, or to all of them (kEverything). Listeners are not owned.
  static constexpr char kEverything[] = "";
  void listen(const std::string& shelf, Listener& listener) { listeners_[shelf].insert(&listener); }
  void unlisten(const std::string& shelf, Listener& listener) { listeners_[shelf].erase(&listener); }
  void wakeListeners() const;

 private:
  struct Shelf {
    Objects objects;
    std::deque<Change> history;
    std::uint64_t compacted = 0;  // changes up to and including this revision are forgotten
  };
  const Shelf* shelfOf(const std::string& name) const;
  Outcome<> checkReadable(const Shelf& shelf, std::uint64_t revision) const;
  void record(const std::string& name, Shelf& shelf, Change change);

  const std::size_t limit_;
  std::uint64_t revision_ = 1;
  std::map<std::string, Shelf> shelves_;
  std::map<std::string, std::set<Listener*>> listeners_;  // by shelf
};

// The part of `objects` in one namespace; all of them when `ns` is "".
std::pair<Objects::const_iterator, Objects::const_iterator> inNamespace(const Objects& objects,
                                                                        const std::string& ns);

}  // namespace mainstay::local
