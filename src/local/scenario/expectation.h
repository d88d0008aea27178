// Expectation: a sentence about the cluster that a scenario demands or forbids, and its verdict over
// everything that was recorded. A state that lasted no time at all is seen, too, because every version of
// every object was recorded.
#pragma once

#include <optional>
#include <string>

#include "base/yaml.h"
#include "local/scenario/recording.h"

namespace mainstay::local {

struct Expectation {
  // The first three look at one thing, the others count rows.
  enum class Subject { kNode, kPod, kJob, kRecoveries, kCloud, kEvent };
  Subject subject = Subject::kNode;
  std::string name;          // of the thing: "a", "ns/web"; "" for rows
  JsonObject wanted;         // fields that the thing's view, or a row, must show (views.h)
  std::optional<int> count;  // rows; absent: at least one

  // When, since time zero. `by`: at some moment from `from` to then. `at`: when everything at that time has
  // settled. Neither: at the end of the scenario.
  std::optional<Duration> from;
  std::optional<Duration> by;
  std::optional<Duration> at;

  std::string text;  // as written: "{node: b, phase: Isolated, by: 1s}"
  int line = 0;      // in the scenario's file
};

// Reads one; mistakes go to the cursor's errors.
Expectation parseExpectation(const Cursor& in);

struct Verdict {
  bool ok = false;
  std::string seen;  // what was seen instead, or when it was met: one phrase
};

// `never`: the sentence must not be true at any moment between `from` and `by` (the whole run without them).
Verdict judge(const Expectation& expectation, bool never, const Recording& recording);

}  // namespace mainstay::local
