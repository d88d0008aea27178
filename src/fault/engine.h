// The engine of rule packs: records and time in, what they say about the node's devices out. Pure, and the same for the
// agent and for `mainstay explain`.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fault/pack.h"
#include "fault/record.h"
#include "fault/witness.h"

namespace mainstay::fault {

// What has been seen of one fault of one device.
struct Sighting {
  std::string rule;    // whose pattern it was: "nvidia/xid"
  std::string id;      // "nvidia/xid/79"
  std::string device;  // "0000:5e:00.0"; "" = the node
  std::string code;    // "79"; "" = its rule has no codes
  std::string name;    // what it is, for people
  EffectPtr effect;
  // From the effect, unless a later line revised it.
  std::string condition;
  std::string reason;
  RepairAction action = RepairAction::kNone;
  std::map<std::string, std::set<std::string>> collected;  // by capture, at most kMaxCollected values each
  TimePoint first{};
  TimePoint last{};
  std::uint64_t count = 1;
  std::uint64_t seq = 0;  // of the first record
  std::string line;       // of the first occurrence, as the kernel wrote it
  std::string lastLine;

  static constexpr std::size_t kMaxCollected = 32;
};

// One step of a fault's story.
struct Outcome {
  enum class Kind {
    kRaised,          // seen for the first time
    kRepeated,        // seen again
    kRevised,         // a later line changed what it means
    kFolded,          // a part of another finding: `other`
    kHeld,            // waits for what may cancel or explain it
    kCancelled,       // ended before it counted, by `other`
    kResolved,        // ended by `other`
    kUntrusted,       // looks like this fault, but user space wrote the line
    kDoubted,         // told, and marks nothing unless a witness bears it out: `other` is why
    kUncorroborated,  // nobody has borne it out in time: `other` is why
  };
  Kind kind = Kind::kRaised;
  Sighting sighting;
  bool event = false;  // an Event is due
  std::string other;   // "nvidia/xid/162"
};
// raised repeated revised folded held cancelled resolved untrusted doubted uncorroborated
std::string_view outcomeName(Outcome::Kind kind);

// How long a fault may wait for its witness. The driver counts an error before the runtime hears of it and prints its
// line; this leaves a driver that is busy with the error many times what its counters take to be read.
inline constexpr Duration kCorroborateWithin = std::chrono::seconds(30);

// Used by one thread. Bounded: of the faults seen it remembers the kMaxRemembered that came last.
class Engine {
 public:
  // Without a witness nothing is borne out, and nothing contradicted.
  explicit Engine(std::vector<Pack> packs, Witness witness = {});

  // Takes the next record of the log; `record.time` does not go back by much.
  std::vector<Outcome> take(const Record& record);
  // What has waited until `now`, and what the witness says meanwhile. After each take(): a doubt's time begins here.
  std::vector<Outcome> step(TimePoint now);
  // When step has something to do; kNever = nothing waits.
  TimePoint nextWake() const;
  // Begins anew, as if nothing had been seen.
  void forget();

  const std::vector<Pack>& packs() const { return packs_; }

  static constexpr std::size_t kMaxRemembered = 1024;

 private:
  struct PatternPlace {
    const PackRule* rule;
    std::size_t part;  // of a joined message
  };
  // A joined message that has begun.
  struct Begun {
    std::size_t next = 1;  // the part that it waits for
    Captures captures;
    std::string line;
    TimePoint since{};
    std::uint64_t record = 0;  // by our own count
  };
  // A witness is being asked.
  struct Doubt {
    std::optional<TimePoint> until;
    Testimony testimony;
  };
  struct Remembered {
    Sighting sighting;
    std::optional<Doubt> doubt;
    bool believed = false;                 // it was borne out
    std::optional<TimePoint> lastUnborne;  // when it was told that nobody did
    bool held = false;
    TimePoint due{};  // while it is held
    std::optional<TimePoint> lastEvent;
    // Of effects with a repeat: when, and which value of its `distinct`; at most its count.
    std::map<std::string, std::deque<std::pair<TimePoint, std::string>>> occurrences;
  };
  using Key = std::pair<std::string, std::string>;  // id, device

  void takeMatch(PatternSet::Match match, std::string_view text, const Record& record,
                 std::vector<Outcome>& out);
  // True when the message is complete; `captures` and `line` are then of all its parts.
  bool joinPart(const PatternPlace& place, const Record& record, Captures& captures, std::string& line);
  void occur(const Sighting& sighting, const Captures& captures, std::vector<Outcome>& out);
  void cancel(const Sighting& by, std::vector<Outcome>& out);
  bool revise(const Sighting& by, std::vector<Outcome>& out);
  bool foldIntoRoot(const Sighting& part, std::vector<Outcome>& out);
  void foldPartsOf(const Sighting& root, std::vector<Outcome>& out);
  void raise(Remembered& remembered, Outcome::Kind kind, std::vector<Outcome>& out);
  void raiseOrDoubt(Remembered& remembered, Outcome::Kind kind, std::vector<Outcome>& out);
  bool isDoubtful(Remembered& remembered);
  Outcome outcomeOf(const Remembered& remembered, Outcome::Kind kind, std::string other) const;
  void settleDoubts(TimePoint now, std::vector<Outcome>& out);
  void settleDoubt(Remembered& remembered, TimePoint now, std::vector<Outcome>& out);
  void countRepeat(Remembered& remembered, const Sighting& now, const Captures& captures,
                   std::vector<Outcome>& out);
  Remembered* findRelated(const Relation& relation, const Sighting& to);
  void release(TimePoint now, std::vector<Outcome>& out);
  void forgetOldest();

  std::vector<Pack> packs_;
  std::vector<PatternPlace> places_;  // by pattern of the set
  PatternSet patterns_;
  std::map<std::string, Begun> begun_;  // by rule
  std::map<Key, Remembered> remembered_;
  TimePoint nextDue_ = kNever;
  Witness witness_;
  TimePoint nextAsk_ = kNever;
  std::uint64_t records_ = 0;
};

}  // namespace mainstay::fault
