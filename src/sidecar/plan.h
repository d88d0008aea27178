// What the sidecar does, decided without a clock, a network or a log: what to publish, and whether to mark the instance.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "cloud/provider.h"
#include "sidecar/problems.h"

namespace mainstay::sidecar {

struct Settings {
  std::set<std::string> counters;  // the reasons that count as errors of the hardware
  bool recover = false;            // mark the instance; else only publish
  int maxUnhealthy = 1;            // instances of the group out of service at once, ours included
  bool publishZeros = false;       // also for reasons that have not been seen
  Duration interval = std::chrono::seconds(10);        // between two looks at the metrics
  Duration publishInterval = std::chrono::minutes(1);  // between two values of a metric that stays
  Duration groupInterval = std::chrono::seconds(30);   // between two looks at the group
};

// What one run of the program knows. It does not outlive it: see `remember`.
struct Memory {
  std::set<std::string> errors;     // reasons that have been seen
  std::set<std::string> published;  // those that CloudWatch has been told of
  std::optional<TimePoint> publishedAt;
};

// A counter above zero is an error, whether or not we saw it rise: the detector may have started before us. A counter that
// falls back to zero (the detector has been restarted, and forgets) takes nothing back: the hardware is what it was.
Memory remember(Memory memory, const Problems& problems);

// A metric's name, which is the reason, and its value.
struct Value {
  std::string name;
  int value = 0;
  friend bool operator==(const Value&, const Value&) = default;
};

// What CloudWatch is to be told now; nothing when nothing is due. `problems`: what the last look showed; nullopt: the
// detector did not answer. An error is published at once and then again every interval; a zero only for a reason that the
// detector knows and has not seen.
std::vector<Value> valuesDue(const Memory& memory, const std::optional<Problems>& problems,
                             const Settings& settings, TimePoint now);

// The instance that we run on, and its group; nullopt: there is none.
struct Surroundings {
  std::optional<cloud::Instance> instance;
  std::optional<cloud::Group> group;
};

enum class Verdict {
  kMark,      // tell the group that our instance is unhealthy
  kWithdraw,  // take our mark back: others were marked at the same moment, and together they are too many
  kWait,      // not now
  kNothing,   // it is marked or on its way out: nothing is left to do
};

// For the log.
const char* sentenceOf(Verdict verdict);

struct Judgement {
  Verdict verdict = Verdict::kWait;
  std::string why;
};

// What becomes of our instance, which has an error. `lookBack`: a mark on it may be our own, and fresh. AWS has no lock that
// sidecars could share: of those that mark at the same moment the later ones see the earlier, and withdraw.
Judgement judge(const Surroundings& around, const Settings& settings, bool lookBack);

// How long a sidecar that withdrew for the n-th time waits before it looks again: different for each instance, so that
// those which collided once do not do so for ever.
Duration waitAfterWithdrawal(const std::string& instanceId, int times, const Settings& settings);

}  // namespace mainstay::sidecar
