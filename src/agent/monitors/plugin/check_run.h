// One run of a check: a child without a shell, in a process group of its own, with a deadline and bounded
// output.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "agent/monitors/plugin/plugin_config.h"
#include "base/subprocess.h"

namespace mainstay::agent {

// What a check says: its exit code is 0, 1, or anything else (also a signal, the deadline, a failed start).
enum class CheckState { kOk, kNonOk, kUnknown };

struct CheckResult {
  CheckState state = CheckState::kUnknown;
  std::string message;
  // The child hangs in the kernel and did not end even when it was killed: tells whether it has since.
  std::function<bool()> hasEnded;
};

// How a run went.
struct CheckRun {
  std::optional<ExitStatus> status;  // nullopt: killed at the deadline, and still there
  bool timedOut = false;
  std::string output;  // standard output as it came
};

// Of each stream so much is kept.
inline constexpr std::size_t kMaxCheckOutput = 4096;

// The verdict and its text, with node-problem-detector's words: standard output without white space at its
// ends, or what happened; valid UTF-8, at most `maxOutput` bytes.
CheckResult interpret(const PluginRule& rule, const CheckRun& run, std::size_t maxOutput);

// Runs a check to its end or deadline, with our environment and working folder; standard error goes to the
// log. Killed when asked to stop. Returns within `patience` after the deadline.
CheckResult runCheck(const PluginRule& rule, std::size_t maxOutput, std::stop_token stop,
                     Duration patience = std::chrono::seconds(1));

}  // namespace mainstay::agent
