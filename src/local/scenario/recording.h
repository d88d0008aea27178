// Recording: every version of every object of a run, with the time it was written, and every call to the
// cloud. The World is what the cluster looked like at one moment of it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace mainstay::local {

using Version = std::shared_ptr<const Json>;

// Kinds of entries: plurals of Kubernetes ("nodes", "pods", ...) and these.
inline constexpr char kCloudKind[] = "cloud";        // one per call or deed of the cloud; never changes
inline constexpr char kScenarioKind[] = "scenario";  // one per action of the timeline

struct Entry {
  TimePoint at{};
  std::string kind;
  std::string key;      // "name", or "ns/name"
  Version before;       // null: new
  Version after;        // null: gone
  bool person = false;  // done by the scenario, not by a program
};

struct Recording {
  TimePoint zero{};           // the cluster had settled
  std::size_t zeroIndex = 0;  // of the first entry after that
  TimePoint end{};
  std::vector<Entry> entries;  // in the order in which they were written
};

// The newest version of everything. Holds pointers into the recording, which must outlive it.
class World {
 public:
  using Things = std::map<std::string, const Json*>;
  void apply(const Entry& entry);
  const Things& all(std::string_view kind) const;
  // nullptr when there is none.
  const Json* find(std::string_view kind, const std::string& key) const;

 private:
  std::map<std::string, Things, std::less<>> things_;
};

// YAML in flow style, as a person writes it: "{node: b, label: {x: y}}".
std::string flowText(const Json& value);

// "12.300 s" since time zero.
std::string sinceZero(const Recording& recording, TimePoint at);

}  // namespace mainstay::local
